"""Words that every rendering shares."""

from __future__ import annotations

from typing import Final

from client_sdk.spec import Label, Metric

OF_MEANS: Final = {"ordinal": "mean position", "set": "mean size"}
"""What the mean of a kind is the mean of, where it is not of the answers themselves."""


def word(value: Label) -> str:
    """Return a value of a domain as text: ``true`` and ``false`` as in the registry, a pair with a comma."""
    if value is None:
        return "nothing recorded"
    if isinstance(value, tuple):
        return ", ".join(word(part) for part in value)
    return value if isinstance(value, str) else str(value).lower()


def mean_word(metric: Metric) -> str:
    """Return what the mean of a metric is called."""
    return OF_MEANS.get(metric.kind, "mean")
