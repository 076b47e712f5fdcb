"""A ledger that was copied or carried to another machine is recognized; a restart is no copy."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from client_sdk import LedgerError, Recorded
from client_sdk.ledger import origin
from client_sdk.ledger.file import FILE_NAME, open_file
from client_sdk.ledger.origin import Origin
from tests.support.devices.clients import ScriptedTransport, record_in, rows, telemetry

HERE = Origin("7", "1000", "abc0000000000")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


def set_origin(monkeypatch: pytest.MonkeyPatch, place: Origin) -> None:
    monkeypatch.setattr(origin, "origin_of", lambda _: place)


def noted(path: Path) -> tuple[Any, ...]:
    (row,) = rows(path.parent, "SELECT inode, birth, file_system FROM device")
    return row


@pytest.mark.parametrize("other", [{"inode": "8"}, {"birth": "1001"}, {"file_system": "abc0000000001"}], ids=str)
def test_a_file_of_another_origin_is_a_copy(path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, str]) -> None:
    set_origin(monkeypatch, HERE)
    open_file(path, "acme", create=True).close()
    set_origin(monkeypatch, HERE._replace(**other))
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is a copied or restored ledger"):
        open_file(path, "acme", create=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("unknown", [{"birth": None}, {"file_system": None}, {"birth": None, "file_system": None}])
def test_unknown_origins_are_no_evidence_and_are_noted_once_known(
    path: Path, monkeypatch: pytest.MonkeyPatch, unknown: dict[str, None]
) -> None:
    set_origin(monkeypatch, HERE._replace(**unknown))
    open_file(path, "acme", create=True).close()
    for place in (HERE, HERE._replace(**unknown), HERE):
        set_origin(monkeypatch, place)
        open_file(path, "acme", create=True).close()
        assert noted(path) == HERE


def test_where_files_are_renumbered_nothing_is_noted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_origin(monkeypatch, origin.NOWHERE)
    open_file(path, "acme", create=True).close()
    monkeypatch.undo()
    open_file(path, "acme", create=True).close()
    assert noted(path) == origin.NOWHERE


def test_this_machine_tells_the_birth_of_a_file(tmp_path: Path) -> None:
    before, first, second = tmp_path / "before", tmp_path / "first", tmp_path / "second"
    before.write_text("x")
    first.write_text("x")
    shutil.copy2(first, second)
    of_first, of_second = origin.origin_of(first), origin.origin_of(second)
    assert of_first == origin.origin_of(first)
    assert None not in (of_first.birth, of_second.birth)
    assert int(of_second.birth or 0) >= int(of_first.birth or 0)
    assert before.stat().st_mtime_ns <= int(of_first.birth or 0) <= first.stat().st_mtime_ns
    assert of_first.contradicts(of_second)
    first.rename(tmp_path / "renamed")
    assert of_first == origin.origin_of(tmp_path / "renamed")


@pytest.mark.parametrize("number", [0, 0x801, 0xFFFFFFFF])
def test_the_number_of_a_device_is_no_file_system_id(path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path.touch()
    status = list(os.statvfs(path))
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((*status, number)))
    assert origin.origin_of(path).file_system is None


_DISKS = """
import shutil, subprocess, sys
from pathlib import Path
from client_sdk import recorder
from client_sdk.ledger.file import FILE_NAME
from tests.support.devices.clients import telemetry

recorder.RECORD_DEADLINE_S = 60.0
folder = Path(sys.argv[1])

def mount(name, kind="tmpfs", *options):
    (folder / name).mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", kind, *options, kind, folder / name], check=True)
    return folder / name

def record(what, data_dir, metric):
    with telemetry(data_dir) as device:
        print(what, device.record(metric, value=True), sep=": ")

def same_number(original, disk):
    number, tried = original.stat().st_ino, 0
    copy = disk / FILE_NAME
    while not copy.exists() or copy.stat().st_ino != number:
        if copy.exists():
            copy.rename(disk / str(tried))
        copy.touch()
        tried += 1
        assert tried < 1000, "the numbers of a fresh disk do not come to that of the original"
    shutil.copyfile(original, copy)
    assert copy.stat().st_ino == number
    return disk

first = mount("first")
record("original", first, "dark_mode")
record("copy on a fresh disk", same_number(first / FILE_NAME, mount("second")), "sound")
subprocess.run(["mount", "-o", "remount,size=4m", first], check=True)
record("original after a remount", first, "sound")

layers = mount("layers")
for layer in ("image", "upper", "work", "upper2", "work2"):
    (layers / layer).mkdir()
record("original in an image", layers / "image", "dark_mode")

def start(name, upper, work):
    options = f"lowerdir={layers}/image,upperdir={layers / upper},workdir={layers / work}"
    return mount(name, "overlay", "-o", options)

container = start("container", "upper", "work")
assert (container / FILE_NAME).stat().st_ino == (layers / "image" / FILE_NAME).stat().st_ino
record("copy in a container of the image", container, "sound")
record("made in the container", container / "own", "dark_mode")
subprocess.run(["umount", container], check=True)
record("made in the container, started again", start("container", "upper", "work") / "own", "sound")
record("original in the image", layers / "image", "sound")
"""

ON_DISKS = {
    "original": Recorded.QUEUED,
    "copy on a fresh disk": Recorded.UNAVAILABLE,
    "original after a remount": Recorded.QUEUED,
    "original in an image": Recorded.QUEUED,
    "copy in a container of the image": Recorded.UNAVAILABLE,
    "made in the container": Recorded.QUEUED,
    "made in the container, started again": Recorded.QUEUED,
    "original in the image": Recorded.QUEUED,
}

OWN_MOUNTS = ["unshare", "--mount", "--propagation", "private"]


def may_mount(folder: Path) -> bool:
    """Whether tests may mount disks here that nobody else sees."""
    command = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.slow
def test_on_fresh_disks_and_in_layers_of_images_a_copy_with_the_same_number_spends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if may_mount(tmp_path):
        command = [*OWN_MOUNTS, sys.executable, "-c", _DISKS, str(tmp_path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        assert dict(line.split(": ") for line in done.stdout.splitlines()) == ON_DISKS
        return
    # as above, with a number that is given as the same
    with telemetry(tmp_path / "original") as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    read, number = origin.origin_of, origin.origin_of(tmp_path / "original" / FILE_NAME).inode
    monkeypatch.setattr(origin, "origin_of", lambda path: read(path)._replace(inode=number))
    with telemetry(tmp_path / "copy") as device:
        assert device.record("sound", value=True) is Recorded.UNAVAILABLE


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    record_in(data_dir, "dark_mode")
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
    record_in(data_dir, "sound")


def test_where_machines_have_no_id_a_ledger_is_still_used(tmp_path: Path, machine: Path) -> None:
    machine.unlink()
    record_in(tmp_path / "data", "dark_mode")
    assert rows(tmp_path / "data", "SELECT host FROM device") == [(None,)]
    machine.write_text("0123456789abcdef0123456789abcdef")
    record_in(tmp_path / "data", "sound")


def test_the_places_are_those_of_the_operating_system() -> None:
    assert origin.MACHINE_IDS[0] == Path("/etc/machine-id")


class FakeKey:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def windows(*, has_id: bool) -> SimpleNamespace:
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
