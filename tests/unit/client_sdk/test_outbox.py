"""Queue, uploads, history and drops within a ledger in memory."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

import pytest

from client_sdk import outbox
from client_sdk.ledger_file import open_memory
from client_sdk.spec import GRACE_S, MAX_REPORTS, Refusal, Report, Upload, Verdict, Window
from tests.support.clients import DAY_S, NOON

EDITION = "0123456789ab"
TODAY = "2026-11-20"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(open_memory("acme")) as connection:
        yield connection


def report(number: int, window: str = TODAY) -> Report:
    return Report(f"m{number}", EDITION, window, number % 2)


def queued(connection: sqlite3.Connection) -> set[str]:
    return {metric for (metric,) in connection.execute("SELECT metric FROM queue")}


def next_parcel(connection: sqlite3.Connection, now_s: float = NOON) -> outbox.Parcel:
    parcel = outbox.next_parcel(connection, now_s)
    assert parcel is not None
    return parcel


def test_an_empty_outbox_has_no_parcel(connection: sqlite3.Connection) -> None:
    assert outbox.next_parcel(connection, NOON) is None


def test_a_parcel_stays_the_same_until_it_is_settled(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1))
    first = next_parcel(connection)
    assert next_parcel(connection) == first
    assert Upload.decode(first.body) == Upload(first.id, (report(1),))
    outbox.settle(connection, first.id, Verdict(1), NOON)
    assert outbox.next_parcel(connection, NOON) is None


def test_an_upload_is_forgotten_once_it_is_acknowledged(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1))
    parcel = next_parcel(connection)
    assert outbox.settle(connection, parcel.id, Verdict(1), NOON) is False
    assert outbox.waiting(connection) == 0
    assert parcel.id not in "\n".join(connection.iterdump())


def test_a_parcel_holds_at_most_the_reports_of_one_upload(connection: sqlite3.Connection) -> None:
    for number in range(MAX_REPORTS + 1):
        outbox.enqueue(connection, report(number))
    parcel = next_parcel(connection)
    assert parcel.reports == MAX_REPORTS
    outbox.settle(connection, parcel.id, Verdict(MAX_REPORTS), NOON)
    assert next_parcel(connection).reports == 1


def test_the_order_of_recording_does_not_reach_the_wire(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.SystemRandom.shuffle", lambda _, items: items.reverse())
    for number in range(3):
        outbox.enqueue(connection, report(number))
    assert Upload.decode(next_parcel(connection).body).reports == (report(2), report(1), report(0))


def test_refused_for_now_goes_back_unchanged_into_a_new_upload(connection: sqlite3.Connection) -> None:
    for number in range(2):
        outbox.enqueue(connection, report(number))
    first = next_parcel(connection)
    back = Upload.decode(first.body).reports[1]
    assert outbox.settle(connection, first.id, Verdict(2, ((1, Refusal.UNKNOWN_EDITION),)), NOON) is True
    second = next_parcel(connection)
    assert second.id != first.id
    assert Upload.decode(second.body).reports == (back,)
    assert outbox.dropped(connection) == {}


@pytest.mark.parametrize("refusal", [refusal for refusal in Refusal if not refusal.retryable])
def test_refused_for_good_is_counted_by_its_code_and_kept_in_history(
    connection: sqlite3.Connection, refusal: Refusal
) -> None:
    outbox.enqueue(connection, report(1))
    assert outbox.settle(connection, next_parcel(connection).id, Verdict(1, ((0, refusal),)), NOON) is False
    assert outbox.waiting(connection) == 0
    assert outbox.dropped(connection) == {refusal.value: 1}
    assert [entry.outcome for entry in outbox.history(connection)] == [refusal.value]


def test_settling_twice_changes_nothing(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1))
    parcel = next_parcel(connection)
    verdict = Verdict(1, ((0, Refusal.UNKNOWN_METRIC),))
    outbox.settle(connection, parcel.id, verdict, NOON)
    before = list(connection.iterdump())
    assert outbox.settle(connection, parcel.id, verdict, NOON) is False
    outbox.reject(connection, parcel.id)
    assert list(connection.iterdump()) == before


def test_a_rejected_upload_is_dropped_and_counted_report_by_report(connection: sqlite3.Connection) -> None:
    for number in range(3):
        outbox.enqueue(connection, report(number))
    outbox.reject(connection, next_parcel(connection).id)
    assert outbox.waiting(connection) == 0
    assert outbox.dropped(connection) == {"rejected": 3}
    assert {entry.outcome for entry in outbox.history(connection)} == {"rejected"}


def test_history_holds_what_was_sent_and_only_that(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1))
    assert outbox.history(connection) == []
    parcel = next_parcel(connection)
    assert [entry.outcome for entry in outbox.history(connection)] == ["no answer yet"]
    outbox.settle(connection, parcel.id, Verdict(1), NOON)
    (entry,) = outbox.history(connection)
    assert (entry.metric, entry.edition, entry.window, entry.symbol) == ("m1", EDITION, TODAY, 1)
    assert entry.outcome == "accepted"


def test_the_queue_is_bounded_and_drops_the_oldest_window_first(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(0, "2026-11-19"))
    for number in range(1, outbox.MAX_WAITING):
        outbox.enqueue(connection, report(number))
    assert outbox.dropped(connection) == {}
    outbox.enqueue(connection, report(outbox.MAX_WAITING))
    assert len(queued(connection)) == outbox.MAX_WAITING
    assert "m0" not in queued(connection)
    outbox.enqueue(connection, report(outbox.MAX_WAITING + 1))
    assert "m1" not in queued(connection)
    assert outbox.dropped(connection) == {"queue_full": 2}


DEADLINE = Window.parse(TODAY).ends_at + GRACE_S
REFUSED_FOR_NOW = Verdict(1, ((0, Refusal.UNKNOWN_METRIC),))


def test_refused_for_now_goes_back_until_the_grace_of_its_window_ends(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1))
    assert outbox.settle(connection, next_parcel(connection).id, REFUSED_FOR_NOW, DEADLINE - 1) is True
    assert outbox.settle(connection, next_parcel(connection).id, REFUSED_FOR_NOW, DEADLINE) is False
    assert outbox.waiting(connection) == 0
    assert outbox.dropped(connection) == {"too_late": 1}


def test_whether_a_window_is_closed_is_for_the_collector_to_say(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1))
    parcel = next_parcel(connection, DEADLINE + 40 * DAY_S)
    assert Upload.decode(parcel.body).reports == (report(1),)
    assert next_parcel(connection) == parcel
    assert outbox.dropped(connection) == {}


def test_an_upload_that_nobody_answers_is_given_up_long_after_its_latest_window(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1, "2026-11-19"))
    outbox.enqueue(connection, report(2))
    parcel = next_parcel(connection, DEADLINE)
    for _ in range(outbox.MAX_LATE_ATTEMPTS):
        assert next_parcel(connection, DEADLINE) == parcel
    assert outbox.next_parcel(connection, DEADLINE) is None
    assert outbox.dropped(connection) == {"unanswered": 2}
    assert {entry.outcome for entry in outbox.history(connection)} == {"no answer yet"}


def test_a_clock_that_was_wrong_for_a_while_costs_no_report(connection: sqlite3.Connection) -> None:
    outbox.enqueue(connection, report(1))
    parcel = next_parcel(connection)
    for _ in range(3):
        for _ in range(outbox.MAX_LATE_ATTEMPTS):
            assert next_parcel(connection, DEADLINE) == parcel
        assert next_parcel(connection, DEADLINE - 1) == parcel


def test_an_upload_that_fails_holds_up_no_other(connection: sqlite3.Connection) -> None:
    parcels = []
    for number in range(outbox.MAX_UNDER_WAY):
        outbox.enqueue(connection, report(number))
        parcels.append(next_parcel(connection))
    assert len({parcel.id for parcel in parcels}) == outbox.MAX_UNDER_WAY
    outbox.enqueue(connection, report(outbox.MAX_UNDER_WAY))
    assert [next_parcel(connection) for _ in range(2 * outbox.MAX_UNDER_WAY)] == 2 * parcels
    outbox.settle(connection, parcels.pop(3).id, Verdict(1), NOON)
    new = next_parcel(connection)
    assert Upload.decode(new.body).reports == (report(outbox.MAX_UNDER_WAY),)
    assert [next_parcel(connection) for _ in range(outbox.MAX_UNDER_WAY)] == [*parcels, new]
