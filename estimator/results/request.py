"""What a report is to contain: which windows, and which additional figures."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol.window import Window


@dataclass(frozen=True, slots=True)
class Request:
    """The figures to compute for a tally beside the estimates.

    Attributes:
        simultaneous: intervals that hold together for all figures of a tally, instead of one by
            one.
        covariance: of the shares.
        central_delta: the delta of each closed tally's central epsilon, or None to leave it out.
        pool: also all windows of a metric together.
        joint: what follows from the shares of two questions asked together.
        fakes: the assumed fraction of made-up reports, or None to leave it out.
        clusters: of answers that are numbers, counts, pairs, or lie on a scale.
        ranges: of answers to numbers whose shares are wanted: the metric, the start and the end.
        candidates: texts whose shares are wanted of questions about texts.
        highlights: what a table or a page shows first.
        installs: the number of all installations, to bound figures of all; or None.
        asked: the share of devices that are asked, or None to take it from the schedule.

    """

    simultaneous: bool = False
    covariance: bool = False
    central_delta: float | None = None
    pool: bool = False
    joint: bool = True
    fakes: float | None = None
    clusters: bool = False
    ranges: tuple[tuple[str, float, float], ...] = ()
    candidates: tuple[str, ...] = ()
    highlights: bool = True
    installs: int | None = None
    asked: float | None = None


PLAIN = Request()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which windows a report covers.

    Attributes:
        first: leave out windows that end before this one begins; or None.
        last: leave out windows that begin after this one has ended; or None.
        preliminary: whether to include windows that can still change.

    """

    first: Window | None = None
    last: Window | None = None
    preliminary: bool = False

    def spans(self, window: Window) -> bool:
        """Whether a window lies between the first and the last one, or overlaps one of them.

        A day may lie in a month, for example.
        """
        not_before = self.first is None or window.ends_at > self.first.starts_at
        return not_before and (self.last is None or window.starts_at < self.last.ends_at)


EVERYTHING_CLOSED = Selection()
