"""Which paths name one file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from client_sdk.protocol.same_file import is_same_file, replaced


def test_links_and_ways_around_lead_to_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read, other = tmp_path / "read", tmp_path / "other"
    read.write_text("read")
    other.write_text("read")
    (tmp_path / "symbolic").symlink_to("read")
    os.link(read, "hard")
    (tmp_path / "folder").mkdir()
    names = [Path(name) for name in ("read", "./read", "folder/../read", "symbolic", "hard")]
    assert all(is_same_file(name, read) for name in names)
    assert not any(is_same_file(name, other) for name in names)
    assert replaced([other, Path("symbolic")], [Path("folder"), read]) == read
    assert replaced([other], [read]) is None


def test_a_file_that_does_not_exist_yet_has_its_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_same_file(Path("absent"), tmp_path / "absent")
    assert not is_same_file(Path("absent"), tmp_path / "other")
