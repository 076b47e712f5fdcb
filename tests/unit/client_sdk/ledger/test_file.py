"""The file: created whole and private, opened only if intact, never replaced."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

import pytest

from client_sdk import LedgerError, Recorded
from client_sdk.ledger import erase, explanations
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.file import FILE_NAME, open_file
from client_sdk.results import LedgerBusyError
from tests.support.devices.clients import ScriptedTransport, change, record_in, rows, telemetry, write_lock_held


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / FILE_NAME


def make(path: Path) -> None:
    open_file(path, "acme", create=True).close()


@pytest.mark.parametrize(
    ("place", "uri"),
    [
        (PurePosixPath("/a b/c?#%"), "file:///a%20b/c%3F%23%25?mode=rw"),
        (PureWindowsPath("C:\\a b\\c"), "file:///C:/a%20b/c?mode=rw"),
        (PureWindowsPath("\\\\server\\share\\a"), "file:////server/share/a?mode=rw"),
    ],
)
def test_the_uri_of_a_ledger_names_no_machine_which_sqlite_would_refuse(place: PurePath, uri: str, path: Path) -> None:
    assert ledger_file.uri_of(place) == uri
    make(path)
    with contextlib.closing(
        ledger_file.connect(ledger_file.uri_of(path).replace("file:///", "file:////"))
    ) as connection:
        assert connection.execute("SELECT app FROM device").fetchall() == [("acme",)]
    with pytest.raises(sqlite3.OperationalError, match="invalid uri authority: server"):
        ledger_file.connect("file://server/share/a?mode=rw")


def test_directory_and_file_are_the_users_alone(path: Path) -> None:
    make(path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [FILE_NAME]


def test_the_log_is_the_users_alone(path: Path) -> None:
    with contextlib.closing(open_file(path, "acme", create=True)) as connection:
        connection.execute("INSERT INTO drops VALUES ('x', 1)")
        files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert files == dict.fromkeys([FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"], 0o600)


def test_every_connection_is_durable_and_overwrites_what_it_deletes(path: Path) -> None:
    make(path)
    with contextlib.closing(open_file(path, "acme", create=True)) as connection:
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete", "temp_store", "busy_timeout")
        ]
    assert settings == ["wal", 2, 1, 2, 50]


def test_a_device_secret_is_drawn_once(path: Path) -> None:
    make(path)
    ((first,),) = rows(path.parent, "SELECT secret FROM device")
    make(path)
    assert rows(path.parent, "SELECT secret FROM device") == [(first,)]
    assert len(first) == 32
    change(path.parent, "UPDATE device SET secret = NULL")
    make(path)
    ((second,),) = rows(path.parent, "SELECT secret FROM device")
    assert len(second) == 32
    assert second != first


def test_a_file_is_made_only_when_it_may_be(path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_file(path, "acme", create=False)
    assert not path.parent.exists()


def test_a_file_that_another_process_made_meanwhile_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(path)
    before = path.read_bytes()
    monkeypatch.setattr(ledger_file, "exists", lambda _: False)
    make(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [FILE_NAME]


DAMAGED = "damaged or not a ledger"
NEWER = f"PRAGMA user_version = {ledger_file.SCHEMA_VERSION + 1}"


def altered(path: Path, statement: str) -> None:
    make(path)
    change(path.parent, statement)


def rewritten(path: Path, rewrite: Callable[[bytes], bytes]) -> None:
    make(path)
    path.write_bytes(rewrite(path.read_bytes()))


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "garbage": (lambda path: path.write_bytes(b"this is no database, and never was one " * 300), DAMAGED),
    "emptied": (lambda path: path.write_bytes(b""), DAMAGED),
    "cut": (lambda path: rewritten(path, lambda content: content[:8192]), DAMAGED),
    "overwritten": (lambda path: rewritten(path, lambda whole: whole[:4096] + b"\xff" * 4096 + whole[8192:]), DAMAGED),
    "without a device": (lambda path: altered(path, "DELETE FROM device"), DAMAGED),
    "of another program": (lambda path: change(path.parent, "CREATE TABLE bookmarks (url TEXT)"), DAMAGED),
    "newer": (lambda path: altered(path, NEWER), "written by a newer version and was not changed; update the app"),
    "of another app": (
        lambda path: open_file(path, "another-app", create=True).close(),
        "the ledger of the app 'another-app', not 'acme'",
    ),
}


@pytest.mark.parametrize(("spoil", "problem"), SPOILED.values(), ids=SPOILED)
def test_a_file_that_is_not_sound_is_left_as_it_is_and_nothing_is_recorded(
    path: Path, spoil: Callable[[Path], object], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    spoil(path)
    before = path.read_bytes()
    with telemetry(path.parent) as device:
        assert device.record("dark_mode", value=True) is Recorded.UNAVAILABLE
        assert device.record("sound", value=True) is Recorded.UNAVAILABLE
        assert re.search(problem, device.problem or "")
        assert not device.flush(timeout_s=30)
        for ask in (device.history, device.budget, device.dropped, device.forget):
            with pytest.raises(LedgerError, match=problem):
                ask()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [FILE_NAME]
    assert len([record for record in caplog.records if re.search(problem, record.message)]) == 1


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with telemetry(tmp_path / "file" / "data") as device:
        assert device.record("dark_mode", value=True) is Recorded.UNAVAILABLE
        assert "cannot be used: Not a directory; name a writable folder" in (device.problem or "")


def test_a_problem_that_passes_is_a_problem_no_more(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with telemetry(tmp_path / "data") as device:
        assert device.record("dark_mode", value=True) is Recorded.UNAVAILABLE
        (tmp_path / "data").unlink()
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        assert device.problem is None


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError()
    error.sqlite_errorcode, error.sqlite_errorname = code, "SQLITE_SOMETHING"
    return error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (sqlite_error(sqlite3.SQLITE_FULL), "the disk is full; free some space"),
        (sqlite_error(sqlite3.SQLITE_READONLY), r"cannot be used \(SQLITE_SOMETHING\); allow this program to write"),
        (sqlite_error(sqlite3.SQLITE_IOERR_FSYNC), r"cannot be used \(SQLITE_SOMETHING\)"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT_INDEX), DAMAGED),
        (RuntimeError("text that may hold anything"), r"cannot be used \(RuntimeError\)"),
    ],
)
def test_every_failure_becomes_a_sentence_that_says_what_to_do(path: Path, error: Exception, sentence: str) -> None:
    with pytest.raises(LedgerError, match=sentence):
        raise explanations.explain(error, path)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_LOCKED])
def test_a_lock_is_somebody_elses_for_the_moment(path: Path, code: int) -> None:
    assert isinstance(explanations.explain(sqlite_error(code), path), LedgerBusyError)


def test_wiping_that_another_process_prevents_says_to_erase_again(path: Path) -> None:
    make(path)
    with contextlib.closing(open_file(path, "acme", create=True)) as connection:
        connection.execute("INSERT INTO drops VALUES ('x', 1)")
        with write_lock_held(path.parent), pytest.raises(LedgerBusyError, match="erase again"):
            erase.scrub(connection)
        erase.scrub(connection)


def test_wiping_leaves_no_free_page(path: Path) -> None:
    with contextlib.closing(open_file(path, "acme", create=True)) as connection:
        connection.execute("INSERT INTO drops VALUES ('x', zeroblob(1000000))")
        connection.execute("DELETE FROM drops")
        erase.scrub(connection)
    assert path.stat().st_size < 100_000


def test_the_name_of_a_new_ledger_is_made_durable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[int, bool]] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    make(path)
    assert synced == [(path.parent.stat().st_ino, True)]


def test_a_ledger_may_move_with_its_directory(path: Path, tmp_path: Path) -> None:
    record_in(path.parent, "dark_mode")
    path.parent.rename(tmp_path / "elsewhere")
    with telemetry(tmp_path / "elsewhere") as device:
        assert device.record("dark_mode", value=True) is Recorded.ALREADY_RECORDED


def test_a_copy_of_a_ledger_spends_nothing(path: Path, tmp_path: Path) -> None:
    record_in(path.parent, "dark_mode")
    shutil.copytree(path.parent, tmp_path / "copy")
    transport = ScriptedTransport()
    with telemetry(tmp_path / "copy", transport=transport) as device:
        assert device.record("sound", value=True) is Recorded.UNAVAILABLE
        assert "is a copied or restored ledger" in (device.problem or "")
        assert "put the original back, let this program read the id, or delete the file by hand" in (
            device.problem or ""
        )
        assert not device.flush(timeout_s=60)
    assert transport.bodies == []
    record_in(path.parent, "sound")


def test_a_ledger_that_is_deleted_while_it_is_in_use_is_not_created_again(path: Path) -> None:
    with telemetry(path.parent) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        for file in path.parent.iterdir():
            file.unlink()
        for _ in range(2):
            assert device.record("sound", value=True) is Recorded.UNAVAILABLE
            assert "was deleted or replaced while in use" in (device.problem or "")
    assert list(path.parent.iterdir()) == []


def test_a_ledger_that_is_replaced_while_it_is_in_use_is_not_used(path: Path) -> None:
    with telemetry(path.parent) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        path.parent.rename(path.parent.with_name("original"))
        with telemetry(path.parent) as other:
            assert other.record("dark_mode", value=True) is Recorded.QUEUED
            assert device.record("sound", value=True) is Recorded.UNAVAILABLE
            assert other.record("sound", value=True) is Recorded.QUEUED
        path.parent.rename(path.parent.with_name("replacement"))
        path.parent.with_name("original").rename(path.parent)
        assert device.record("sound", value=True) is Recorded.QUEUED
        assert device.problem is None
    for name in ("replacement", path.parent.name):
        assert rows(path.parent.with_name(name), "SELECT COUNT(*) FROM charges") == [(2,)]


@pytest.fixture
def no_hard_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("no_hard_links")
def test_where_there_are_no_hard_links_a_ledger_is_made_and_found_again(path: Path) -> None:
    for expected in (Recorded.QUEUED, Recorded.ALREADY_RECORDED):
        with telemetry(path.parent) as device:
            assert device.record("dark_mode", value=True) is expected
    assert [file.name for file in path.parent.iterdir()] == [FILE_NAME]
    # Such file systems number their files again after a restart, so an inode proves nothing.
    assert rows(path.parent, "SELECT inode FROM device") == [(None,)]


@pytest.mark.usefixtures("no_hard_links")
def test_where_there_are_no_hard_links_a_file_that_another_process_made_is_kept_too(path: Path) -> None:
    make(path)
    before = path.read_bytes()
    ledger_file.make(path, "acme")
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [FILE_NAME]


def test_a_path_that_cannot_be_looked_at_is_said(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be used: File name too long; name a writable folder"):
        ledger_file.exists(tmp_path / ("x" * 300))
