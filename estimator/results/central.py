"""What published tallies reveal about one report in them."""

from __future__ import annotations

from typing import Final

from estimator.results.record import Record

ASSUMPTION: Final = "shuffled tally of honest reports"
"""Stands beside every figure, because the figure is false without it."""


class Central(Record, frozen=True, tag_field="assumes", tag=ASSUMPTION):
    """The privacy loss of a device by published tallies.

    Attributes:
        delta: by how much a probability may exceed e^epsilon times another answer's.
        epsilon: rounded up.

    """

    delta: float
    epsilon: float


class Composed(Record, frozen=True):
    """What the closed tallies of one window reveal together.

    Attributes:
        window: its name.
        tallies: the number of this report's tallies that have reports. Those of a question's public
            strata count once, because a device is in one of them.
        central: the loss of a device that is in all of them. None if their own deltas exceed the
            requested delta.

    """

    window: str
    tallies: int
    central: Central | None
