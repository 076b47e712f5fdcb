"""Words for people."""

from __future__ import annotations


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """Return a number with its noun, such as ``1 tally`` or ``2 tallies``.

    Args:
        number: how many.
        singular: the noun.
        plural_form: its plural, or None for the noun with an s.

    """
    return f"{number:,} {singular if number == 1 else plural_form or singular + 's'}"
