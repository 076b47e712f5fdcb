"""The identity of this machine; a ledger that was carried to another machine does nothing."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from client_sdk import Recorded
from client_sdk.ledger import origin
from tests.support.devices.clients import ScriptedTransport, rows, telemetry


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that holds this machine's id."""
    place = tmp_path / "machine-id"
    place.write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(origin.machine_id, "__defaults__", ((place,),))
    return place


def test_the_id_is_of_no_use_to_another_app_and_is_not_the_machines(machine: Path) -> None:
    mine, other = origin.machine_id("acme"), origin.machine_id("other")
    assert mine == origin.machine_id("acme")
    assert None not in (mine, other)
    assert mine != other
    assert machine.read_text().strip() not in (mine or "")


def test_the_first_place_that_has_an_id_counts(tmp_path: Path) -> None:
    places = tuple(tmp_path / name for name in ("missing", "empty", "first boot", "first", "second"))
    places[1].write_text("\n")
    places[2].write_text("uninitialized\n")
    places[3].write_text("1")
    places[4].write_text("2")
    assert (
        origin.machine_id("acme", places)
        == origin.machine_id("acme", places[3:4])
        != origin.machine_id("acme", places[4:])
    )
    assert origin.machine_id("acme", places[:3]) is None


def test_a_ledger_that_was_carried_to_another_machine_spends_nothing(tmp_path: Path, machine: Path) -> None:
    data_dir, transport = tmp_path / "data", ScriptedTransport()
    with telemetry(data_dir) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
    for other in ("fedcba9876543210fedcba9876543210\n", None):
        machine.unlink()
        if other is not None:
            machine.write_text(other)
        before = (data_dir / "hearsay.sqlite3").read_bytes()
        with telemetry(data_dir, transport=transport) as device:
            assert device.record("sound", value=True) is Recorded.UNAVAILABLE
            assert "is a copied or restored ledger" in (device.problem or "")
            assert not device.flush(timeout_s=60)
        assert (data_dir / "hearsay.sqlite3").read_bytes() == before
        machine.write_text("")
    assert transport.bodies == []
    machine.write_text("0123456789abcdef0123456789abcdef")
    with telemetry(data_dir) as device:
        assert device.record("sound", value=True) is Recorded.QUEUED


def test_where_machines_have_no_id_a_ledger_is_still_used(tmp_path: Path, machine: Path) -> None:
    machine.unlink()
    with telemetry(tmp_path / "data") as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
    assert rows(tmp_path / "data", "SELECT host FROM device") == [(None,)]
    machine.write_text("0123456789abcdef0123456789abcdef")
    with telemetry(tmp_path / "data") as device:
        assert device.record("sound", value=True) is Recorded.QUEUED


def test_the_places_are_those_of_the_operating_system() -> None:
    assert origin.MACHINE_IDS[0] == Path("/etc/machine-id")


class FakeKey:
    """A key of the Windows registry."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def windows(*, has_id: bool) -> SimpleNamespace:
    """Return the module winreg of a machine."""

    def query(_key: FakeKey, name: str) -> tuple[str, int]:
        if not has_id:
            raise FileNotFoundError(name)
        return f"{name} of this machine", 1

    names = ("KEY_READ", "KEY_WOW64_64KEY", "HKEY_LOCAL_MACHINE")
    constants = {name: 1 << number for number, name in enumerate(names)}
    return SimpleNamespace(**constants, OpenKey=lambda *_: FakeKey(), QueryValueEx=query)


@pytest.mark.parametrize("has_id", [True, False])
def test_windows_is_asked_by_its_registry(monkeypatch: pytest.MonkeyPatch, has_id: bool) -> None:  # noqa: FBT001 a case
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "winreg", windows(has_id=has_id))
    assert (origin.machine_id("acme") is not None) == has_id


@pytest.mark.parametrize("status", [0, -1])
def test_macos_is_asked_by_gethostuuid(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    def gethostuuid(uuid: Any, wait: Any) -> int:
        assert list(wait) == [1, 0]
        uuid[:] = range(16)
        return status

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(gethostuuid=gethostuuid))
    assert (origin.machine_id("acme") is not None) == (status == 0)


def test_a_macos_without_the_call_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    assert origin.machine_id("acme") is None
