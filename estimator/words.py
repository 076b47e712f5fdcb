"""Numbers of things in words for people."""

from __future__ import annotations

from typing import Final

from client_sdk.protocol.kinds.kind import Label, word


def plural(number: int, singular: str, many: str | None = None) -> str:
    """Return a number and its noun, such as ``1 tally`` or ``2 tallies``.

    The plural has an s by default.
    """
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


OF_MEANS: Final = {
    "ordinal": "mean position",
    "set": "mean size",
    "vector": "coordinate mean",
    "model": "product mean",
    "model-of-crosses": "cell share",
}
"""What the mean of a kind is the mean of, where it is not of the answers themselves."""


def parts(value: Label) -> str | tuple[str, ...]:
    """Return a value as text, or a pair as two, which a narrow line can cut each by itself."""
    return tuple(map(word, value)) if isinstance(value, tuple) else word(value)


def mean_word(kind: str) -> str:
    """Return what the mean of a kind of metric is called."""
    return OF_MEANS.get(kind, "mean")


def in_unit(label: str, unit: str) -> str:
    """Return the label of a number with its unit, if it has one."""
    return f"{label}, {unit}" if unit else label
