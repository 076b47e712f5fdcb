"""How the answers to one question differ between two windows, or between two public strata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from estimator.results.estimate import Figure
from estimator.results.group import Figured, FigureGroup
from estimator.results.record import Record, says


class Tested(Record, Figured, frozen=True, kw_only=True):
    """Differences of figures, each with its p-values."""

    tests: Annotated[int, says("the number of independent comparisons among the differences.")]
    groups: Annotated[
        tuple[FigureGroup, ...], says("the differences, by the statistics whose figures are compared.")
    ] = ()

    def __iter__(self) -> Iterator[tuple[FigureGroup, Figure]]:
        """Yield every difference, with the group that it is of."""
        return ((group, figure) for group in self.groups for figure in group.figures)

    @property
    def p_value_corrected(self) -> float | None:
        """The smallest corrected p-value. None with too few reports."""
        p_values = (figure.p_value_corrected for _, figure in self)
        return min((p_value for p_value in p_values if p_value is not None), default=None)


class Changes(Tested, frozen=True, kw_only=True):
    """What changed in the answers to one question: the last window minus the first."""

    metric: Annotated[str, says("its name.")]
    edition: Annotated[str, says("12 hex digits that identify what the reports mean.")]
    first: Annotated[
        str,
        says(
            "the name of the first closed window with enough reports. If fewer than two windows "
            "have enough, the first with any."
        ),
    ]
    last: Annotated[str, says("the name of the last such window.")]
    untested: Annotated[
        tuple[str, ...], says("the question's other figures, by their statistics. Nothing is known of their changes.")
    ] = ()


class Effect(Tested, frozen=True, kw_only=True):
    """How the answers to one question differ between two public strata, in one closed window.

    Figures are the second stratum minus the first.
    """

    metric: Annotated[str, says("the question's name.")]
    window: Annotated[str, says("the name of the window.")]
    first: Annotated[str, says("the stratum that is subtracted, such as ``platform=ios``.")]
    second: Annotated[str, says("the stratum from which it is subtracted.")]
