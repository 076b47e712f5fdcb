"""Words that every rendering shares."""

from __future__ import annotations


def word(value: bool | str) -> str:  # noqa: FBT001 a value of a domain, not a switch
    """Return a value of a domain as text: ``true`` and ``false`` as in the registry."""
    return value if isinstance(value, str) else str(value).lower()
