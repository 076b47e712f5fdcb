"""Queue, uploads, history and drops within a ledger in memory."""

from __future__ import annotations

import sqlite3

import pytest

from client_sdk.ledger import outbox, queue, retry_times, status
from client_sdk.ledger.backoff import BACKOFF_BASE_S
from client_sdk.protocol import GRACE_S, MAX_REPORTS, Refusal, Report, Upload, Verdict, Window
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.sending import timing
from tests.support.devices.clients import DAY_S, NOON

EDITION = "0123456789ab"
TODAY = "2026-11-20"
DEADLINE = Window.parse(TODAY).ends_at + GRACE_S
REFUSED_FOR_NOW = Verdict(1, ((0, Refusal.UNKNOWN_METRIC),))


def report(number: int, window: str = TODAY) -> Report:
    return Report(f"m{number}", EDITION, window, number % 2)


def queued(connection: sqlite3.Connection) -> set[str]:
    return {metric for (metric,) in connection.execute("SELECT metric FROM queue")}


def new_parcel(connection: sqlite3.Connection, now_s: float = NOON) -> outbox.Parcel:
    parcel = outbox.new_parcel(connection, now_s)
    assert parcel is not None
    return parcel


def sent(connection: sqlite3.Connection, *numbers: int) -> outbox.Parcel:
    """Queue reports, by default one, and return their upload."""
    for number in numbers or (1,):
        queue.enqueue(connection, report(number))
    return new_parcel(connection)


def sent_again(connection: sqlite3.Connection, now_s: float = NOON) -> outbox.Parcel | None:
    """Return the upload that was least recently tried, for another attempt."""
    retry = next(iter(retry_times.pending(connection)), None)
    return None if retry is None else outbox.parcel_to_resend(connection, retry, now_s)


def resent(connection: sqlite3.Connection, retry: retry_times.Retry, now_s: float = NOON) -> outbox.Parcel:
    parcel = outbox.parcel_to_resend(connection, retry, now_s)
    assert parcel is not None
    return parcel


def at_half(low: float, high: float) -> float:
    return (low + high) / 2


def settle(connection: sqlite3.Connection, upload_id: str, verdict: Verdict, now_s: float = NOON) -> None:
    outbox.settle(connection, upload_id, verdict, now_s, at_half)


def test_an_empty_outbox_has_no_parcel(connection: sqlite3.Connection) -> None:
    assert outbox.new_parcel(connection, NOON) is None


def test_a_parcel_stays_the_same_until_it_is_settled(connection: sqlite3.Connection) -> None:
    first = sent(connection)
    assert sent_again(connection) == first
    assert read_upload(first.body) == Upload(first.id, (report(1),))
    settle(connection, first.id, Verdict(1))
    assert sent_again(connection) is None


def test_an_upload_is_forgotten_once_it_is_acknowledged(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    settle(connection, parcel.id, Verdict(1))
    assert status.waiting(connection) == 0
    assert parcel.id not in "\n".join(connection.iterdump())


def test_a_parcel_holds_at_most_the_reports_of_one_upload(connection: sqlite3.Connection) -> None:
    parcel = sent(connection, *range(MAX_REPORTS + 1))
    assert len(parcel.reports) == MAX_REPORTS
    settle(connection, parcel.id, Verdict(MAX_REPORTS))
    assert len(new_parcel(connection).reports) == 1


def test_the_order_of_recording_does_not_reach_the_wire(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.SystemRandom.shuffle", lambda _, items: items.reverse())
    assert read_upload(sent(connection, *range(3)).body).reports == (report(2), report(1), report(0))


def test_refused_for_now_is_sent_again_unchanged_in_a_new_upload_of_its_own(connection: sqlite3.Connection) -> None:
    first = sent(connection, *range(4))
    _, *refused = reports = read_upload(first.body).reports
    codes = [Refusal.UNKNOWN_EDITION, Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION]
    settle(connection, first.id, Verdict(4, tuple(enumerate(codes, 1))))
    queue.enqueue(connection, report(4))
    assert read_upload(new_parcel(connection).body).reports == (report(4),)
    *alone, _ = [read_upload(resent(connection, retry).body) for retry in retry_times.pending(connection)]
    assert [upload.reports for upload in alone] == [(each,) for each in refused]
    assert len({upload.id for upload in alone} | {first.id}) == len(reports)
    assert status.dropped(connection) == {}


def test_what_is_left_until_the_window_closes_is_shared_out_among_the_attempts(connection: sqlite3.Connection) -> None:
    parcel, now_s = sent(connection), NOON
    for left in range(outbox.MAX_SENT_ALONE, 0, -1):
        settle(connection, parcel.id, REFUSED_FOR_NOW, now_s)
        (retry,) = retry_times.pending(connection)
        assert retry.due_s == retry.not_before_s == now_s + (DEADLINE - now_s) / left / 2
        now_s, parcel = retry.due_s, resent(connection, retry, retry.due_s)
    assert DAY_S / 2 < DEADLINE - now_s < 2 * DAY_S


def test_refused_for_now_again_and_again_is_dropped_by_its_code(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    for _ in range(outbox.MAX_SENT_ALONE):
        settle(connection, parcel.id, REFUSED_FOR_NOW)
        assert status.dropped(connection) == {}
        parcel = resent(connection, retry_times.pending(connection)[0])
    settle(connection, parcel.id, REFUSED_FOR_NOW)
    assert (status.waiting(connection), status.dropped(connection)) == (0, {"unknown_metric": 1})
    assert [entry.outcome for entry in status.history(connection)] == [Refusal.UNKNOWN_METRIC]


def test_the_latest_refusal_is_in_history_until_there_is_another_answer(connection: sqlite3.Connection) -> None:
    settle(connection, sent(connection).id, REFUSED_FOR_NOW)
    parcel = resent(connection, retry_times.pending(connection)[0])
    assert [entry.outcome for entry in status.history(connection)] == ["unknown_metric"]
    settle(connection, parcel.id, Verdict(1))
    assert [entry.outcome for entry in status.history(connection)] == ["accepted"]


@pytest.mark.parametrize("refusal", [refusal for refusal in Refusal if not refusal.retryable])
def test_refused_for_good_is_counted_by_code_and_in_history(connection: sqlite3.Connection, refusal: Refusal) -> None:
    settle(connection, sent(connection).id, Verdict(1, ((0, refusal),)))
    assert status.waiting(connection) == 0
    assert status.dropped(connection) == {refusal.value: 1}
    assert [entry.outcome for entry in status.history(connection)] == [refusal.value]


def test_what_is_recorded_pushes_out_nothing_held_back(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MAX_WAITING", 2)
    queue.enqueue(connection, report(0), int(NOON))
    for number in range(1, 4):
        queue.enqueue(connection, report(number))
    assert queued(connection) == {report(number).metric for number in (0, 2, 3)}
    assert status.dropped(connection) == {"queue_full": 1}


def test_settling_twice_changes_nothing(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    verdict = Verdict(1, ((0, Refusal.UNKNOWN_METRIC),))
    settle(connection, parcel.id, verdict)
    before = list(connection.iterdump())
    settle(connection, parcel.id, verdict)
    outbox.reject(connection, parcel.id)
    assert list(connection.iterdump()) == before


def test_a_rejected_upload_is_dropped_and_counted_report_by_report(connection: sqlite3.Connection) -> None:
    outbox.reject(connection, sent(connection, *range(3)).id)
    assert status.waiting(connection) == 0
    assert status.dropped(connection) == {"rejected": 3}
    assert {entry.outcome for entry in status.history(connection)} == {"rejected"}


def test_history_holds_what_was_sent_and_only_that(connection: sqlite3.Connection) -> None:
    queue.enqueue(connection, report(1))
    assert status.history(connection) == []
    parcel = new_parcel(connection)
    assert [entry.outcome for entry in status.history(connection)] == ["unanswered"]
    settle(connection, parcel.id, Verdict(1))
    (entry,) = status.history(connection)
    assert (entry.metric, entry.edition, entry.window, entry.symbol) == ("m1", EDITION, TODAY, 1)
    assert entry.outcome == "accepted"


def test_an_upload_without_a_noted_retry_is_due(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    connection.execute("DELETE FROM retries")
    (retry,) = retry_times.pending(connection)
    assert retry.wait_s(NOON, hurried=False) == 0.0
    assert resent(connection, retry) == parcel
    (retry,) = retry_times.pending(connection)
    assert retry.wait_s(NOON, hurried=False) == retry_times.EXCHANGE_S


@pytest.mark.slow
def test_the_queue_is_bounded_and_drops_the_oldest_window_first(connection: sqlite3.Connection) -> None:
    queue.enqueue(connection, report(0, "2026-11-19"))
    for number in range(1, queue.MAX_WAITING):
        queue.enqueue(connection, report(number))
    assert status.dropped(connection) == {}
    queue.enqueue(connection, report(queue.MAX_WAITING))
    assert len(queued(connection)) == queue.MAX_WAITING
    assert "m0" not in queued(connection)
    queue.enqueue(connection, report(queue.MAX_WAITING + 1))
    assert "m1" not in queued(connection)
    assert status.dropped(connection) == {"queue_full": 2}


def test_refused_for_now_goes_back_until_the_grace_of_its_window_ends(connection: sqlite3.Connection) -> None:
    settle(connection, sent(connection).id, REFUSED_FOR_NOW, DEADLINE - 1)
    (retry,) = retry_times.pending(connection)
    assert retry.due_s < DEADLINE
    settle(connection, retry.upload, REFUSED_FOR_NOW, DEADLINE)
    assert status.waiting(connection) == 0
    assert status.dropped(connection) == {"too_late": 1}


def test_whether_a_window_is_closed_is_for_the_collector_to_say(connection: sqlite3.Connection) -> None:
    queue.enqueue(connection, report(1))
    parcel = new_parcel(connection, DEADLINE + 40 * DAY_S)
    assert read_upload(parcel.body).reports == (report(1),)
    assert sent_again(connection, DEADLINE + 40 * DAY_S) == parcel
    assert status.dropped(connection) == {}


def test_an_upload_that_nobody_answers_is_given_up_long_after_its_latest_window(connection: sqlite3.Connection) -> None:
    queue.enqueue(connection, report(1, "2026-11-19"))
    queue.enqueue(connection, report(2))
    parcel = new_parcel(connection, DEADLINE)
    for _ in range(outbox.MAX_LATE_ATTEMPTS):
        assert sent_again(connection, DEADLINE) == parcel
    assert sent_again(connection, DEADLINE) is None
    assert status.dropped(connection) == {"unanswered": 2}
    assert {entry.outcome for entry in status.history(connection)} == {"unanswered"}


def test_a_clock_that_was_wrong_for_a_while_costs_no_report(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    for _ in range(3):
        for _ in range(outbox.MAX_LATE_ATTEMPTS):
            assert sent_again(connection, DEADLINE) == parcel
        assert sent_again(connection, DEADLINE - 1) == parcel


@pytest.mark.long
def test_uploads_that_fail_hold_up_no_new_one_and_are_bounded(connection: sqlite3.Connection) -> None:
    parcels = []
    for number in range(outbox.MAX_UNDER_WAY):
        queue.enqueue(connection, report(number, TODAY if number else "2026-11-19"))
        parcels.append(new_parcel(connection))
    assert [sent_again(connection) for _ in range(2 * outbox.MAX_UNDER_WAY)] == 2 * parcels
    assert status.dropped(connection) == {}
    queue.enqueue(connection, report(outbox.MAX_UNDER_WAY))
    new = new_parcel(connection)
    assert [retry.upload for retry in retry_times.pending(connection)] == [parcel.id for parcel in (*parcels[1:], new)]
    assert status.dropped(connection) == {"queue_full": 1}


def test_an_upload_is_sent_again_by_one_process_only(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    (planned,) = retry_times.pending(connection)
    assert outbox.parcel_to_resend(connection, planned, NOON + 1) == parcel
    assert outbox.parcel_to_resend(connection, planned, NOON + 1) is None
    settle(connection, parcel.id, Verdict(1))
    assert outbox.parcel_to_resend(connection, planned, NOON + 1) is None


def test_what_was_being_sent_when_a_process_was_killed_is_due_after_an_exchange(connection: sqlite3.Connection) -> None:
    sent(connection)
    (retry,) = retry_times.pending(connection)
    assert retry.wait_s(NOON, hurried=False) == retry_times.EXCHANGE_S == timing.DEADLINE_S


def test_an_answer_moves_the_time_of_its_own_upload_only(connection: sqlite3.Connection) -> None:
    for number in range(2):
        queue.enqueue(connection, report(number))
        new_parcel(connection)
    first, second = retry_times.pending(connection)
    retry_times.fail(connection, first.upload, NOON, 3000.0, at_half)
    failed, same_as_before = retry_times.pending(connection)
    assert same_as_before == second
    assert failed.due_s == NOON + 3000 + BACKOFF_BASE_S / 2
    assert failed.wait_s(NOON, hurried=True) == 3000


def test_where_the_clock_was_set_back_an_upload_is_due(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    retry_times.fail(connection, parcel.id, NOON, 3600.0, at_half)
    (retry,) = retry_times.pending(connection)
    assert retry.wait_s(NOON - 10, hurried=False) > 3600
    assert retry.wait_s(NOON - DAY_S, hurried=False) == 0.0


def test_what_came_to_nothing_after_another_process_settled_it_is_over(connection: sqlite3.Connection) -> None:
    parcel = sent(connection)
    settle(connection, parcel.id, Verdict(1))
    before = list(connection.iterdump())
    retry_times.fail(connection, parcel.id, NOON, 0.0, at_half)
    assert list(connection.iterdump()) == before
