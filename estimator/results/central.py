"""What a published tally reveals of one report in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ASSUMPTION: Final = "shuffled tally of honest reports"
"""Stands beside every figure: without it, the figure is false."""


@dataclass(frozen=True, slots=True)
class Central:
    """The privacy loss of a device by published tallies.

    Attributes:
        delta: how often epsilon may not hold.
        epsilon: rounded up.

    """

    delta: float
    epsilon: float
