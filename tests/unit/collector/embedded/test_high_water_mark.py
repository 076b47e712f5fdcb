"""The high-water mark on plain files; real stores are among the tests of faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.embedded.aof import MANIFEST, STORE_DIR, readable_bytes
from collector.embedded.high_water_mark import MARK_FILE, Mark
from collector.errors import ConfigError

PING = b"*1\r\n$4\r\nPING\r\n"
BEGIN, END = b"*1\r\n$5\r\nMULTI\r\n", b"*1\r\n$4\r\nEXEC\r\n"


def write_files(data: Path, **increments: bytes) -> None:
    """Write a base and increments, n2=… for the second, and the manifest that names them."""
    folder = data / STORE_DIR
    folder.mkdir(exist_ok=True)
    (folder / "appendonly.aof.1.base.rdb").write_bytes(b"base")
    lines = ["file appendonly.aof.1.base.rdb seq 1 type b"]
    for number, content in ((name[1:], content) for name, content in increments.items()):
        (folder / f"appendonly.aof.{number}.incr.aof").write_bytes(content)
        lines.append(f"file appendonly.aof.{number}.incr.aof seq {number} type i")
    (folder / MANIFEST).write_text("\n".join(lines) + "\n")


def noted(data: Path) -> Mark:
    """Return the mark after it has noted all files."""
    mark = Mark(data)
    mark.note(mark.sizes())
    return mark


def test_increments_that_grow_and_that_are_rewritten_are_as_they_should_be(tmp_path: Path) -> None:
    write_files(tmp_path, n1=PING)
    mark = noted(tmp_path)
    write_files(tmp_path, n1=PING * 2, n2=PING)
    Mark(tmp_path).require_kept()
    mark.note(mark.sizes())
    write_files(tmp_path, n2=PING * 2)
    Mark(tmp_path).require_kept()
    mark.note(mark.sizes())
    assert ".1.incr" not in (tmp_path / MARK_FILE).read_text()


def test_a_first_start_that_broke_off_before_the_manifest_has_lost_nothing(tmp_path: Path) -> None:
    write_files(tmp_path, n1=b"")
    (tmp_path / STORE_DIR / MANIFEST).unlink()
    Mark(tmp_path).require_kept()
    write_files(tmp_path, n1=PING)
    (tmp_path / STORE_DIR / MANIFEST).unlink()
    with pytest.raises(ConfigError, match="manifest is missing"):
        Mark(tmp_path).require_kept()


def test_each_of_several_increments_must_be_whole(tmp_path: Path) -> None:
    write_files(tmp_path, n1=PING, n2=PING)
    noted(tmp_path)
    write_files(tmp_path, n1=PING[:-1], n2=PING)
    with pytest.raises(ConfigError, match=r"1\.incr\.aof lacks the last 1 byte of the 14 bytes"):
        Mark(tmp_path).require_kept()
    (tmp_path / STORE_DIR / "appendonly.aof.1.incr.aof").unlink()
    with pytest.raises(ConfigError, match=r"1\.incr\.aof is missing"):
        Mark(tmp_path).require_kept()


def test_an_increment_that_becomes_shorter_under_a_running_store_is_reported(tmp_path: Path) -> None:
    write_files(tmp_path, n1=PING * 2)
    mark = noted(tmp_path)
    write_files(tmp_path, n1=PING)
    with pytest.raises(ConfigError, match="lacks the last 14 bytes"):
        mark.note(mark.sizes())


def test_a_note_continues_where_the_last_collector_left_it(tmp_path: Path) -> None:
    write_files(tmp_path, n1=PING)
    noted(tmp_path)
    heir = Mark(tmp_path)
    heir.require_kept()
    write_files(tmp_path, n1=PING * 3)
    heir.note(heir.sizes())
    once = (tmp_path / MARK_FILE).read_bytes()
    (tmp_path / MARK_FILE).unlink()
    noted(tmp_path)
    assert (tmp_path / MARK_FILE).read_bytes() == once


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": 1}', b'{"a": ["x", 1]}'])
def test_a_note_that_cannot_be_read_is_named(content: bytes, tmp_path: Path) -> None:
    write_files(tmp_path, n1=PING)
    (tmp_path / MARK_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match=r"store\.mark, which records how much was acknowledged, cannot be read"):
        Mark(tmp_path).require_kept()


@pytest.mark.parametrize(
    ("content", "readable"),
    [
        (b"", 0),
        (PING * 2, 28),
        (PING + PING[:-1], 14),
        (PING + BEGIN + PING + END, 14 + 15 + 14 + 14),
        (PING + BEGIN + PING, 14),
        (PING + bytes(20), 14),
        (PING + b"*1\r\n$5\r\nPING\r\n", 14),
        (PING + b"*1\r\n$4\r\nPINGPING", 14),
        (PING + b"*9999999999\r\n", 14),
    ],
)
def test_what_can_be_read_ends_with_the_last_whole_transaction(content: bytes, readable: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert readable_bytes(tmp_path / "file") == readable
