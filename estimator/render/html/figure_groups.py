"""The figures of a question as the page shows them: by statistic, those that are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from estimator.render.rounding import Unit, unit_of
from estimator.results.estimate import Figure, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.words import short


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """The shown figures of one statistic in one window.

    Attributes:
        group: all figures of the statistic.
        title: what they are.
        unit: the unit in which they are shown.
        labels: of the shown figures. They are the same in every window of a question.
        figures: the shown figures.

    """

    group: FigureGroup
    title: str
    unit: Unit
    labels: tuple[str, ...]
    figures: Figures

    @property
    def rows(self) -> list[tuple[str, Figure]]:
        """The label of each shown figure, and the figure."""
        return list(zip(self.labels, self.figures, strict=True))

    @property
    def is_titled(self) -> bool:
        """Whether the title says more than the label of its only figure."""
        return [label.casefold() for label in self.labels] != [self.title.casefold()]


def groups_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[ShownGroup]:
    """Yield the groups of one window.

    They are the same in every window of a question that has reports. A model has none in a window
    of which too little was learned.

    Args:
        estimated: the figures of the window.
        positions: which values are shown.

    """
    for group in estimated.groups:
        if group.about.on_page:
            figures = shown_at(group, positions)
            labels = tuple(group.about.label(value) for value in figures.labels)
            title = group.about.title.format(*map(short, estimated.names or ()))
            yield ShownGroup(group, title, unit_of(group), labels, figures)


def shown_at(group: FigureGroup, positions: Sequence[int]) -> Figures:
    """Return the figures that are shown: of values those at some positions, of others all."""
    return group.figures.at(positions) if group.about.by_value else group.figures
