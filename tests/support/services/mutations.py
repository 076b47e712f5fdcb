"""Makes hostile bodies from valid uploads, by changing bytes or the JSON document.

Seeded by the caller.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from client_sdk.protocol import Report
from tests.support.services.collecting import REGISTRY, TODAY, report, upload

CLOSED = "2026-11-10"

WINDOWS = (TODAY, "2026-11-19", CLOSED, "2026-11-25", "2026-W47", "2026-11", "1970-01-01", "9998-12-31")

VALUES = (
    *("null", "true", "false", "[]", "{}", '""', "1", "0", "-1", "-0", "1.0", "1e0", "1e400", "-1e-400", "0.5"),
    *("9007199254740991", "9007199254740992", "9223372036854775808", "1" * 400, "1" * 4301, "NaN", "Infinity"),
    *('"1"', '"\\u0000"', '"\\ud800"', '"\\uff11"', '"\u202e"', '"dark_m\u043ede"', '"2026-11-20\\n"', '"2026-W54"'),
    *('"0026-11-20"', '"2026-13"', '"+026-11-20"', "[[1]]", '{"metric":"os"}', "'os'", "0x1", "01", "1_0", ""),
)
"""Replacements for a value: JSON, or something similar."""

TEXTS = ("\ufeff", "\u0000", "\u00e9", "\U0001f426", "\\u", '"', "\\", ",", "}", "]", "//", "\r\n", "\n", "e9")

DEEP = 50_000
"""Brackets: more than any recursion limit, and shorter than any limit on bytes."""

Mutation = Callable[[bytes, Random], bytes]


def sound_upload(seeded: Random) -> bytes:
    """Return a valid upload with its own id; some of its reports are refused."""
    reports = [_sound_report(seeded) for _ in range(seeded.choice((1, 1, 2, 4, 16)))]
    return upload(*reports, upload_id=seeded.randbytes(16).hex()).encode()


FORMER: Final = "f" * 12
"""The edition that an app of an earlier release reports, and that is in no history."""


def _sound_report(seeded: Random) -> Report:
    if not seeded.randrange(12):
        return report(edition=FORMER)
    if seeded.randrange(4):
        return report("os", seeded.randrange(4))
    return report(seeded.choice(list(REGISTRY.metrics)), seeded.randrange(6), seeded.choice(WINDOWS))


def mutated(body: bytes, seeded: Random) -> bytes:
    """Return a body after up to three mutations."""
    for _ in range(seeded.choice((0, 1, 1, 1, 2, 3))):
        body = seeded.choice(MUTATIONS)(body, seeded)
    return body


def flip_bit(body: bytes, seeded: Random) -> bytes:
    place = seeded.randrange(len(body) or 1)
    return body[:place] + bytes(byte ^ 1 << seeded.randrange(8) for byte in body[place : place + 1]) + body[place + 1 :]


def cut(body: bytes, seeded: Random) -> bytes:
    return body[: seeded.randrange(len(body) + 1)]


def drop(body: bytes, seeded: Random) -> bytes:
    start = seeded.randrange(len(body) + 1)
    return body[:start] + body[start + seeded.randrange(1, 20) :]


def repeat(body: bytes, seeded: Random) -> bytes:
    start = seeded.randrange(len(body) + 1)
    end = start + seeded.randrange(1, 60)
    return body[:end] + body[start:]


def insert(body: bytes, seeded: Random) -> bytes:
    place = seeded.randrange(len(body) + 1)
    added = seeded.choice((seeded.choice(TEXTS).encode(), seeded.randbytes(seeded.randrange(1, 9))))
    return body[:place] + added + body[place:]


def encode_otherwise(body: bytes, seeded: Random) -> bytes:
    return body.decode(errors="replace").encode(seeded.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7")))


def nest(body: bytes, seeded: Random) -> bytes:
    depth = seeded.choice((1, 2, 500, DEEP))
    opened, closed = seeded.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return (opened * depth)[:DEEP] + body + (closed * depth)[: seeded.choice((0, DEEP))]


def swap_value(body: bytes, seeded: Random) -> bytes:
    return _rewrite(body, seeded, lambda _: seeded.choice(VALUES))


def name_twice(body: bytes, seeded: Random) -> bytes:
    return _rewrite(body, seeded, lambda old: f'{old},"{seeded.choice(NAMES)}":{seeded.choice((old, *VALUES))}')


def rename(body: bytes, seeded: Random) -> bytes:
    old, new = seeded.choice(NAMES), seeded.choice((*NAMES, "Upload", "symbol ", "x", ""))
    return body.replace(f'"{old}"'.encode(), json.dumps(new).encode(), 1)


NAMES = ("upload", "reports", "metric", "edition", "window", "symbol")

MUTATIONS: tuple[Mutation, ...] = (
    *(flip_bit, flip_bit, cut, drop, repeat, insert, insert, encode_otherwise, nest),
    *(swap_value, swap_value, swap_value, name_twice, rename),
)


def _rewrite(body: bytes, seeded: Random, change: Callable[[str], str]) -> bytes:
    """Return the body with one changed value.

    A body that is no JSON, or too deep, stays unchanged.
    """
    try:
        document = json.loads(body)
        values: list[Any] = []
        _collect(document, values)
        return _written(document, iter(range(len(values))), seeded.randrange(len(values)), change).encode()
    except (ValueError, RecursionError):
        return body


def _collect(value: Any, values: list[Any]) -> None:
    values.append(value)
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _collect(member, values)


def _written(value: Any, numbers: Any, chosen: int, change: Callable[[str], str]) -> str:
    number = next(numbers)
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{_written(member, numbers, chosen, change)}" for name, member in value.items())
        text = f"{{{','.join(members)}}}"
    elif isinstance(value, list):
        text = f"[{','.join(_written(member, numbers, chosen, change) for member in value)}]"
    else:
        text = json.dumps(value)
    return change(text) if number == chosen else text
