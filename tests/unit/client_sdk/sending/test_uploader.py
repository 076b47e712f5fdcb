"""The upload thread: what it sends again, what it gives up, and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Self

import pytest

from client_sdk import Flushed, FlushOutcome, LedgerError
from client_sdk.answers.schedule import Schedule
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.ledger import queue
from client_sdk.ledger.backoff import BACKOFF_BASE_S, Uniform
from client_sdk.ledger.file import open_memory
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.ledger.status import dropped, waiting
from client_sdk.ledger.thread import READ, LedgerThread
from client_sdk.protocol import Refusal, Report, Upload
from client_sdk.protocol.wire.failure import Failure
from client_sdk.sending.responses import Reply
from client_sdk.sending.timing import APART_S
from client_sdk.sending.uploader import Uploader
from tests.support.devices.clients import (
    DAY_S,
    NOON,
    Answer,
    ScriptedTransport,
    SetClock,
    accept,
    many,
    nothing,
    problem,
    refuse,
    status,
)
from tests.support.services.processes import wait_until

REPORT = Report("dark_mode", "0123456789ab", "2026-11-20", 1)
OTHER = Report("sound", "0123456789ab", "2026-11-20", 0)
LONG_S = 60.0


def at_once(low: float, _: float) -> float:
    return low


def in_days(_: float, high: float) -> float:
    """Return a wait that outlasts every test."""
    return high * 1e6


def hanging_answer() -> tuple[Answer, threading.Event, threading.Event]:
    """Return an answer that does not come, what says that it is awaited, and what lets it go."""
    hanging, release = threading.Event(), threading.Event()

    def hang(_: Upload) -> None:
        hanging.set()
        assert release.wait(LONG_S)

    return hang, hanging, release


class Device:
    """An uploader with a ledger in memory, where a report waits; it ends with the context."""

    def __init__(
        self,
        *answers: Answer,
        queued: tuple[Report, ...] = (REPORT,),
        uniform: Uniform = at_once,
        agrees: bool = True,
        clock: Callable[[], float] = lambda: NOON,
    ) -> None:
        self.transport = ScriptedTransport(*answers)
        self.ledger_thread = LedgerThread(None, lambda: open_memory("acme"))
        schedule = Schedule(many(1), SystemCoins())
        schedule.agreement.consent = agrees
        self.uploader = Uploader(self.ledger_thread, self.transport, schedule, clock=clock, uniform=uniform)
        for report in queued:
            self.queue(report)

    def queue(self, report: Report) -> None:
        self.ledger_thread.run(partial(queue.enqueue, report=report), LONG_S)

    def waiting(self) -> int:
        return self.ledger_thread.run(waiting, LONG_S, begin=READ)

    def dropped(self) -> dict[str, int]:
        return self.ledger_thread.run(dropped, LONG_S, begin=READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.uploader.stop()
        self.uploader.join(LONG_S)
        self.ledger_thread.close(LONG_S)


def test_what_is_queued_leaves_without_being_asked() -> None:
    with Device() as phone:
        phone.uploader.notify(phone.uploader.departure(NOON))
        wait_until(lambda: phone.waiting() == 0, what="the upload")
        assert [upload.reports for upload in phone.transport.uploads] == [(REPORT,)]


def test_every_retry_sends_the_same_bytes_with_the_same_id() -> None:
    with Device(nothing, status(503), status(200), status(302), accept) as phone:
        assert phone.uploader.flush(LONG_S)
        assert len(phone.transport.bodies) == 5
        assert len(set(phone.transport.bodies)) == 1


def test_what_is_new_leaves_at_its_own_time_and_takes_no_unanswered_upload_along() -> None:
    with Device(nothing, accept, uniform=in_days) as phone:
        assert not phone.uploader.flush(LONG_S)
        phone.queue(OTHER)
        assert not phone.uploader.flush(LONG_S)
        assert [upload.reports for upload in phone.transport.uploads] == [(REPORT,), (OTHER,)]
        assert phone.waiting() == 1


def test_an_unanswered_upload_is_sent_again_apart_from_others() -> None:
    spread = dict[float, float]()

    def far(low: float, high: float) -> float:
        return spread.get(high, low)

    with Device(nothing, accept, uniform=far) as phone:
        spread[APART_S] = 0.5
        assert not phone.uploader.flush(0.0)
        wait_until(lambda: len(phone.transport.bodies) == 2, what="the same upload, which nothing keeps apart")
        spread[BACKOFF_BASE_S] = APART_S
        phone.transport.answer(nothing, accept)
        phone.queue(REPORT)
        assert not phone.uploader.flush(LONG_S)
        phone.queue(OTHER)
        before_s = time.monotonic()
        assert not phone.uploader.flush(0.0)
        wait_until(lambda: len(phone.transport.bodies) == 4, what="the other upload")
        assert not phone.uploader.flush(0.0)
        wait_until(lambda: phone.waiting() == 0, what="the first one")
        assert time.monotonic() - before_s >= spread[APART_S]
        assert [upload.reports for upload in phone.transport.uploads[2:]] == [(REPORT,), (OTHER,), (REPORT,)]


def test_flush_says_at_once_that_nothing_more_can_be_sent_in_its_time() -> None:
    with Device(nothing, uniform=in_days) as phone:
        before_s = time.monotonic()
        assert not phone.uploader.flush(LONG_S)
        assert time.monotonic() - before_s < LONG_S


def test_an_upload_that_was_due_for_a_day_takes_the_turn_of_what_is_new() -> None:
    clock = SetClock()
    with Device(nothing, uniform=in_days, clock=clock) as first:
        assert not first.uploader.flush(LONG_S)
        first.uploader.stop()
        clock.now_s += 1e6 + 2 * DAY_S
        first.queue(OTHER)
        second = Uploader(
            first.ledger_thread, first.transport, Schedule(many(1), SystemCoins()), clock=clock, uniform=in_days
        )
        first.transport.answer(accept)
        assert not second.flush(LONG_S)
        assert [upload.reports for upload in first.transport.uploads] == [(REPORT,), (REPORT,)]
        assert second.flush(LONG_S)
        assert first.transport.uploads[-1].reports == (OTHER,)
        second.stop()
        second.join(LONG_S)


@pytest.mark.parametrize("times", range(1, 6))
def test_only_what_the_collector_has_counted_is_called_sent(times: int) -> None:
    """After the fifth refusal for now, a report is dropped."""
    with Device(*[refuse(Refusal.UNKNOWN_EDITION)] * times, accept) as phone:
        outcome = phone.uploader.flush(LONG_S).outcome
        assert outcome is (FlushOutcome.SENT if times < 5 else FlushOutcome.REFUSED)
        assert phone.dropped() == ({} if times < 5 else {"unknown_edition": 1})
        assert phone.uploader.flush(LONG_S).outcome is FlushOutcome.NOTHING_WAITING


def test_a_flush_says_that_a_report_was_refused_for_now() -> None:
    with Device(refuse(Refusal.UNKNOWN_EDITION), uniform=in_days) as phone:
        assert phone.uploader.flush(LONG_S).outcome is FlushOutcome.REFUSED
        assert phone.uploader.flush(LONG_S).outcome is FlushOutcome.NOT_DUE


def test_no_flush_hurries_what_was_refused_for_now() -> None:
    with Device(refuse(Refusal.UNKNOWN_METRIC), accept, uniform=in_days) as phone:
        for _ in range(3):
            assert not phone.uploader.flush(LONG_S)
        phone.queue(OTHER)
        assert not phone.uploader.flush(LONG_S)
        assert [upload.reports for upload in phone.transport.uploads] == [(REPORT,), (OTHER,)]
        assert phone.waiting() == 1


def test_refused_for_good_is_not_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    with Device(refuse(Refusal.WINDOW_CLOSED)) as phone:
        assert phone.uploader.flush(LONG_S).outcome is FlushOutcome.REFUSED
        assert len(phone.transport.bodies) == 1
        assert phone.dropped() == {"window_closed": 1}
    assert Refusal.WINDOW_CLOSED.sentence in caplog.text


@pytest.mark.parametrize("code", [400, 413, 415, 422])
def test_a_rejected_upload_is_given_up_and_the_next_one_sent(code: int) -> None:
    with Device(problem(code), accept) as phone:
        assert phone.uploader.flush(LONG_S).outcome is FlushOutcome.REFUSED
        phone.queue(OTHER)
        assert phone.uploader.flush(LONG_S)
        assert [upload.reports for upload in phone.transport.uploads] == [(REPORT,), (OTHER,)]
        assert phone.dropped() == {"rejected": 1}


@pytest.mark.parametrize("code", [400, 413, 415, 422])
def test_what_a_proxy_says_of_an_upload_costs_no_report(code: int) -> None:
    with Device(status(code), accept) as phone:
        assert phone.uploader.flush(LONG_S)
        first, second = phone.transport.bodies
        assert first == second
        assert phone.dropped() == {}


def test_an_upload_that_always_fails_holds_up_no_other() -> None:
    def choke(upload: Upload) -> Reply | Failure | None:
        return status(500)(upload) if REPORT in upload.reports else accept(upload)

    with Device(choke) as phone:
        phone.uploader.notify(phone.uploader.departure(NOON))
        wait_until(lambda: bool(phone.transport.bodies), what="the first attempt")
        phone.queue(OTHER)
        phone.uploader.notify(phone.uploader.departure(NOON))
        wait_until(lambda: any(upload.reports == (OTHER,) for upload in phone.transport.uploads), what="the other")


def test_flush_sends_upload_after_upload_without_waiting_between() -> None:
    with Device(uniform=in_days, queued=()) as phone:
        for number in range(600):
            phone.queue(Report(f"m{number}", REPORT.edition, REPORT.window, 1))
        assert phone.uploader.flush(LONG_S)
        assert [len(upload.reports) for upload in phone.transport.uploads] == [256, 256, 88]


def test_flush_returns_in_time_while_an_attempt_hangs() -> None:
    hang, hanging, release = hanging_answer()
    with Device(hang) as phone:
        assert not phone.uploader.flush(0.3)
        assert hanging.wait(LONG_S)
        phone.uploader.stop()
        release.set()


def test_flush_cuts_a_back_off_short() -> None:
    with Device(nothing, nothing, accept, uniform=in_days) as phone:
        assert not phone.uploader.flush(0.0)
        wait_until(lambda: len(phone.transport.bodies) == 1, what="the first attempt")
        assert not phone.uploader.flush(0.0)
        wait_until(lambda: len(phone.transport.bodies) == 2, what="the second attempt")
        assert phone.uploader.flush(LONG_S)


def test_flush_while_an_attempt_fails_is_followed_by_another() -> None:
    hang, hanging, release = hanging_answer()
    with Device(hang, accept, uniform=in_days) as phone:
        assert not phone.uploader.flush(0.0)
        assert hanging.wait(LONG_S)
        sent: list[Flushed] = []
        flushing = threading.Thread(target=lambda: sent.append(phone.uploader.flush(LONG_S)))
        flushing.start()
        wait_until(lambda: phone.uploader._hurried, what="the second flush")
        release.set()
        flushing.join()
        assert [bool(flushed) for flushed in sent] == [True]


def test_a_flush_while_an_attempt_fails_is_followed_by_another_even_if_nobody_waits() -> None:
    hang, hanging, release = hanging_answer()
    with Device(hang, accept, uniform=in_days) as phone:
        assert not phone.uploader.flush(0.0)
        assert hanging.wait(LONG_S)
        assert not phone.uploader.flush(0.0)
        release.set()
        wait_until(lambda: phone.waiting() == 0, deadline_s=LONG_S, what="the second attempt")


def test_the_back_off_grows_until_an_upload_gets_through() -> None:
    ceilings: list[float] = []

    def note(low: float, high: float) -> float:
        if high not in (APART_S, SPREAD_S):
            ceilings.append(high)
        return low

    with Device(nothing, nothing, nothing, nothing, accept, nothing, accept, uniform=note, queued=()) as phone:
        for report in (REPORT, OTHER):
            phone.queue(report)
            assert phone.uploader.flush(LONG_S)
    assert ceilings == [1.0, 2.0, 4.0, 8.0, 1.0]


def test_flush_does_not_cut_short_what_the_collector_asked_for() -> None:
    with Device(status(503, "3000"), accept) as phone:
        assert not phone.uploader.flush(LONG_S)
        assert not phone.uploader.flush(LONG_S)
        assert len(phone.transport.bodies) == 1


def test_what_the_collector_asked_for_one_upload_holds_up_no_other() -> None:
    with Device(status(503, "3000"), accept) as phone:
        assert not phone.uploader.flush(LONG_S)
        phone.queue(OTHER)
        assert not phone.uploader.flush(LONG_S)
        assert [upload.reports for upload in phone.transport.uploads] == [(REPORT,), (OTHER,)]


def test_a_report_waits_for_a_random_instant_before_it_leaves() -> None:
    ranges: list[tuple[float, float]] = []

    def late(low: float, high: float) -> float:
        ranges.append((low, high))
        return high

    with Device(uniform=late) as phone:
        phone.uploader.notify(phone.uploader.departure(NOON))
        phone.uploader.notify(phone.uploader.departure(NOON))
        assert ranges == [(0.0, SPREAD_S)]
        assert phone.transport.bodies == []


def test_without_consent_nothing_is_sent() -> None:
    with Device(agrees=False) as phone:
        assert not phone.uploader.flush(0.3)
        assert phone.transport.bodies == []


def test_a_transport_that_raises_is_a_network_that_is_down(caplog: pytest.LogCaptureFixture) -> None:
    fails = [True]

    def fail_once(upload: Upload) -> Reply:
        if fails:
            fails.clear()
            raise ZeroDivisionError
        return accept(upload)

    with Device(fail_once) as phone:
        assert phone.uploader.flush(LONG_S)
    assert "ZeroDivisionError" in caplog.text


def test_a_clock_that_raises_is_an_attempt_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    fails = [True]

    def clock() -> float:
        if fails:
            fails.clear()
            raise ZeroDivisionError
        return NOON

    with Device(clock=clock) as phone:
        assert not phone.uploader.flush(LONG_S)
        assert phone.uploader.flush(LONG_S)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.usefixtures("hostile_logging")
def test_a_host_whose_logging_raises_does_not_end_the_thread() -> None:
    with Device(refuse(Refusal.WINDOW_CLOSED), problem(400), accept, queued=()) as phone:
        for number in range(3):
            phone.queue(Report(f"m{number}", REPORT.edition, REPORT.window, 1))
            assert bool(phone.uploader.flush(LONG_S)) is (number == 2)
        assert phone.dropped() == {"rejected": 1, "window_closed": 1}


def test_where_no_thread_starts_nothing_is_sent_and_flush_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_to_start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with Device() as phone:
        monkeypatch.setattr(threading.Thread, "start", refuse_to_start)
        phone.uploader.notify(phone.uploader.departure(NOON))
        assert not phone.uploader.flush(threading.TIMEOUT_MAX)
        monkeypatch.undo()
        assert phone.uploader.flush(LONG_S)


def test_a_ledger_that_cannot_be_used_ends_a_flush_early() -> None:
    def fail() -> None:
        raise LedgerError("it is broken")

    ledger_thread = LedgerThread(None, fail)  # type: ignore[arg-type]  # it never returns
    schedule = Schedule(many(1), SystemCoins())
    uploader = Uploader(ledger_thread, ScriptedTransport(), schedule, clock=lambda: NOON)
    assert not uploader.flush(LONG_S)
    uploader.stop()
    uploader.join(LONG_S)
    ledger_thread.close(LONG_S)


def test_a_stopped_uploader_ends_a_flush_and_starts_no_more() -> None:
    with Device(queued=()) as phone:
        phone.uploader.stop()
        phone.queue(REPORT)
        assert not phone.uploader.flush(LONG_S)
        assert phone.transport.bodies == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (nothing, "the connection failed; see the logs of both sides"),
        (lambda _: Failure.REFUSED, "nothing listens at its address; start it"),
        (status(503), "its store does not answer or is full (status 503); see the collector's log"),
        (problem(401), "it does not know the key (status 401); use a key"),
        (problem(403), "the key has another role (status 403); use a key"),
        (problem(429), "it gets too many requests (status 429); wait"),
        (status(404), "nothing is served at this path (status 404); use the base URL of a collector"),
        (status(200), "it answered with an unexpected status (status 200)"),
    ],
)
def test_a_developer_learns_why_nothing_arrives_until_something_does(answer: Answer, said: str) -> None:
    with Device(answer, accept, uniform=in_days) as simulated:
        assert not simulated.uploader.flush(0.0)
        wait_until(lambda: simulated.uploader.problem is not None, what="the attempt that fails")
        assert said in str(simulated.uploader.problem)
        assert simulated.uploader.flush(LONG_S)
        assert simulated.uploader.problem is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refuse(Refusal.UNKNOWN_METRIC), "deploy the registry of the app first"),
        (refuse(Refusal.WINDOW_IN_FUTURE), "check the device's clock"),
        (problem(400), "rejected an upload with status 400. The reports are lost. Is the collector too old?"),
    ],
)
def test_a_developer_learns_why_a_collector_that_answers_does_not_take_everything(answer: Answer, said: str) -> None:
    with Device(answer, accept, uniform=in_days) as simulated:
        assert not simulated.uploader.flush(LONG_S)
        assert said in str(simulated.uploader.problem)
