"""The lines of a backup: exactly what is written can be read."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.backup.fields import LineError
from collector.backup.format import decode, encode
from collector.backup.lines import BackupLine, Bucket, ClosedWindows, Editions, End, Header, TallyLine
from tests.support.services.collecting import TODAY

BUCKET = Bucket(86_400, 172_800, (bytes(16) + b"\x00", bytes(range(16)) + b"\x03\x01\x02"))
DENSE = TallyLine("os", "3fb1c02a77d9", TODAY, 3, {0: 1, 2: 2**63 - 1})
SPARSE = TallyLine("os", "3fb1c02a77d9", "2026-W47", 1000, {999: 7})

EDITIONS = Editions({"os:3fb1c02a77d9": "3fb1c02a77d9", "os:0123456789ab": "3fb1c02a77d9"})

LINES: tuple[BackupLine, ...] = (
    Header(1, 64, 259_200, "acme-notes"),
    Header(1, 1, None, None),
    BUCKET,
    ClosedWindows(()),
    ClosedWindows(("2026-11", "2026-11-20", "2026-W47")),
    EDITIONS,
    DENSE,
    SPARSE,
    End(3, "0" * 64),
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: type(line).__name__)
def test_every_line_is_read_as_it_was_written_and_ends_a_row(line: BackupLine) -> None:
    written = encode(line)
    assert decode(written) == line
    assert written.endswith(b"}\n")
    assert written.count(b"\n") == 1


def test_counts_are_written_by_symbol_where_most_are_0() -> None:
    assert b'"pairs":[[999,7]]' in encode(SPARSE)
    assert b'"counts":[1,0,9223372036854775807]' in encode(DENSE)


CHANGES: tuple[tuple[BackupLine, str, Any, str], ...] = (
    (LINES[0], "hearsay_backup", 2, "is of another format than 1"),
    (LINES[0], "shards", 0, "shards is no whole number"),
    (LINES[0], "grace", -1, "grace is no whole number"),
    (LINES[0], "app", 3, "app is no text"),
    (BUCKET, "ids", ["0" * 32], "ids has an id without a valid verdict"),
    (BUCKET, "ids", ["0" * 32 + "00010209"], "ids has an id without a valid verdict"),
    (BUCKET, "ids", ["0" * 33], "ids has an invalid form"),
    (BUCKET, "ids", "00", "ids is no list"),
    (BUCKET, "expires", 1.5, "expires is no whole number"),
    (LINES[3], "closed", ["yesterday"], "names a window that does not exist"),
    (EDITIONS, "editions", ["os:3fb1c02a77d9"], "editions has an invalid form"),
    (EDITIONS, "editions", {}, "editions is no list"),
    (DENSE, "tally", "No", "tally has an invalid form"),
    (DENSE, "window", 5, "window has an invalid form"),
    (DENSE, "counts", [1, -1], "counts is no whole number"),
    (DENSE, "counts", [2**63], "counts is no whole number"),
    (DENSE, "counts", {}, "counts is no list"),
    (SPARSE, "symbols", 2**40, "symbols is no whole number"),
    (SPARSE, "pairs", [[1000, 1]], "pairs is no whole number from 0 to 999"),
    (LINES[0], "shards", 2**14 + 1, "shards is no whole number"),
    (BUCKET, "expires", 2**38 + 1, "expires is no whole number"),
    (BUCKET, "ids", ["00" * (16 + 1 + 3 * 257)], "ids has an invalid form"),
    (SPARSE, "symbols", 2**24 + 1, "symbols is no whole number"),
    (SPARSE, "pairs", [[1, 0]], "pairs is no whole number from 1"),
    (SPARSE, "pairs", [[1]], "pairs has an entry that is no pair"),
    (SPARSE, "pairs", 7, "pairs is no list"),
    (LINES[-1], "sha256", "0" * 63, "sha256 has an invalid form"),
)


@pytest.mark.parametrize(("line", "field", "value", "problem"), CHANGES, ids=lambda value: str(value)[:40])
def test_a_damaged_field_is_named(line: BackupLine, field: str, value: object, problem: str) -> None:
    with pytest.raises(LineError, match=problem):
        decode(json.dumps(json.loads(encode(line)) | {field: value}).encode())


@pytest.mark.parametrize("line", LINES, ids=lambda line: type(line).__name__)
def test_a_field_too_many_or_too_few_is_refused(line: BackupLine) -> None:
    document = json.loads(encode(line))
    with pytest.raises(LineError, match="unknown fields"):
        decode(json.dumps(document | {"more": 1}).encode())
    for name in document:
        with pytest.raises(LineError):
            decode(json.dumps({other: value for other, value in document.items() if other != name}).encode())


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b"null", b'{"ids":[]', b"\xff", b"[" * 10_000])
def test_what_is_no_line_is_refused(raw: bytes) -> None:
    with pytest.raises(LineError):
        decode(raw)


@settings(derandomize=True, deadline=None)
@given(st.sampled_from(LINES), st.data())
def test_no_single_changed_byte_makes_a_reader_crash(line: BackupLine, data: st.DataObject) -> None:
    raw = bytearray(encode(line))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(LineError):
        decode(bytes(raw))


CLAIMS = (
    b'{"tally":"os","edition":"3fb1c02a77d9","window":"2026-11-20","symbols":16777216,"pairs":[[0,1]]}',
    b'{"tally":"os","edition":"3fb1c02a77d9","window":"2026-11-20","symbols":67108864,"pairs":[]}',
    b'{"ids":["' + b"00" * 16 + b"ff" + b"00ff01" * 10_000 + b'"],"latest_end":1,"expires":1}',
    b'{"hearsay_backup":1,"schema":1,"shards":4611686018427387904,"grace":1,"app":null}',
)


@pytest.mark.parametrize("raw", CLAIMS, ids=lambda raw: raw[:12].decode())
def test_a_line_takes_memory_for_what_it_holds_and_not_for_what_it_claims(raw: bytes) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(LineError):
            decode(raw)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 64 * len(raw) + 2**16
