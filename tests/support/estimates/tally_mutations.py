"""Makes hostile texts from valid tallies, by changing their bytes or their documents. Seeded
by the caller.
"""

from __future__ import annotations

import json
from random import Random
from typing import Final

from client_sdk.protocol import Metric, Registry, WindowKind
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, ORDINAL, SET, registry_text
from tests.support.services.mutations import (
    Mutation,
    cut,
    drop,
    encode_otherwise,
    flip_bit,
    insert,
    nest,
    repeat,
    swap_value,
)

REGISTRY: Final = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY,
        rating=ORDINAL,
        topics=SET,
        startup_ms=NUMBER,
        weekly=BOOLEAN | {"window": "week"},
        town=CATEGORY | {"values": [f"town {number}" for number in range(150)], "window": "month"},
    )
)

WINDOWS: Final = {
    WindowKind.DAY: ("2026-11-18", "2026-11-19", "2026-11-20", "1970-01-01", "9998-12-31"),
    WindowKind.WEEK: ("2026-W46", "2026-W47", "1970-W01", "9998-W52"),
    WindowKind.MONTH: ("2026-10", "2026-11", "1970-01", "9998-12"),
}

NAMES: Final = ("metric", "edition", "window", "closed", "reports", "counts", "symbols")

COUNTS: Final = (0, 1, 7, 50, 10**9, 2**31, 2**32, 2**52, 2**53 - 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64)

SPARSE_FROM: Final = 100

LONG: Final = 10_000
"""Texts of at least this many bytes are seldom repeated: the test is of the reader's memory."""


def sound_text(seeded: Random) -> bytes:
    """Return one tally or more, each on a line."""
    return b"".join(
        _line(seeded.choice(list(REGISTRY.metrics.values())), seeded) for _ in range(seeded.choice((1, 2, 4)))
    )


def _line(metric: Metric, seeded: Random) -> bytes:
    symbols = metric.channel.symbols
    fields: dict[str, object] = {
        "metric": metric.name,
        "edition": metric.edition,
        "window": seeded.choice(WINDOWS[metric.window]),
        "closed": seeded.randrange(4) > 0,
    }
    if symbols < SPARSE_FROM:
        counts = [seeded.choice(COUNTS[:6]) for _ in range(symbols)]
    else:
        places = sorted({seeded.randrange(symbols) for _ in range(20)})
        counts = [seeded.choice(COUNTS[1:6]) for _ in places]
        fields["symbols"] = places
    return json.dumps(fields | {"reports": sum(counts), "counts": counts}).encode() + b"\n"


def mutated(text: bytes, seeded: Random) -> bytes:
    """Return a text after none to three mutations."""
    for _ in range(seeded.choice((0, 1, 1, 1, 2, 3))):
        text = seeded.choice(MUTATIONS)(text, seeded)
    return text


def change_a_tally(text: bytes, seeded: Random) -> bytes:
    """Return the text with one field of its first tally changed to another of the same type, sums
    and all.
    """
    first, _, others = text.partition(b"\n")
    try:
        fields = json.loads(first)
        counts, symbols = fields["counts"], fields.get("symbols", [])
        place = seeded.randrange(len(counts))
        seeded.choice((counts, symbols or counts))[place] = seeded.choice(COUNTS)
        if seeded.randrange(4):
            fields["reports"] = sum(counts)
        fields["window"] = seeded.choice([*WINDOWS[WindowKind.DAY], fields["window"]])
        return json.dumps(fields).encode() + b"\n" + others
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return text


def rename(text: bytes, seeded: Random) -> bytes:
    old, new = seeded.choice(NAMES), seeded.choice((*NAMES, "Counts", "n", ""))
    return text.replace(f'"{old}"'.encode(), json.dumps(new).encode(), 1)


def repeat_lines(text: bytes, seeded: Random) -> bytes:
    return text * (2 if len(text) > LONG else seeded.choice((2, 1000)))


def fill_a_list(text: bytes, seeded: Random) -> bytes:
    """Return the text with a very long list: short in bytes, large as objects."""
    value = seeded.choice((b"0,", b"[],", b"{},", b"1e1,", b'"",', b'"\\u1234x",', b"null,", b"65536,"))
    return text.replace(b"[", b"[" + value * seeded.choice((10, 1000, 100_000)), 1)


MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(flip_bit, cut, drop, repeat, insert, encode_otherwise, nest, swap_value, swap_value),
    *(change_a_tally, change_a_tally, change_a_tally, rename, repeat_lines, fill_a_list),
)
