"""An alert, and what came of it in a window."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from estimator.results.group import FigureKey
from estimator.results.record import Record, says


class Operator(StrEnum):
    """How a figure is compared with a bound."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class Alert:
    """A bound on one figure of a metric.

    Attributes:
        metric: its name.
        figure: as it was written, such as ``mean`` or ``share[dark]``.
        key: of that figure in a report.
        operator: how the figure is compared.
        bound: the number that it is compared with, finite.

    """

    metric: str
    figure: str
    key: FigureKey
    operator: Operator
    bound: float


class JudgedAlert(Record, frozen=True):
    """What came of an alert in one window: a line of JSON."""

    metric: Annotated[str, says("its name.")]
    window: Annotated[str, says("the name of the window.")]
    figure: Annotated[str, says("as it was written.")]
    operator: Annotated[str, says("how the figure is compared.")]
    bound: Annotated[float, says("the number that it is compared with.")]
    estimate: Annotated[float | None, says("of the figure; unbiased, or of a quantile smoothed. None without reports.")]
    low: Annotated[
        float | None,
        says("the lower end of the figure's interval. None for a sum, or the mean of a group, without reports."),
    ]
    high: Annotated[float | None, says("the upper end, likewise.")]
    reports: Annotated[int, says("of the window.")]
    fired: Annotated[bool, says("whether the whole interval is beyond the bound, by enough reports.")]
