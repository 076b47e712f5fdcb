"""What a person reads first about a question."""

from __future__ import annotations

from typing import Final

from estimator.results.changes import Changes
from estimator.results.metric import MetricEstimate
from estimator.results.pooled import Pooled
from estimator.results.record import Record

SHOWN_VALUES: Final = 50
"""At most this many values of a large category are shown, those with the largest shares."""

TOO_FAR: Final = 0.1
"""A fraction of the range. An interval that reaches farther to a side hardly separates a half from
a third.
"""


class Precision(Record, frozen=True):
    """How wide the intervals of a window are, compared with a width that allows conclusions.

    Attributes:
        reach: the largest distance from an interval's middle to its end.
        range: the length of the range in which the interval lies: 1 for shares.
        reports_needed: about how many reports in a window keep the reach within `TOO_FAR` of the
            range, whatever the answers are. None if the reach is within it already.

    """

    reach: float
    range: float
    reports_needed: int | None


class Highlight(Record, frozen=True, kw_only=True):
    """What a page or a table shows first about one question.

    Attributes:
        shown: the window shown first: the last closed one with reports; failing that, the last one
            with reports; failing that, the last one. Its differences between groups are corrected
            for the windows that are shown first.
        positions: of the values shown, in the domain's order.
        left_out: the number of values not shown.
        precision: of the window shown first.
        independence: the p-value of two questions asked together, corrected for all such pairs.
            None for other questions.
        changes: from the first to the last closed window. None unless two of them have reports.
        pooled: all windows together. None unless several have reports.

    """

    shown: MetricEstimate
    positions: tuple[int, ...]
    left_out: int
    precision: Precision
    independence: float | None = None
    changes: Changes | None = None
    pooled: Pooled | None = None
