"""A device whose disk fills up reports that, loses nothing, sends nothing uncharged, and continues
once there is room.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from client_sdk import LedgerError, Recorded
from client_sdk.ledger.file import FILE_NAME
from tests.support.devices.clients import ScriptedTransport, many, patient, rows, telemetry
from tests.support.services.small_disks import fill

pytestmark = pytest.mark.system

METRICS = 400
FULL = "the disk is full; free some space"


def test_a_full_disk_stops_recording_and_sending_and_costs_nothing(small_disk: Path) -> None:
    data_dir, transport = small_disk / "app", ScriptedTransport()
    with telemetry(data_dir, registry=many(METRICS), transport=transport) as device:
        names = iter(many(METRICS).metrics)
        recorded = {next(names)}
        assert {patient(device, name) for name in recorded} == {Recorded.QUEUED}
        ballast = fill(small_disk)
        # the log has room for a few
        while (result := patient(device, name := next(names))) is Recorded.QUEUED:
            recorded.add(name)
        assert result is Recorded.UNAVAILABLE
        assert FULL in (device.problem or "")
        assert not device.flush(timeout_s=60)
        assert transport.bodies == []
        assert charged(data_dir) == queued(data_dir) == recorded
        ballast.unlink()
        assert patient(device, name) is Recorded.QUEUED
        assert device.problem is None
        assert device.flush(timeout_s=60)
    sent = [report.metric for upload in transport.uploads for report in upload.reports]
    assert sorted(sent) == sorted(recorded | {name})
    assert charged(data_dir) == set(sent)
    assert rows(data_dir, "PRAGMA integrity_check") == [("ok",)]


def test_a_ledger_that_a_full_disk_cannot_hold_is_made_when_there_is_room(small_disk: Path) -> None:
    ballast = fill(small_disk)
    with telemetry(small_disk / "app") as device:
        assert patient(device, "dark_mode") is Recorded.UNAVAILABLE
        assert FULL in (device.problem or "")
        assert not (small_disk / "app" / FILE_NAME).exists()
        ballast.unlink()
        assert patient(device, "dark_mode") is Recorded.QUEUED


def test_forgetting_on_a_full_disk_says_so_and_is_done_when_there_is_room(small_disk: Path) -> None:
    with telemetry(small_disk / "app") as device:
        assert patient(device, "dark_mode") is Recorded.QUEUED
        ballast = fill(small_disk)
        with pytest.raises(LedgerError, match=FULL):
            device.forget()
        assert device.record("sound", value=True) is Recorded.NO_CONSENT
        ballast.unlink()
        device.forget()
    assert queued(small_disk / "app") == set()
    assert charged(small_disk / "app") == {"dark_mode"}
    assert rows(small_disk / "app", "SELECT secret FROM device") == [(None,)]


def charged(data_dir: Path) -> set[str]:
    return {metric for (metric,) in rows(data_dir, "SELECT metric FROM charges")}


def queued(data_dir: Path) -> set[str]:
    return {metric for (metric,) in rows(data_dir, "SELECT metric FROM queue")}
