"""What published tallies reveal about one report in them."""

from __future__ import annotations

from typing import Annotated, Final

from estimator.results.record import Record, says

ASSUMPTION: Final = "shuffled tally of honest reports"
"""Stands beside every figure, because the figure is false without it."""


class Central(Record, frozen=True, tag_field="assumes", tag=ASSUMPTION):
    """The privacy loss of a device by published tallies."""

    delta: Annotated[float, says("by how much a probability may exceed e^epsilon times another answer's.")]
    epsilon: Annotated[float, says("rounded up.")]


class Composed(Record, frozen=True):
    """What the closed tallies of one window reveal together."""

    window: Annotated[str, says("its name.")]
    tallies: Annotated[
        int,
        says(
            "the number of this report's tallies that have reports. Those of a question's public "
            "strata count once, because a device is in one of them."
        ),
    ]
    central: Annotated[
        Central | None,
        says("the loss of a device that is in all of them. None if their own deltas exceed the requested delta."),
    ]
