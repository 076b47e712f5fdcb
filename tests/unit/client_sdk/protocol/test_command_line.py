"""Which paths name one file, and where shells look for completions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from client_sdk.protocol.command_line import (
    COMPLETION_HINTS,
    HEAD_BYTES,
    completion_path,
    is_same_file,
    replaced,
    replaces_another_kind,
)


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


def is_own(head: bytes) -> bool:
    assert len(head) <= HEAD_BYTES
    return head.startswith(b"ours")


def test_only_a_file_of_another_kind_would_be_destroyed(tmp_path: Path) -> None:
    for name, content in (("ours", b"ours" * HEAD_BYTES), ("other", b"theirs"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"link-{name}").symlink_to(name)
    lost = {path.name for path in tmp_path.iterdir() if replaces_another_kind(path, is_own)}
    assert lost == {"other", "link-other"}
    (tmp_path / "loop").symlink_to("loop")
    for nothing in (tmp_path / "absent", tmp_path, Path("/dev/null"), tmp_path / "ours" / "below", tmp_path / "loop"):
        assert not replaces_another_kind(nothing, is_own)


def test_every_shell_has_its_own_place_for_completions(tmp_path: Path) -> None:
    places = {shell: completion_path("p", shell, tmp_path, {}).relative_to(tmp_path) for shell in COMPLETION_HINTS}
    assert {shell: str(place) for shell, place in places.items()} == {
        "bash": ".local/share/bash-completion/completions/p",
        "zsh": ".zfunc/_p",
        "fish": ".config/fish/completions/p.fish",
    }
    moved = {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config"}
    assert completion_path("p", "bash", tmp_path, moved) == Path("/data/bash-completion/completions/p")
    assert completion_path("p", "fish", tmp_path, moved) == Path("/config/fish/completions/p.fish")
