"""How many devices take part, and what their answers say of all installations."""

from __future__ import annotations

from typing import Final

from estimator.results.distribution import Figure, Range
from estimator.results.estimate import Share, Shares
from estimator.results.record import Record

CONFIDENCE: Final = 0.998
"""Of the number of devices that take part. Bounds use the lower end alone, so that they miss in one
of a thousand tallies more than the interval that they are made of.
"""


class TakingPart(Figure, frozen=True, kw_only=True):
    """The number of devices that take part in a window; its interval has 99.8 % confidence.

    It assumes that each device that is asked has budget left and sends one report. Devices that
    recorded nothing for the question are not among them.

    Attributes:
        asked: the share of them that the schedule asks the question in the window.

    """

    asked: float


class AmongAll(Record, frozen=True, kw_only=True):
    """Bounds on figures of all installations, whatever those that do not take part would answer.

    No bound has an estimate. Other figures of the question have no bounds.

    Attributes:
        installs: the number of all installations.
        taking_part: the share of them that take part; its interval has a confidence of
            99.8 %.
        estimates: the share of each value. None if answers have no shares.
        mean: of the answers. None if there is no mean.
        coordinates: of vectors, the mean of each coordinate. None for other kinds.
        at_least: of days of use, the share that was used on at least a given number of days.
        found: of texts that were found, the share of each. None for other kinds.
        named: of texts that were named, the share of each. None for other kinds.
        ranges: the share of answers in each range that was asked for.

    """

    installs: int
    taking_part: Figure
    estimates: Shares | None = None
    mean: Figure | None = None
    coordinates: Shares | None = None
    at_least: tuple[Share, ...] = ()
    found: Shares | None = None
    named: Shares | None = None
    ranges: tuple[Range, ...] = ()
