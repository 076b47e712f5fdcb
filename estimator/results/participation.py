"""How many devices take part, and what their answers say of all installations."""

from __future__ import annotations

from typing import Annotated, Final

from estimator.results.estimate import Figure
from estimator.results.group import Figured, FigureGroup
from estimator.results.record import Record, says

CONFIDENCE: Final = 0.998
"""Of the number of devices that take part. Bounds use the lower end alone, so that they miss in one
of a thousand tallies more than the interval that they are made of.
"""


class TakingPart(Figure, frozen=True, kw_only=True):
    """The number of devices that take part in a window; its interval has 99.8 % confidence.

    It assumes that each device that is asked has budget left and sends one report. Devices that
    recorded nothing for the question are not among them.
    """

    asked: Annotated[float, says("the share of them that the schedule asks the question in the window.")]


class AmongAll(Record, Figured, frozen=True, kw_only=True):
    """Bounds on figures of all installations, whatever those that do not take part would answer.

    No bound has an estimate. Other figures of the question have no bounds.
    """

    installs: Annotated[int, says("the number of all installations.")]
    taking_part: Annotated[Figure, says("the share of them that take part; its interval has a confidence of 99.8 %.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the bounds, by the statistics that they bound.")] = ()
