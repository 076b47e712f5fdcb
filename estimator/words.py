"""Functions that format values and counts as text for people, in all reports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from client_sdk.protocol.kinds.kind import word


def plural(number: int, singular: str, many: str | None = None) -> str:
    """Return a number and its noun, such as ``1 tally`` or ``2 tallies``.

    By default, the plural is the singular followed by an s.
    """
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


EMPTY_TEXT: Final = "(empty text)"
"""The text for an empty answer, which would otherwise look like a gap."""

LONGEST_LABEL: Final = 80
"""The maximum length of a value in text for people, in characters. Longer values are cut, except in
JSON and CSV.
"""


def shown_of(number: int, most: int) -> int:
    """Return how many of ``number`` things to list, usually at most ``most``.

    If only one thing would be left out, all things are listed. The words "and 1 more" would take as
    much space as that thing.
    """
    return number if number <= most + 1 else most


def label_of(value: Any, most: int = LONGEST_LABEL) -> str:  # noqa: ANN401 the value that a figure describes
    """Return a value as text for people, cut after ``most`` characters.

    True becomes "yes", and False becomes "no".
    """
    if isinstance(value, tuple):
        return ", ".join(label_of(part, most) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return short(word(value), most)


def cell_of(value: Any) -> str:  # noqa: ANN401 the value that a figure describes
    """Return a value as text for programs, which is never cut."""
    return label_of(value, sys.maxsize)


def joined(label: str | tuple[str, ...]) -> str:
    """Return a label as one string. A pair of strings from `parts` is joined."""
    return label if isinstance(label, str) else ", ".join(label)


def is_yes_or_no(labels: Sequence[object]) -> bool:
    """Return whether the answers are "no" and "yes". Reports then show only the share of "yes"."""
    return len(labels) == 2 and list(labels) == [False, True]  # noqa: PLR2004 yes and no


def parts(value: Any) -> str | tuple[str, ...]:  # noqa: ANN401 the value that a figure describes
    """Return a value as one string, or a pair as two strings, which can be cut separately."""
    return tuple(map(label_of, value)) if isinstance(value, tuple) else label_of(value)


def short(text: str, most: int = LONGEST_LABEL) -> str:
    """Return a string, cut with an ellipsis if it is longer than ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def in_unit(label: str, unit: str) -> str:
    """Return the label of a number, followed by the unit if there is one."""
    return f"{label}, {unit}" if unit else label
