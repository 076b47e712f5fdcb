from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from multiprocessing.connection import Connection

import pytest

from client_sdk.protocol import Refusal, Verdict
from collector.counters import (
    BUCKETS_S,
    LABELS,
    OPERATION_NAMES,
    OTHER,
    PROBLEMS,
    REPORTS,
    STORE_ERRORS,
    UPLOADS,
    SharedCounters,
    Totals,
    WorkerCounters,
    new_shared_counters,
)
from collector.store.store_protocol import CountedUpload
from tests.support.services.processes import START_DEADLINE_S

COUNTED = CountedUpload(Verdict(3, ((1, Refusal.WINDOW_CLOSED),)), is_duplicate=False)
AGAIN = COUNTED._replace(is_duplicate=True)
REFUSED = CountedUpload(Verdict(2, ((0, Refusal.UNKNOWN_METRIC), (1, Refusal.WINDOW_CLOSED))), is_duplicate=False)


@pytest.fixture
def shared_counters() -> SharedCounters:
    return new_shared_counters()


def everything(totals: Totals) -> dict[tuple[str, str], int]:
    amounts = {(name, label): totals.total(name, label) for name, labels in LABELS.items() for label in labels}
    return {counter: amount for counter, amount in amounts.items() if amount}


def test_an_upload_is_counted_with_its_reports_and_one_that_comes_again_without(
    shared_counters: SharedCounters,
) -> None:
    counters = WorkerCounters(shared_counters)
    for counted in (COUNTED, AGAIN, COUNTED):
        counters.add_counted(counted)
    assert everything(Totals(shared_counters)) == {
        (UPLOADS, "counted"): 2,
        (UPLOADS, "duplicate"): 1,
        (REPORTS, "accepted"): 4,
        (REPORTS, "window_closed"): 2,
    }


def test_an_upload_of_which_nothing_counts_is_refused_and_not_counted(shared_counters: SharedCounters) -> None:
    counters = WorkerCounters(shared_counters)
    counters.add_counted(REFUSED, REFUSED._replace(is_duplicate=True))
    assert everything(Totals(shared_counters)) == {
        (UPLOADS, "refused"): 1,
        (UPLOADS, "duplicate"): 1,
        (REPORTS, "unknown_metric"): 1,
        (REPORTS, "window_closed"): 1,
    }


@pytest.mark.parametrize("operation", OPERATION_NAMES)
def test_a_request_is_counted_in_its_bucket(operation: str, shared_counters: SharedCounters) -> None:
    counters = WorkerCounters(shared_counters)
    for place, bound in enumerate(BUCKETS_S):
        for _ in range(place):
            counters.observe(operation, round(bound * 1e9))
    counters.observe(operation, 60_000_000_000)
    buckets, sum_s = Totals(shared_counters).latency(operation)
    assert buckets == [*range(len(BUCKETS_S)), 1]
    assert sum_s == pytest.approx(60 + sum(place * bound for place, bound in enumerate(BUCKETS_S)))
    others = set(OPERATION_NAMES) - {operation}
    assert all(Totals(shared_counters).latency(living) == ([0] * (len(BUCKETS_S) + 1), 0) for living in others)
    assert everything(Totals(shared_counters)) == {}


def test_an_unknown_operation_is_another_one(shared_counters: SharedCounters) -> None:
    WorkerCounters(shared_counters).observe("no such operation", 1)
    assert sum(Totals(shared_counters).latency(OTHER)[0]) == 1


class Worker:
    """Another process, which counts until it is ended or killed."""

    def __init__(self, shared_counters: SharedCounters) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, end = context.Pipe()
        self.process = context.Process(target=_count_apart, args=(shared_counters, end), daemon=True)
        self.process.start()
        assert self._line.poll(START_DEADLINE_S)
        self._line.recv()

    def end(self) -> None:
        self._line.send("over")
        self.process.join(START_DEADLINE_S)


def _count_apart(shared_counters: SharedCounters, line: Connection) -> None:
    counters = WorkerCounters(shared_counters)
    counters.add(STORE_ERRORS)
    line.send("counted")
    line.recv()


@pytest.mark.slow
def test_processes_that_live_count_apart_and_one_that_was_killed_is_taken_over(shared_counters: SharedCounters) -> None:
    killed, living = Worker(shared_counters), Worker(shared_counters)
    assert len(list(shared_counters.rows())) == 2
    killed.process.kill()
    killed.process.join()
    another = Worker(shared_counters)
    assert len(list(shared_counters.rows())) == 2
    assert Totals(shared_counters).total(STORE_ERRORS) == 3
    for worker in (living, another):
        worker.end()
    WorkerCounters(shared_counters).add(STORE_ERRORS)
    assert (len(list(shared_counters.rows())), Totals(shared_counters).total(STORE_ERRORS)) == (2, 4)


def test_threads_lose_no_count(shared_counters: SharedCounters) -> None:
    counters = WorkerCounters(shared_counters)

    def count() -> None:
        for _ in range(5000):
            counters.add(PROBLEMS, "not_found")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Totals(shared_counters).total(PROBLEMS, "not_found") == 20_000


def test_without_shared_counters_or_room_in_them_it_counts_in_memory_alone(
    shared_counters: SharedCounters, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    WorkerCounters().add_counted(COUNTED)
    assert caplog.text == ""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    WorkerCounters(shared_counters).add_counted(COUNTED)
    assert "missing from the metrics" in caplog.text
    assert everything(Totals(shared_counters)) == {}


def test_shared_counters_that_were_not_finished_count_nothing_and_are_continued(
    shared_counters: SharedCounters,
) -> None:
    os.pwrite(shared_counters._descriptor, bytes(17), 0)
    assert everything(Totals(shared_counters)) == {}
    WorkerCounters(shared_counters).add(STORE_ERRORS)
    assert Totals(shared_counters).total(STORE_ERRORS) == 1
