"""What a helper sends, and when it ends; time passes at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from client_sdk import Recorded, Telemetry
from client_sdk.ledger.file import FILE_NAME
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.protocol import Upload
from client_sdk.sending import helper
from client_sdk.sending.helper import BriefLedger, Helper
from client_sdk.sending.responses import Reply
from client_sdk.sending.timing import LIFE_S
from tests.support.devices.clients import (
    COLLECTOR,
    DAY_S,
    Answer,
    ScriptedTransport,
    SetClock,
    accept,
    ask,
    nothing,
    registry,
    rows,
    telemetry,
)

PLAIN = ask('[metric.m]\nkind = "boolean"\n[metric.n]\nkind = "boolean"')


def recorded(data_dir: Path, clock: SetClock, *metrics: str) -> None:
    with telemetry(data_dir, registry=PLAIN, clock=clock, transport=ScriptedTransport(nothing)) as device:
        for metric in metrics:
            assert device.record(metric, value=True) is Recorded.QUEUED


def helped(data_dir: Path, clock: SetClock, *answers: Answer) -> ScriptedTransport:
    transport, began_s = ScriptedTransport(*answers), clock.now_s
    helper.send(BriefLedger(data_dir / FILE_NAME, "acme"), transport, clock, clock.wait, monotonic=clock)
    assert clock.now_s <= began_s + LIFE_S
    return transport


def test_it_waits_for_the_instant_of_a_report_sends_it_and_ends(tmp_path: Path) -> None:
    clock = SetClock()
    recorded(tmp_path, clock, "m", "n")
    ((leaves_s,),) = rows(tmp_path, "SELECT MIN(leaves) FROM queue")
    helped(tmp_path, clock)
    assert clock.now_s >= leaves_s
    assert rows(tmp_path, "SELECT outcome FROM history") == [("accepted",)] * 2


def test_it_leaves_an_unanswered_upload_to_later_programs_with_the_same_id(tmp_path: Path) -> None:
    clock = SetClock()
    recorded(tmp_path, clock, "m")
    first = helped(tmp_path, clock, nothing)
    assert len(first.bodies) == 1
    clock.now_s += 2 * SPREAD_S
    assert helped(tmp_path, clock, accept).bodies == first.bodies


def test_what_is_sent_again_never_follows_a_new_report(tmp_path: Path) -> None:
    clock = SetClock()
    recorded(tmp_path, clock, "m")
    (old,) = helped(tmp_path, clock, nothing).bodies
    clock.now_s += 2 * SPREAD_S
    recorded(tmp_path, clock, "n")
    clock.now_s += SPREAD_S
    assert old not in helped(tmp_path, clock).bodies


def test_it_sends_nothing_after_the_user_has_opted_out_and_makes_no_ledger(tmp_path: Path) -> None:
    clock = SetClock()
    recorded(tmp_path, clock, "m")
    with telemetry(tmp_path, registry=PLAIN) as device:
        device.forget()
    assert helped(tmp_path, clock).bodies == []
    helper.main(str(tmp_path / "none" / FILE_NAME), "acme", COLLECTOR, None, allow_plain_http=False)
    assert not (tmp_path / "none").exists()


def test_it_does_not_wait_for_what_leaves_after_its_life(tmp_path: Path) -> None:
    clock = SetClock()
    filled = ask('[metric.m]\nkind = "boolean"\nfill_in = true')
    with telemetry(tmp_path, registry=filled, clock=clock) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
    before_s = clock.now_s
    assert helped(tmp_path, clock).bodies == []
    assert clock.now_s == before_s
    clock.now_s += 2 * DAY_S
    assert len(helped(tmp_path, clock).bodies) == 1


def test_it_ends_in_time_however_long_requests_take_and_says_what_it_leaves(tmp_path: Path) -> None:
    clock = SetClock()
    recorded(tmp_path, clock, "m")

    def slow(upload: Upload) -> Reply:
        recorded(tmp_path, clock, *(name for name in "n" if rows(tmp_path, "SELECT COUNT(*) FROM history") == [(1,)]))
        clock.now_s += LIFE_S
        return accept(upload)

    began_s = clock.now_s
    has_more = helper.send(
        BriefLedger(tmp_path / FILE_NAME, "acme"), ScriptedTransport(slow), clock, clock.wait, monotonic=clock
    )
    assert has_more
    assert clock.now_s - began_s <= SPREAD_S + LIFE_S
    assert rows(tmp_path, "SELECT metric FROM queue") == [("n",)]


def test_a_helper_that_leaves_reports_behind_has_a_successor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Path] = []
    monkeypatch.setattr(Helper, "start", lambda helper: started.append(helper.path))
    for has_more in (False, True):
        monkeypatch.setattr(helper, "send", lambda *_, has_more=has_more, **__: has_more)
        helper.main(str(tmp_path / FILE_NAME), "acme", COLLECTOR, None, allow_plain_http=False)
    assert started == [tmp_path / FILE_NAME]


@pytest.mark.parametrize("wrong", [{"data_dir": None}, {"transport": ScriptedTransport()}, {"sender": "pigeon"}])
def test_a_sender_that_cannot_work_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    options: dict[str, object] = {"data_dir": tmp_path, "sender": "process", **wrong}
    with pytest.raises(ValueError, match="sender must be"):
        Telemetry(registry(), collector=COLLECTOR, consent=True, **options)  # type: ignore[arg-type] # that is the test
