"""Numbers of things in words for people."""

from __future__ import annotations


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a number and what it is of, such as ``1 tally`` or ``2 tallies``; several have an s unless said."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
