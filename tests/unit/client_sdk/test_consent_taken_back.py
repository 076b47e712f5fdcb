"""Consent that a start takes back: no earlier helper sends on, and chance decides nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Recorded, Telemetry, consenting
from client_sdk.ledger.thread import LedgerThread
from client_sdk.results import Consent
from client_sdk.sending.helper import Helper
from tests.support.devices.clients import (
    COLLECTOR,
    DAY_S,
    NOON,
    ScriptedTransport,
    SetClock,
    ask,
    nothing,
    rows,
    write_lock_held,
)
from tests.support.devices.clients import telemetry as device_of
from tests.support.devices.helpers import waiting_helper
from tests.support.services.counting import counting

USAGE, CRASHES = frozenset({"usage"}), frozenset({"crashes"})
GROUPS = {"used": "usage", "broke": "crashes"}
REGISTRY = ask(
    "".join(f'[metric.{name}]\nkind = "boolean"\nconsent = "{purpose}"\n' for name, purpose in GROUPS.items())
    + '[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\npersist = true\nconsent = "usage"\n'
)


def device(folder: Path, **changes: Any) -> Telemetry:
    return device_of(folder, **({"registry": REGISTRY, "transport": ScriptedTransport(nothing)} | changes))


def record_all(folder: Path) -> None:
    with device(folder) as earlier:
        for name in GROUPS:
            assert earlier.record(name, value=True) is Recorded.QUEUED


def waiting(folder: Path) -> set[str]:
    return {name for (name,) in rows(folder, "SELECT metric FROM queue")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("later", "left"),
    [([], set(GROUPS)), ([False], set()), ([USAGE], {"used"}), ([CRASHES], {"broke"}), ([False, True], set(GROUPS))],
    ids=["none", "no consent", "usage", "crashes", "no consent, then all"],
)
def test_what_a_waiting_helper_sends_is_what_the_latest_start_agrees_to(
    tmp_path: Path, later: list[Consent], left: set[str]
) -> None:
    record_all(tmp_path)
    with counting() as collector, waiting_helper(tmp_path, collector.url, NOON, GROUPS) as helper:
        for consent in later:
            device(tmp_path, consent=consent).close()
        helper.go_on()
        assert {report.metric for report in collector.reports} == left
    if later == [False]:
        assert waiting(tmp_path) == set(GROUPS)  # until the user agrees again, or forgets


@pytest.mark.slow
def test_a_change_while_a_helper_waits_holds_for_it(tmp_path: Path) -> None:
    record_all(tmp_path)
    with counting() as collector, waiting_helper(tmp_path, collector.url, NOON, GROUPS) as helper:
        with device(tmp_path) as later:
            later.consent = USAGE
        helper.go_on()
        assert {report.metric for report in collector.reports} == {"used"}


def test_a_program_after_a_start_without_consent_starts_no_helper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Path] = []
    monkeypatch.setattr(Helper, "start", lambda helper: started.append(helper.path))
    for consent, helpers in ((True, 1), (False, 1)):
        earlier = Telemetry(REGISTRY, collector=COLLECTOR, data_dir=tmp_path, consent=True, sender="process")
        assert earlier.record("used" if consent else "broke", value=True) is Recorded.QUEUED
        device(tmp_path, consent=consent).close()
        earlier._processes.exit()
        assert len(started) == helpers


@contextlib.contextmanager
def slow_ledger(_: Path) -> Iterator[None]:
    """Let no ledger thread open its file until the end."""
    release, opened = threading.Event(), LedgerThread._ready

    def open_late(thread: LedgerThread, connection: Any) -> Any:
        assert release.wait(60)
        return opened(thread, connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LedgerThread, "_ready", open_late)
        try:
            yield
        finally:
            release.set()


HINDRANCES: dict[str, Callable[[Path], contextlib.AbstractContextManager[None]]] = {
    "nothing": lambda _: contextlib.nullcontext(),
    "a slow disk": slow_ledger,
    "another process": write_lock_held,
}


@pytest.mark.slow
@pytest.mark.parametrize("changes", [[True], [CRASHES], [CRASHES, True]], ids=["all", "others", "others, then all"])
@pytest.mark.parametrize("hindrance", HINDRANCES)
@pytest.mark.parametrize("ends", ["after the start", "after the change"])
def test_what_a_start_withdraws_is_dropped_whatever_the_user_says_next_and_however_slow_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hindrance: str, ends: str, changes: list[Consent]
) -> None:
    monkeypatch.setattr(consenting, "READY_DEADLINE_S", 0.01)
    record_all(tmp_path)
    clock = SetClock(NOON + DAY_S)
    with contextlib.ExitStack() as hindered:
        hindered.enter_context(HINDRANCES[hindrance](tmp_path))
        later = device(tmp_path, consent=USAGE, clock=clock)
        if ends == "after the start" or changes[0] is not True:  # to withdraw waits for the ledger
            hindered.close()
        for consent in changes:
            later.consent = consent
    assert later.record("broke", value=True) is Recorded.QUEUED
    later.close()
    kept = rows(tmp_path, "SELECT metric, window FROM queue UNION SELECT metric, window FROM history")
    assert set(kept) == {("broke", "2026-11-21"), *([("used", "2026-11-20")] if changes == [True] else [])}


@pytest.mark.parametrize("hindrance", HINDRANCES)
def test_a_start_without_consent_wipes_counts_and_keeps_reports_whatever_the_user_says_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hindrance: str
) -> None:
    monkeypatch.setattr(consenting, "READY_DEADLINE_S", 0.01)
    record_all(tmp_path)
    with device(tmp_path) as earlier:
        assert earlier.count("taps") is Recorded.COUNTED
    with HINDRANCES[hindrance](tmp_path):
        later = device(tmp_path, consent=False)
        later.consent = True
    assert later.count("taps", by=3) is Recorded.COUNTED
    later.close()
    assert rows(tmp_path, "SELECT count FROM counts") == [(3,)]
    assert waiting(tmp_path) == set(GROUPS)
