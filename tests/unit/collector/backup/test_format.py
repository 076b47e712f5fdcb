"""The lines of a backup: exactly what is written can be read."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.backup.lines import (
    BackupLine,
    Bucket,
    ClosedWindows,
    Editions,
    End,
    Header,
    LineError,
    TallyLine,
    decode,
    encode,
)
from tests.support.core.tables import for_each
from tests.support.services.collecting import TODAY


def base64(raw: bytes) -> str:
    return b64encode(raw).decode()


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


@for_each("line", LINES)
def test_every_line_is_read_as_it_was_written_and_ends_a_row(line: BackupLine) -> None:
    written = encode(line)
    assert decode(written) == line
    assert written.endswith(b"}\n")
    assert written.count(b"\n") == 1


def test_counts_are_written_by_symbol_without_zeros() -> None:
    assert b'"counts":{"999":7}' in encode(SPARSE)
    assert b'"counts":{"0":1,"2":9223372036854775807}' in encode(DENSE)


CHANGES: tuple[tuple[BackupLine, str, Any, str], ...] = (
    (LINES[0], "format", 2, "does not have format 1"),
    (LINES[0], "shards", 0, "shards"),
    (LINES[0], "grace_s", -1, "grace_s"),
    (LINES[0], "app", 3, "app"),
    (LINES[0], "line", "head", "line"),
    (BUCKET, "members", [base64(bytes(16))], "members"),
    (BUCKET, "members", [base64(bytes(16) + bytes((0, 1, 2, 9)))], "not a record of an upload"),
    (BUCKET, "members", ["0" * 33], "members"),
    (BUCKET, "members", "00", "members"),
    (BUCKET, "expires_at", 1.5, "expires_at"),
    (LINES[3], "windows", ["yesterday"], "names a window that does not exist"),
    (EDITIONS, "own", {"os": "3fb1c02a77d9"}, "own"),
    (EDITIONS, "own", {"os:3fb1c02a77d9": "3fb1c02a77d9\n"}, "own"),
    (EDITIONS, "own", [], "own"),
    (DENSE, "metric", "No", "metric"),
    (DENSE, "edition", "3fb1c02a77d9\n", "edition"),
    (DENSE, "window", 5, "window"),
    (DENSE, "window", "5", "names a window that does not exist"),
    (DENSE, "counts", {"0": 1, "1": -1}, "counts"),
    (DENSE, "counts", {"0": 2**63}, "counts"),
    (DENSE, "counts", [], "counts"),
    (SPARSE, "symbols", 2**40, "symbols"),
    (SPARSE, "counts", {"1000": 1}, "counts contains a symbol outside the alphabet"),
    (SPARSE, "counts", {"-1": 1}, "counts|key"),
    (LINES[0], "shards", 2**14 + 1, "shards"),
    (BUCKET, "expires_at", 2**38 + 1, "expires_at"),
    (BUCKET, "members", [base64(bytes(16 + 1 + 3 * 257))], "members"),
    (SPARSE, "symbols", 2**24 + 1, "symbols"),
    (SPARSE, "counts", {"1": 0}, "counts"),
    (SPARSE, "counts", {"1": "1"}, "counts"),
    (SPARSE, "counts", 7, "counts"),
    (LINES[-1], "sha256", "0" * 63, "sha256"),
)


@pytest.mark.parametrize(("line", "field", "value", "problem"), CHANGES, ids=lambda value: str(value)[:40])
def test_a_damaged_field_is_named(line: BackupLine, field: str, value: object, problem: str) -> None:
    with pytest.raises(LineError, match=problem):
        decode(json.dumps(json.loads(encode(line)) | {field: value}).encode())


@for_each("line", LINES)
def test_a_field_too_many_or_too_few_is_refused(line: BackupLine) -> None:
    document = json.loads(encode(line))
    with pytest.raises(LineError, match="unknown field"):
        decode(json.dumps(document | {"more": 1}).encode())
    for name in document.keys() - {"format"}:
        with pytest.raises(LineError):
            decode(json.dumps({other: value for other, value in document.items() if other != name}).encode())


@for_each(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b'{"line":"uploads"}',
        b'{"line":"uploads","members":[]',
        b"\xff",
        b"[" * 10_000,
    ],
)
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


TALLY = b'{"line":"tally","metric":"os","edition":"3fb1c02a77d9","window":"2026-11-20",'

CLAIMS = (
    TALLY + b'"symbols":16777216,"counts":{"0":1}}',
    TALLY + b'"symbols":67108864,"counts":{}}',
    b'{"line":"uploads","members":["' + b"AAAA" * 10_000 + b'"],"latest_end":1,"expires_at":1}',
    b'{"line":"header","format":1,"schema":1,"shards":4611686018427387904,"grace_s":1,"app":null}',
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
