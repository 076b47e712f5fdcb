"""A file is there whole or not at all, and only for its owner."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.files import whole_file


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    path.write_bytes(b"before")
    with whole_file(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_is_not_replaced_and_a_link_stays_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with (
            pytest.raises(ConfigError, match="is not a file; name one that may be overwritten"),
            whole_file(tmp_path / name),
        ):
            pass
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link").symlink_to("backup")
    with whole_file(tmp_path / "link") as file:
        file.write(b"whole")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "backup").read_bytes() == b"whole"


def test_what_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    path.write_bytes(b"before")

    def break_off() -> None:
        with whole_file(path) as file:
            file.write(b"after" * 100_000)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_or_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"), whole_file(tmp_path / "none" / "backup"):
        pass
    with pytest.raises(ConfigError, match="cannot be written"), whole_file(tmp_path / "backup"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []
