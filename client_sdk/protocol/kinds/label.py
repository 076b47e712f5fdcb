"""How a value of a domain is written in a report."""

from __future__ import annotations

Label = bool | int | str | tuple[bool | str, bool | str] | None
"""A value that has a share: of a boolean, a count, a category or a cross. None means no answer."""


def word(value: Label) -> str:
    """Return a value of a domain as text.

    Truth values are spelled as in the registry, and a pair has a comma.
    """
    if value is None:
        return "nothing recorded"
    if isinstance(value, tuple):
        return ", ".join(word(part) for part in value)
    return value if isinstance(value, str) else str(value).lower()
