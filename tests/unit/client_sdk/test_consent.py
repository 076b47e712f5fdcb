"""Consent by purpose: without it, nothing is recorded, stored, drawn, charged or sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from client_sdk import FlushOutcome, Recorded, Registry, Telemetry
from client_sdk.answers.consent import covers
from client_sdk.protocol import RegistryError
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.results import Consent
from client_sdk.sending import helper
from client_sdk.sending.helper import BriefLedger
from tests.support.core.tables import for_each
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, SetClock, accept, ask, nothing, rows
from tests.support.devices.clients import telemetry as device_of
from tests.support.services.processes import wait_until

FLAG = 'kind = "boolean"\n'
USAGE, CRASHES = 'consent = "usage"\n', 'consent = "crashes"\n'
TABLES = ("queue", "uploads", "history", "counts", "charges", "slots")

REGISTRY = ask(
    f"[metric.used]\n{FLAG}{USAGE}"
    f"[metric.broke]\n{FLAG}{CRASHES}"
    f"[metric.plain]\n{FLAG}"
    f'[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\npersist = true\n{CRASHES}'
    f"[metric.filled]\n{FLAG}fill_in = true\n{CRASHES}"
    f"[metric.lasting]\n{FLAG}permanent_epsilon = 2\n{CRASHES}"
    '[metric.pair]\ncross = ["used", "broke"]\n'
    '[metric.half]\ncross = ["used", "plain"]\n'
    f'[metric.third]\ncross = ["used", "broke"]\n{USAGE.replace("usage", "research")}'
)
NAMES = tuple(REGISTRY.metrics)


def telemetry(folder: Path | None, **changes: Any) -> Telemetry:
    return device_of(folder, **({"registry": REGISTRY} | changes))


def covered_metrics(consent: Consent) -> set[str]:
    return {name for name, metric in REGISTRY.metrics.items() if covers(consent, metric)}


def test_a_metric_is_asked_if_all_of_its_purposes_were_agreed_to() -> None:
    assert covered_metrics(consent=True) == set(NAMES)
    assert covered_metrics(consent=False) == set()
    assert covered_metrics(frozenset({"usage"})) == {"used"}
    assert covered_metrics(frozenset({"crashes"})) == {"broke", "taps", "filled", "lasting"}
    assert covered_metrics(frozenset({"usage", "crashes"})) == {"used", "broke", "taps", "filled", "lasting", "pair"}
    assert covered_metrics(frozenset({"usage", "crashes", "research"})) == set(NAMES) - {"plain", "half"}
    assert covered_metrics(frozenset({"unknown"})) == set()
    assert not covers(frozenset({"usage"}), None)


def test_a_purpose_changes_no_edition() -> None:
    without = Registry.parse(REGISTRY.source.replace(USAGE, "").replace(CRASHES, ""))
    assert {name: metric.edition for name, metric in without.metrics.items()} == {
        name: metric.edition for name, metric in REGISTRY.metrics.items()
    }


@for_each("purpose", ['"Usage"', '""', '"a b"', "true", '["usage"]', '"u-1"'])
def test_a_purpose_is_a_short_name(purpose: str) -> None:
    with pytest.raises(RegistryError, match=r"metric\.m\.consent"):
        ask(f"[metric.m]\n{FLAG}consent = {purpose}\n")


def answer(device: Telemetry, name: str) -> Recorded:
    if name == "taps":
        return device.count(name)
    return device.record(name, (True, True) if REGISTRY.metric(name).kind.name == "cross" else True)


def test_without_consent_to_its_purpose_nothing_of_a_metric_is_recorded_charged_or_sent(tmp_path: Path) -> None:
    transport = ScriptedTransport()
    with telemetry(tmp_path, consent={"usage"}, transport=transport) as device:
        results = {name: answer(device, name) for name in NAMES}
        assert results == {name: Recorded.QUEUED if name == "used" else Recorded.NO_CONSENT for name in NAMES}
        assert device.flush(60)
        assert device.consent == frozenset({"usage"})
    assert [report.metric for report in transport.reports] == ["used"]
    for table in TABLES[:-1]:
        kept = {name for (name,) in rows(tmp_path, f"SELECT metric FROM {table}")} if table != "uploads" else set()  # noqa: S608
        assert kept <= {"used"}, table


def test_a_strict_telemetry_raises_mistakes_whether_or_not_the_user_agreed() -> None:
    with telemetry(None, consent={"usage"}, strict=True) as device:
        for value in ("x", 3):
            with pytest.raises(Exception, match="broke"):
                device.record("broke", value)


def _fill(folder: Path, clock: SetClock, transport: ScriptedTransport) -> Telemetry:
    """Return a device that has agreed to everything and has answered everything."""
    device = telemetry(folder, clock=clock, transport=transport)
    for name in NAMES:
        assert answer(device, name) in {Recorded.QUEUED, Recorded.COUNTED}
    return device


def _names(folder: Path, table: str) -> set[str]:
    return {name for (name,) in rows(folder, f"SELECT metric FROM {table} WHERE metric <> ''")}  # noqa: S608 one of ours


@pytest.mark.slow
@pytest.mark.parametrize("look", [Telemetry.flush, Telemetry.history, Telemetry.budget, Telemetry.dropped])
@pytest.mark.parametrize("later", [True, frozenset({"usage"})])
def test_who_opted_out_once_may_look_and_then_agree_within_one_program(
    tmp_path: Path, look: Callable[[Telemetry], object], later: Consent
) -> None:
    with telemetry(tmp_path) as device:
        device.record("plain", value=True)
        device.forget()
    with telemetry(tmp_path, consent=False) as device:
        look(device)
        device.consent = later
        assert device.record("used", value=True) is Recorded.QUEUED
        assert device.problem is None


@pytest.mark.parametrize("sent", [False, True])
def test_withdrawing_a_purpose_drops_what_waits_of_it_and_nothing_else(tmp_path: Path, *, sent: bool) -> None:
    clock, transport = SetClock(), ScriptedTransport(nothing)
    device = _fill(tmp_path, clock, transport)
    if sent:  # all is under way, and no answer came
        device.flush(60)
    before = rows(tmp_path, "SELECT SUM(nanos) FROM charges")
    device.consent = {"usage"}
    for table in ("queue", "history", "counts"):
        assert _names(tmp_path, table) <= {"used"}, table
    assert rows(tmp_path, "SELECT SUM(nanos) FROM charges") == before
    assert not rows(tmp_path, "SELECT * FROM charges WHERE metric NOT IN ('', 'used') AND reported <> 1")
    bodies = [read_upload(body).reports for (body,) in rows(tmp_path, "SELECT body FROM uploads")]
    assert [[report.metric for report in reports] for reports in bodies] == ([["used"]] if sent else [])
    transport.answer(accept)
    transport.bodies.clear()
    clock.wait(DAY_S * 2)
    wait_until(partial(_flushed, device), what="the upload")
    assert {report.metric for report in transport.reports} == {"used"}
    device.close()


def _flushed(device: Telemetry) -> bool:
    return device.flush(5).outcome in {FlushOutcome.SENT, FlushOutcome.NOTHING_WAITING}


def assert_purposes_are_apart(transport: ScriptedTransport) -> None:
    groups = [{REGISTRY.metric(report.metric).consent for report in upload.reports} for upload in transport.uploads]
    assert [len(group) for group in groups] == [1] * 5


def test_reports_of_different_purposes_travel_apart(tmp_path: Path) -> None:
    transport = ScriptedTransport()
    with _fill(tmp_path, SetClock(), transport) as device:
        assert _flushed(device)
    assert_purposes_are_apart(transport)


def test_reports_that_an_earlier_registry_left_travel_apart_by_the_purposes_that_they_had(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport()
    _fill(tmp_path, clock, ScriptedTransport(nothing)).close()
    update = ask(f"[metric.plain]\n{FLAG}")
    with telemetry(tmp_path, registry=update, clock=clock, transport=transport) as device:
        assert _flushed(device)
    assert_purposes_are_apart(transport)


def test_a_helper_keeps_purposes_apart(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport()
    _fill(tmp_path, clock, ScriptedTransport(nothing)).close()
    clock.wait(120)
    groups = {name: " ".join(sorted(metric.consent)) for name, metric in REGISTRY.metrics.items()}
    ledger = BriefLedger(next(tmp_path.glob("*.sqlite*")), "acme")
    helper.send(ledger, transport, clock, clock.wait, groups=groups, monotonic=clock)
    assert transport.uploads
    assert all(len({groups[report.metric] for report in upload.reports}) == 1 for upload in transport.uploads)


def test_a_start_with_a_set_withdraws_what_is_not_in_it(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport(nothing)
    _fill(tmp_path, clock, transport).close()
    transport.bodies.clear()
    with telemetry(tmp_path, consent={"usage"}, clock=clock, transport=transport) as device:
        device.flush(60)
        assert {report.metric for report in transport.reports} == {"used"}
        assert set().union(*(_names(tmp_path, table) for table in ("queue", "counts"))) <= {"used"}


def test_no_slot_is_paid_for_without_consent_and_one_is_from_the_next_window_on(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, consent={"usage"}, clock=clock) as device:
        device.flush(60)
        assert _names(tmp_path, "charges") == set()
        device.consent = {"usage", "crashes"}
        assert device.record("filled", value=True) is Recorded.NOT_ASKED  # its window was met before
        assert device.record("broke", value=True) is Recorded.QUEUED
        clock.wait(DAY_S)
        assert device.record("filled", value=True) is Recorded.QUEUED


def test_what_was_withdrawn_and_agreed_to_again_is_asked_once_a_window_and_paid_for_anew(tmp_path: Path) -> None:
    clock = SetClock()
    with _fill(tmp_path, clock, ScriptedTransport()) as device:
        device.consent = {"usage"}
        paid = rows(tmp_path, "SELECT SUM(nanos) FROM charges")[0][0]
        device.consent = True
        assert device.record("broke", value=True) is Recorded.ALREADY_RECORDED
        assert device.record("filled", value=True) is Recorded.ALREADY_RECORDED
        clock.wait(DAY_S)
        assert device.record("lasting", value=False) is Recorded.QUEUED
        filled = lasting = 1_000_000_000
        assert rows(tmp_path, "SELECT SUM(nanos) FROM charges")[0][0] - paid >= filled + lasting


@pytest.mark.parametrize(
    ("budget", "answered_s", "used_s", "ended_s"),
    [
        ('window = "week"\nper_window = 1', NOON, NOON, NOON + 3 * DAY_S),
        ('window = "day"\nper_month = 1', NOON, NOON + 10 * DAY_S, NOON + 13 * DAY_S),
    ],
    ids=["a week", "a month"],
)
def test_withdrawing_a_purpose_makes_no_room_in_a_period_that_is_over(
    tmp_path: Path, budget: str, answered_s: float, used_s: float, ended_s: float
) -> None:
    activity = f'[metric.days]\nkind = "activity"\ndays = 7\nstatistic = "mean"\n{CRASHES}'
    registry, clock = ask(f"[metric.used]\n{FLAG}{USAGE}{activity}", budget), SetClock(answered_s)
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        assert device.record("used", value=True) is Recorded.QUEUED
        clock.now_s = used_s
        assert device.active("days") is Recorded.COUNTED
        clock.now_s = ended_s
        assert _flushed(device)
        device.consent = {"crashes"}
        assert _flushed(device)
        assert device.budget().lifetime_spent == 1
        assert _names(tmp_path, "charges") == set()


def test_a_set_can_be_taken_back_and_given_until_the_user_opts_out(tmp_path: Path) -> None:
    with telemetry(tmp_path, consent=False) as device:
        assert device.record("used", value=True) is Recorded.NO_CONSENT
        device.consent = {"usage"}
        assert device.record("used", value=True) is Recorded.QUEUED
        device.consent = True
        assert device.record("plain", value=True) is Recorded.QUEUED
        device.consent = set()
        assert device.consent is False
        assert rows(tmp_path, "SELECT * FROM queue") == []
        assert rows(tmp_path, "SELECT secret FROM device") == [(None,)]
        with pytest.raises(ValueError, match="create a new Telemetry"):
            device.consent = True
        with pytest.raises(TypeError, match="a set of purposes"):
            device.consent = "usage"  # type: ignore[assignment] # that is the test
        assert device.record("used", value=True) is Recorded.NO_CONSENT


def test_an_upload_that_was_about_to_leave_stays_when_its_purpose_is_withdrawn(tmp_path: Path) -> None:
    transport = ScriptedTransport()
    with telemetry(tmp_path, transport=transport) as device:
        agreement, asked_twice = device._schedule.agreement, threading.Event()
        is_covered = agreement.is_covered

        def withdraw_first(name: str) -> bool:
            device._schedule.agreement.consent = frozenset({"usage"})  # another thread does, just before the request
            asked_twice.set()
            return is_covered(name)

        assert device.record("broke", value=True) is Recorded.QUEUED
        agreement.is_covered = withdraw_first  # type: ignore[assignment, method-assign]
        device.flush(5)
        assert asked_twice.wait(60)
    assert transport.uploads == []


def test_running_counts_in_memory_are_forgotten() -> None:
    registry = ask(f'[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\n{CRASHES}[metric.u]\n{FLAG}{USAGE}')
    with telemetry(None, registry=registry) as device:
        device.count("taps")
        device.consent = {"usage"}
        assert device._schedule.dues.counts._counts == {}


def test_a_statement_lists_the_purposes_and_is_as_before_without_any() -> None:
    with telemetry(None, consent=False) as device:
        page = device.statement()
    section = page.split("## What you can agree to")[1].split("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("*")] == [
        "* crashes: broke, taps, filled, lasting",
        "* crashes and research and usage: third",
        "* crashes and usage: pair",
        "* everything: plain, half",
        "* usage: used",
    ]
    with device_of(None, consent=False) as device:
        assert "agree" not in device.statement()


@pytest.mark.parametrize(("of_number", "needed"), [('consent = "usage"', {"usage"}), ("", set())])
def test_a_number_by_group_needs_the_purposes_of_both_its_parts(of_number: str, needed: set[str]) -> None:
    registry = ask(
        f"[metric.used]\n{FLAG}{USAGE}"
        f'[metric.size]\nkind = "number"\nlow = 0\nhigh = 9\nstatistic = "mean"\n{of_number}\n'
        '[metric.by_use]\ncross = ["used", "size"]\n'
    )
    assert registry.metric("by_use").consent == needed


def test_an_update_that_ends_a_metric_withdraws_nothing_of_a_purpose_that_holds(tmp_path: Path) -> None:
    metrics = {
        name: f"[metric.{name}]\n{FLAG}{purpose}"
        for name, purpose in (("old", USAGE), ("gone", CRASHES), ("mute", ""), ("used", USAGE))
    }
    before, update = ask("".join(metrics.values())), ask(metrics["used"])
    clock, transport = SetClock(), ScriptedTransport()
    shared: dict[str, Any] = {"clock": clock, "transport": transport}
    with telemetry(tmp_path, registry=before, consent=True, **shared) as device:
        for name in metrics:
            assert device.record(name, value=True) is Recorded.QUEUED
        assert device.flush(timeout_s=60)
        clock.now_s += DAY_S
        for name in metrics:
            assert device.record(name, value=True) is Recorded.QUEUED
        sent = len(transport.uploads)
    with telemetry(tmp_path, registry=update, consent={"usage"}, **shared) as device:
        assert device.flush(timeout_s=60)
        assert sorted(entry.metric for entry in device.history()) == ["old", "old", "used", "used"]
        assert device.dropped() == {}
    assert {report.metric for upload in transport.uploads[sent:] for report in upload.reports} == {"old", "used"}
    with telemetry(tmp_path, registry=update, consent={"crashes"}, **shared) as device:
        device.flush(timeout_s=60)
        assert device.history() == []
