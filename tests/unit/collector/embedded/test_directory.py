"""Who may own the embedded store's directory, and whether it can be written."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.check import Level, check_data_dir
from collector.embedded.directory import LOCK_FILE, locked, require_trusted, running_store_url, write_address
from collector.errors import ConfigError
from tests.support.services.small_disks import fill, mounted

READERS: list[Callable[[Path], object]] = [locked, running_store_url, require_trusted]


@pytest.mark.parametrize("use", READERS)
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_directory_in_which_every_user_may_write_is_refused_with_what_to_do(
    tmp_path: Path, mode: int, use: Callable[[Path], object]
) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(ConfigError, match=rf"may write to .*mode {mode:04o}.*chmod 700"):
        use(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert check_data_dir(tmp_path).level is Level.FAILED


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o2775])
def test_a_directory_that_others_can_only_look_at_is_used(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    os.close(locked(tmp_path))
    assert check_data_dir(tmp_path).level is Level.OK


def test_a_created_directory_belongs_to_its_user_alone(tmp_path: Path) -> None:
    os.close(locked(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_directory_of_another_user_is_refused_unless_root_asks_or_owns_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    monkeypatch.setattr("collector.embedded.directory.ROOT", owner + 2)
    with pytest.raises(ConfigError, match="belongs to another user"):
        locked(tmp_path)
    for root in (owner, owner + 1):
        monkeypatch.setattr("collector.embedded.directory.ROOT", root)
        os.close(locked(tmp_path))
        (tmp_path / LOCK_FILE).unlink()


def test_root_starts_no_store_that_another_user_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.close(locked(tmp_path))
    before = [path.stat() for path in (tmp_path, tmp_path / LOCK_FILE)]
    owner = before[1].st_uid
    monkeypatch.setattr("collector.embedded.directory.ROOT", owner + 1)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ConfigError, match=rf"belongs to user {owner}, .*: run this as that user"):
        locked(tmp_path)
    assert [path.stat() for path in (tmp_path, tmp_path / LOCK_FILE)] == before


def test_a_socket_that_was_left_is_no_running_collector(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))
    write_address(tmp_path, f"unix://{tmp_path / 's'}")
    lock = locked(tmp_path)
    assert running_store_url(tmp_path) == f"unix://{tmp_path / 's'}"
    os.close(lock)
    for _ in range(2):
        with pytest.raises(ConfigError, match="no collector is running on"):
            running_store_url(tmp_path)
    (tmp_path / LOCK_FILE).unlink()
    with pytest.raises(ConfigError, match="no collector is running on"):
        running_store_url(tmp_path)


def test_a_check_writes_where_the_store_would_and_leaves_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "appendonlydir").mkdir(parents=True, mode=0o700)
    data.chmod(0o700)
    (data / "appendonlydir" / "file").touch()
    before = sorted(data.rglob("*"))
    assert check_data_dir(data).level is Level.OK
    assert sorted(data.rglob("*")) == before
    assert check_data_dir(tmp_path / "not" / "there").level is Level.OK
    assert not (tmp_path / "not").exists()


@pytest.mark.system
def test_even_root_reports_a_directory_that_nobody_can_write() -> None:
    result = check_data_dir(Path("/proc/hearsay-data"))
    assert result.level is Level.FAILED
    assert "cannot be written" in result.text


@pytest.mark.system
def test_a_disk_without_a_block_left_is_found(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        fill(disk)
        result = check_data_dir(disk)
        assert (result.level, "No space left" in result.text) == (Level.FAILED, True)


def test_a_file_of_the_store_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store.mark").touch()
    # as where the user is not root
    monkeypatch.setattr(os, "access", lambda path, _: path.name != "store.mark")
    assert f"this user cannot write to {tmp_path / 'store.mark'}" in check_data_dir(tmp_path).text
