"""Groups of figures. A group contains all figures of one statistic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, NamedTuple

from estimator.results.estimate import NO_LABEL, Ends, Figure, FigureLabel, Figures, Record, says
from estimator.results.statistic import STATISTICS, Statistic
from estimator.statistics.confidence import PAIR
from estimator.words import plural

SHARES: Final[Ends] = (0.0, 1.0)
"""The smallest and the largest possible share."""


class FigureKey(NamedTuple):
    """The statistic and the label that identify a figure of a tally.

    Alerts name figures with such keys. A rehearsal uses the same keys for its true values.
    """

    statistic: str
    value: FigureLabel = NO_LABEL


class FigureGroup(Record, frozen=True):
    """All figures of one statistic."""

    statistic: Annotated[str, says("the name of the statistic, a key of `STATISTICS`.")]
    figures: Annotated[Figures, says("the figures of the statistic, at least one.")]
    unit: Annotated[
        str,
        says(
            "the unit of the figures, such as ms. The unit of a variance is the square of the answers' unit. Empty "
            "for shares, or if the registry names no unit."
        ),
    ] = ""
    ends: Annotated[Ends | None, says("the smallest and the largest possible figure. None if they are unbounded.")] = (
        None
    )

    @property
    def about(self) -> Statistic:
        """The entry in `STATISTICS` that describes the figures."""
        return STATISTICS[self.statistic]

    def label(self, figure: Figure) -> str:
        """Return the label of a figure in readable form."""
        return self.about.label(figure.value)

    def more(self, number: int) -> str:
        """Return a phrase for the number of omitted figures, such as ``3 more values``."""
        return plural(number, f"more {self.about.noun}")

    @property
    def lead(self) -> int:
        """The position of the main figure, such as the share of "yes"."""
        return self.about.lead(self.figures)

    @property
    def told(self) -> list[int]:
        """The positions of the figures whose changes a report describes.

        For the answers "yes" and "no", only changes in the share of "yes" are described.
        """
        labels = self.figures.labels
        within = [label[-1] if isinstance(label, tuple) and self.about.members else label for label in labels]
        is_yes_or_no = set(map(type, within)) == {bool}
        return [place for place, label in enumerate(within) if not (is_yes_or_no and label is False)]

    @property
    def keys(self) -> Iterator[FigureKey]:
        """An iterator over the keys of the figures."""
        return (FigureKey(self.statistic, value) for value in self.figures.labels)


def in_order(groups: Iterable[FigureGroup]) -> tuple[FigureGroup, ...]:
    """Return groups, sorted in the order of `STATISTICS`."""
    places = list(STATISTICS)
    return tuple(sorted(groups, key=lambda group: places.index(group.statistic)))


class Figured:
    """The methods of a record that contains groups of figures, in the order of `STATISTICS`."""

    __slots__ = ()

    groups: tuple[FigureGroup, ...]

    def group(self, statistic: str) -> FigureGroup | None:
        """Return the group of figures of a statistic, or None if the record lacks it."""
        return next((group for group in self.groups if group.statistic == statistic), None)

    def figures(self, statistic: str) -> Figures:
        """Return the figures of a statistic, or empty `Figures` if the record lacks it."""
        group = self.group(statistic)
        return Figures.from_rows(()) if group is None else group.figures

    def figure(self, key: FigureKey) -> Figure | None:
        """Return the figure with the given key, or None if the record lacks it."""
        figures = self.figures(key.statistic)
        return figures[figures.labels.index(key.value)] if key.value in figures.labels else None

    @property
    def estimates(self) -> Figures | None:
        """The shares of the values. None if the record has no shares."""
        return self.figures("share") or None

    @property
    def mean(self) -> Figure | None:
        """The mean of the answers. None if the record has no mean."""
        means = (group for group in self.groups if group.about.is_mean)
        return next((group.figures[0] for group in means), None)

    @property
    def are_sets(self) -> bool:
        """Whether answers are sets of values. The shares may then add up to more than 1."""
        return any(group.about.of_sets for group in self.groups)

    @property
    def is_pair(self) -> bool:
        """Whether the record has exactly two shares that add up to 1."""
        shares = self.estimates
        return shares is not None and len(shares) == PAIR and not self.are_sets

    @property
    def leading(self) -> FigureGroup | None:
        """The group with the main figure. None if there is no main figure."""
        led = [group for group in self.groups if group.about.headline and len(group.figures)]
        return max(led, key=lambda group: group.about.headline, default=None)

    @property
    def headline(self) -> FigureKey | None:
        """The key of the main figure, such as the share of "yes" or the mean."""
        group = self.leading
        return None if group is None else FigureKey(group.statistic, group.figures.labels[group.lead])

    @property
    def compared(self) -> tuple[FigureGroup, ...]:
        """The groups of figures that are compared between public strata, such as platforms.

        The possible effect of fabricated reports is computed for the same groups.
        """
        return tuple(group for group in self.groups if group.about.is_compared)
