"""A file is there whole or not at all, and only for its owner."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from collector.config import ConfigError
from collector.whole_file import whole_file


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    path.write_bytes(b"before")
    with whole_file(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


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
