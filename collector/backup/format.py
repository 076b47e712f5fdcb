"""The lines of a backup as bytes, read strictly. Pure.

Within a format number no meaning ever changes. A file of a later format is refused. Format 1 has no
line of editions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from client_sdk.protocol.mechanisms.designs import MAX_GEOMETRY_SYMBOLS
from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from collector.backup.fields import ANYTHING, MAX_COUNT, Fields, LineError, whole, window
from collector.backup.lines import BackupLine, Bucket, ClosedWindows, Editions, End, Header, TallyLine
from collector.store.packed_verdict import MOST_BYTES, unpack

FORMAT = 1

ID_BYTES = 16

MOST_SYMBOLS = MAX_GEOMETRY_SYMBOLS
"""No channel has more symbols."""

MOST_SHARDS = 2**14
"""A cluster has this many slots, and a shard lies on one slot."""

LATEST_S = 2**38
"""Unix seconds: after the year 9999, the last year of a window, and after every grace."""

LONGEST_LINE = 22 * MOST_SYMBOLS
"""Bytes: a count of 19 digits and its punctuation for each symbol.

This leaves room for the rest of the line.
"""

MOST_MEMBER_BYTES = ID_BYTES + MOST_BYTES
"""Bytes of an id and the longest verdict."""

_HEX = re.compile(rf"(?:[0-9a-f]{{2}}){{1,{MOST_MEMBER_BYTES}}}")

_OWN_EDITION = re.compile(rf"{METRIC_NAME.pattern}:{EDITION.pattern}:{EDITION.pattern}")

_SHA256 = re.compile(r"[0-9a-f]{64}")


def encode(line: BackupLine) -> bytes:
    """Return the bytes of a line, with its line end."""
    return json.dumps(_document(line), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def decode(raw: bytes) -> BackupLine:
    """Read a line.

    Raises:
        LineError: saying what is wrong with it.

    """
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise LineError("is not JSON, or is cut") from None
    if not isinstance(document, dict):
        raise LineError("is no JSON object")
    fields = Fields(document)
    for kind, read in _READERS.items():
        if kind in document:
            line = read(fields)
            fields.nothing_else()
            return line
    raise LineError("is of no known kind")


def _document(line: BackupLine) -> Mapping[str, object]:
    if isinstance(line, Header):
        return {
            "hearsay_backup": FORMAT,
            "schema": line.schema,
            "shards": line.shards,
            "grace": line.grace_s,
            "app": line.app,
        }
    if isinstance(line, Bucket):
        ids = [member.hex() for member in line.members]
        return {"ids": ids, "latest_end": line.latest_end, "expires": line.expires_at}
    if isinstance(line, ClosedWindows):
        return {"closed": line.windows}
    if isinstance(line, Editions):
        return {"editions": [f"{edition}:{own}" for edition, own in sorted(line.own.items())]}
    if isinstance(line, End):
        return {"end": line.lines, "sha256": line.sha256}
    return {"tally": line.metric, "edition": line.edition, "window": line.window, **_count_fields(line)}


def _count_fields(line: TallyLine) -> Mapping[str, object]:
    """Return all counts, or the counts above 0 with their symbols, whichever is shorter."""
    if 2 * len(line.counts) < line.symbols:
        return {"symbols": line.symbols, "pairs": sorted(line.counts.items())}
    return {"counts": [line.counts.get(symbol, 0) for symbol in range(line.symbols)]}


def _read_header(fields: Fields) -> Header:
    if fields.take("hearsay_backup") != FORMAT:
        raise LineError(f"is of another format than {FORMAT}; use the version of Hearsay that wrote it, or a later one")
    schema, shards = fields.whole("schema"), fields.whole("shards", 1, MOST_SHARDS)
    grace_s, app = fields.take("grace"), fields.take("app")
    if grace_s is not None:
        whole(grace_s, "grace", 0, MAX_COUNT)
    if app is not None and not isinstance(app, str):
        raise LineError("app is no text")
    return Header(schema, shards, grace_s, app)


def _read_bucket(fields: Fields) -> Bucket:
    members = tuple(bytes.fromhex(text) for text in fields.texts("ids", _HEX))
    for member in members:
        try:
            unpack(member[ID_BYTES:])
        except (ValueError, LookupError):
            raise LineError("ids has an id without a valid verdict") from None
    return Bucket(fields.whole("latest_end", 0, LATEST_S), fields.whole("expires", 0, LATEST_S), members)


def _read_closed(fields: Fields) -> ClosedWindows:
    return ClosedWindows(tuple(window(text) for text in fields.texts("closed", ANYTHING)))


def _read_editions(fields: Fields) -> Editions:
    texts = fields.texts("editions", _OWN_EDITION)
    return Editions({edition: own for edition, _, own in (text.rpartition(":") for text in texts)})


def _read_counts(fields: Fields) -> TallyLine:
    name = fields.text("tally", METRIC_NAME), fields.text("edition", EDITION), window(fields.take("window"))
    if "pairs" not in fields.raw:
        values = fields.take("counts")
        if not isinstance(values, list) or len(values) > MOST_SYMBOLS:
            raise LineError("counts is no list of counts")
        counts = {symbol: count for symbol, count in enumerate(values) if whole(count, "counts", 0, MAX_COUNT)}
        return TallyLine(*name, len(values), counts)
    symbols, pairs = fields.whole("symbols", 1, MOST_SYMBOLS), fields.take("pairs")
    if not isinstance(pairs, list):
        raise LineError("pairs is no list")
    counts = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:  # noqa: PLR2004 a pair
            raise LineError("pairs has an entry that is no pair")
        counts[whole(pair[0], "pairs", 0, symbols - 1)] = whole(pair[1], "pairs", 1, MAX_COUNT)
    return TallyLine(*name, symbols, counts)


def _read_end(fields: Fields) -> End:
    return End(fields.whole("end"), fields.text("sha256", _SHA256))


_READERS: Mapping[str, Callable[[Fields], BackupLine]] = {
    "hearsay_backup": _read_header,
    "ids": _read_bucket,
    "closed": _read_closed,
    "editions": _read_editions,
    "tally": _read_counts,
    "end": _read_end,
}
