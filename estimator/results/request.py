"""What a report is to hold: which windows, and which further figures."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol import Window


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a tally beside the estimates.

    Attributes:
        simultaneous: intervals that hold together, for all that one tally tells, instead of each by itself.
        covariance: of the shares.
        central_delta: the delta of the central epsilon of each closed tally; or none, where none is wanted.
        pool: all windows of a metric together, too.
        joint: what follows from the shares of two questions asked together.
        fakes: the fraction of the reports that is taken for made up; or none, where that is not asked.
        clusters: of answers that lie on a scale, are counts or numbers, or pairs.

    """

    simultaneous: bool = False
    covariance: bool = False
    central_delta: float | None = None
    pool: bool = False
    joint: bool = True
    fakes: float | None = None
    clusters: bool = False


PLAIN = Wanted()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which windows are wanted.

    Attributes:
        first: windows that end before it begins are not wanted; or none.
        last: windows that begin after it has ended are not wanted; or none.
        preliminary: whether windows that can still change are wanted.

    """

    first: Window | None = None
    last: Window | None = None
    preliminary: bool = False

    def spans(self, window: Window) -> bool:
        """Whether a window lies between the first and the last one, or overlaps one of them (a day of a month)."""
        not_before = self.first is None or window.ends_at > self.first.starts_at
        return not_before and (self.last is None or window.starts_at < self.last.ends_at)


EVERYTHING_CLOSED = Selection()
