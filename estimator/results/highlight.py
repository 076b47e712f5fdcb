"""What a person reads first about a question."""

from __future__ import annotations

from typing import Annotated, Final

from estimator.results.changes import Changes
from estimator.results.metric import MetricEstimate, Pooled
from estimator.results.record import Record, says

SHOWN_VALUES: Final = 50
"""At most this many values of a large category are shown, those with the largest shares."""

TOO_FAR: Final = 0.1
"""A fraction of the range. An interval that reaches farther to a side hardly separates a half from
a third.
"""


class Precision(Record, frozen=True):
    """How wide the intervals of a window are, compared with a width that allows conclusions."""

    reach: Annotated[float, says("the largest distance from an interval's middle to its end.")]
    range: Annotated[float, says("the length of the range in which the interval lies: 1 for shares.")]
    reports_needed: Annotated[
        int | None,
        says(
            "about how many reports in a window keep the reach within `TOO_FAR` of the range, "
            "whatever the answers are. None if the reach is within it already."
        ),
    ]


class Highlight(Record, frozen=True, kw_only=True):
    """What a page or a table shows first about one question."""

    shown: Annotated[
        MetricEstimate,
        says(
            "the window shown first: the last closed one with reports; failing that, the last one "
            "with reports; failing that, the last one. Its differences between groups are corrected "
            "for the windows that are shown first."
        ),
    ]
    positions: Annotated[tuple[int, ...], says("of the values shown, in the domain's order.")]
    left_out: Annotated[int, says("the number of values not shown.")]
    precision: Annotated[Precision, says("of the window shown first.")]
    independence: Annotated[
        float | None,
        says("the p-value of two questions asked together, corrected for all such pairs. None for other questions."),
    ] = None
    changes: Annotated[
        Changes | None, says("from the first to the last closed window. None unless two of them have reports.")
    ] = None
    pooled: Annotated[Pooled | None, says("all windows together. None unless several have reports.")] = None
