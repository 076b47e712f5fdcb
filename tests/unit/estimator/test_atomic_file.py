"""After writing, the file is complete, or it is the one that was there before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from estimator.errors import OutputError
from estimator.output_files import write_whole


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_takes_the_place_of_another_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    for content in (b"one", b"another"):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert names(tmp_path) == ["report.json"]


def test_a_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    write_whole(tmp_path / "report.json", b"{}")
    assert (tmp_path / "report.json").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"{}")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"{}"


def test_a_disk_that_fills_up_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"good")

    def full(_: int) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="cannot be written: No space left on device"):
        write_whole(path, b"half")
    assert (path.read_bytes(), names(tmp_path)) == (b"good", ["report.json"])


@pytest.mark.parametrize("name", [".", "gone/report.json", "file/report.json"])
def test_what_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="; name "):
        write_whole(tmp_path / name, b"{}")


def test_a_device_is_never_replaced() -> None:
    with pytest.raises(OutputError, match="/dev/null is not a file"):
        write_whole(Path("/dev/null"), b"{}")
