"""A registry's text with other numbers.

Everything else stays as it is, so that the patch is small.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal

import tomlkit
from tomlkit.container import Container

LOST = 1 + 2.0**-44
"""Makes up for the rounding of floats, so that 2 is not written as 1.99999. No sum of short
decimals exceeds a total by so little.
"""

DIGITS = 6
"""Significant digits of a written epsilon. The last one changes an error by a millionth."""


def written(epsilon: float) -> str:
    """Return an epsilon as a registry states it, rounded down but for what floats may have lost."""
    number = Decimal(epsilon * LOST)
    last = Decimal(1).scaleb(number.adjusted() - DIGITS + 1)
    return format(number.quantize(last, ROUND_DOWN).normalize(), "f")


def rewritten(text: str, epsilons: Mapping[str, str], answers: int | None = None) -> str:
    """Return a registry's text with other epsilons.

    Args:
        text: a sound registry as TOML, with tables of any form: with headers, dotted or inline.
        epsilons: the new epsilon of each metric, as TOML.
        answers: the new number of questions that a window asks. None where it stays.

    """
    document = tomlkit.parse(text)
    for name, epsilon in epsilons.items():
        _set(document, ("metric", name, "epsilon"), epsilon)
    if answers is not None:
        _set(document, ("budget", "answers"), str(answers))
    return tomlkit.dumps(document)


def diff(name: str, before: str, after: str) -> str:
    """Return a unified diff that ``patch`` applies to the file with this name."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _set(document: Container, keys: tuple[str, ...], value: str) -> None:
    """Set a value. Its line keeps its spaces and its comment."""
    *tables, key = keys
    table = document
    for name in tables:
        table = table[name]
    table[key] = tomlkit.value(value)
