"""The columns of a text on a terminal: two for a wide character, none for a combining mark."""

from __future__ import annotations

import textwrap
from itertools import accumulate, takewhile
from typing import Final
from unicodedata import category, east_asian_width

WIDE: Final = ("W", "F")
COMBINING: Final = ("Mn", "Me", "Cf")

FILLER: Final = "\0"
"""Stands behind a wide character while lines are broken, to count it twice. No value holds it."""


def columns_of(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of_character, text))


def padded(text: str, columns: int) -> str:
    """Return a text with as many spaces behind it as fill the columns."""
    return text + " " * (columns - columns_of(text))


def cut_to(text: str, columns: int, ellipsis: str) -> str:
    """Return a text cut to the columns, with an ellipsis where something is left out."""
    if columns_of(text) <= columns:
        return text
    taken = accumulate(map(_columns_of_character, text))
    return text[: sum(1 for _ in takewhile(lambda end: end <= columns - len(ellipsis), taken))] + ellipsis


def wrapped(text: str, columns: int, first: str = "", others: str = "") -> list[str]:
    """Return the lines of a text.

    Args:
        text: to be broken where it has spaces.
        columns: that a line takes at most.
        first: what the first line begins with.
        others: what each other line begins with.

    """
    counted = "".join(character + FILLER * (_columns_of_character(character) - 1) for character in text)
    lines = textwrap.wrap(counted, columns, initial_indent=first, subsequent_indent=others)
    return [line.replace(FILLER, "") for line in lines]


def _columns_of_character(character: str) -> int:
    if category(character) in COMBINING:
        return 0
    return 2 if east_asian_width(character) in WIDE else 1
