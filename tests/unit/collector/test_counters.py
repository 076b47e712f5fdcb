from __future__ import annotations

import threading
from pathlib import Path

import pytest

from client_sdk.spec import Refusal, Verdict
from collector.counters import (
    BUCKETS_S,
    LABELS,
    OPERATION_NAMES,
    OTHER,
    PROBLEMS,
    REPORTS,
    STORE_ERRORS,
    UPLOADS,
    Counters,
    Totals,
)
from collector.store import Counted

COUNTED = Counted(Verdict(3, ((1, Refusal.WINDOW_CLOSED),)), is_duplicate=False)
AGAIN = COUNTED._replace(is_duplicate=True)


def everything(totals: Totals) -> dict[tuple[str, str], int]:
    found = {(name, label): totals.of(name, label) for name, labels in LABELS.items() for label in labels}
    return {counter: amount for counter, amount in found.items() if amount}


def test_an_upload_is_counted_with_its_reports_and_one_that_comes_again_without(tmp_path: Path) -> None:
    counters = Counters(tmp_path)
    for counted in (COUNTED, AGAIN, COUNTED):
        counters.add_counted(counted)
    assert everything(Totals(tmp_path)) == {
        (UPLOADS, "counted"): 2,
        (UPLOADS, "duplicate"): 1,
        (REPORTS, "accepted"): 4,
        (REPORTS, "window_closed"): 2,
    }


@pytest.mark.parametrize(("name", "label"), [(name, label) for name, labels in LABELS.items() for label in labels])
def test_every_counter_has_a_cell_of_its_own(name: str, label: str, tmp_path: Path) -> None:
    Counters(tmp_path).add(name, label, 7)
    assert everything(Totals(tmp_path)) == {(name, label): 7}
    assert all(not any(Totals(tmp_path).latency(operation)[0]) for operation in OPERATION_NAMES)


@pytest.mark.parametrize("operation", OPERATION_NAMES)
def test_a_request_is_counted_in_its_bucket(operation: str, tmp_path: Path) -> None:
    counters = Counters(tmp_path)
    for place, bound in enumerate(BUCKETS_S):
        for _ in range(place):
            counters.observe(operation, round(bound * 1e9))
    counters.observe(operation, 60_000_000_000)
    buckets, sum_s = Totals(tmp_path).latency(operation)
    assert buckets == [*range(len(BUCKETS_S)), 1]
    assert sum_s == pytest.approx(60 + sum(place * bound for place, bound in enumerate(BUCKETS_S)))
    others = set(OPERATION_NAMES) - {operation}
    assert all(Totals(tmp_path).latency(other) == ([0] * (len(BUCKETS_S) + 1), 0) for other in others)
    assert everything(Totals(tmp_path)) == {}


def test_an_unknown_operation_is_another_one(tmp_path: Path) -> None:
    Counters(tmp_path).observe("no such operation", 1)
    assert sum(Totals(tmp_path).latency(OTHER)[0]) == 1


def test_processes_that_live_count_apart_and_one_that_ended_is_taken_over(tmp_path: Path) -> None:
    one, other = Counters(tmp_path), Counters(tmp_path)
    one.add(STORE_ERRORS)
    other.add(STORE_ERRORS)
    assert len(list(tmp_path.iterdir())) == 2
    del one
    Counters(tmp_path).add(STORE_ERRORS)
    assert len(list(tmp_path.iterdir())) == 2
    assert Totals(tmp_path).of(STORE_ERRORS) == 3


def test_threads_lose_no_count(tmp_path: Path) -> None:
    counters = Counters(tmp_path)

    def count() -> None:
        for _ in range(5000):
            counters.add(PROBLEMS, "not_found")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Totals(tmp_path).of(PROBLEMS, "not_found") == 20_000


def test_without_a_folder_it_counts_in_memory_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Counters().add_counted(COUNTED)
    assert caplog.text == ""
    Counters(tmp_path / "gone").add_counted(COUNTED)
    assert "missing from the metrics" in caplog.text


def test_a_file_that_is_just_being_made_counts_nothing_yet_and_one_that_was_not_finished_is_taken_over(
    tmp_path: Path,
) -> None:
    (tmp_path / "0").write_bytes(b"\0" * 17)
    assert everything(Totals(tmp_path)) == {}
    Counters(tmp_path).add(STORE_ERRORS)
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
    assert Totals(tmp_path).of(STORE_ERRORS) == 1
