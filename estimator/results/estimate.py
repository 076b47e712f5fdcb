"""Estimated numbers, one at a time or as columns, and the scales for the mean of answers.

A *figure* is an estimated number in a report together with a label, such as the share of "yes". A
*statistic* is a kind of figure, such as share, mean or quantile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Final, Self

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from estimator.statistics.arrays import Floats


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base class of the immutable records in reports.

    In JSON, a field has the same name as in Python unless its description gives another name. A
    field with its default value is omitted. If the schema has a number, ``schema_number`` is the
    first field of the JSON. Fields in ``unwritten`` are never written.
    """

    schema_number: ClassVar[int | None] = None
    unwritten: ClassVar[frozenset[str]] = frozenset()


def says(description: str) -> msgspec.Meta:
    """Return the description of a field, for the JSON Schema and the reference page."""
    return msgspec.Meta(description=description)


Plain = bool | int | float | str | None

FigureLabel = Plain | tuple[Plain | tuple[Plain, ...], ...] | UnsetType
"""The label of a figure: an answer, a number, the ends of a range, or a group and an answer. If a
statistic has only one figure, as the mean does, the figure has no label.
"""

NO_LABEL: Final = UNSET
"""The label of a statistic's only figure."""

NOTHING: Final = np.zeros(0)
"""An empty column of `Figures`, for a quantity that no figure has."""

SHOWN: Final = 6
"""The maximum number of figures that `Figures.__repr__` shows."""

COLUMN_OF: Final = {
    "low": "lows",
    "high": "highs",
    "estimate": "unbiased",
    "standard_error": "standard_errors",
    "maximum_likelihood": "maximum_likelihood",
    "shrunken": "shrunken",
    "p_value": "p_values",
    "p_value_corrected": "p_values_corrected",
}
"""The column of `Figures` for each field of a `Figure`, in the order of `Figures.__init__`."""


Ends = tuple[float, float]
"""The smallest and the largest possible figure."""


class Estimate(Record, frozen=True):
    """One estimated number with its interval.

    If there are no reports, the interval covers all possible values.
    """

    estimate: Annotated[
        float | None,
        says(
            "the unbiased estimate. It may lie outside the possible range, because clipping it "
            "would cause bias. None if there are no reports."
        ),
    ]
    standard_error: Annotated[
        float | None,
        says(
            "the standard error of the unbiased estimate; above 0. None if there are no reports, and "
            "for the figures of a distribution."
        ),
    ]
    low: Annotated[float, says("the lower end of the confidence interval, within the possible range.")]
    high: Annotated[float, says("the upper end of the interval, at least ``low``.")]
    maximum_likelihood: Annotated[
        float | None,
        says(
            "the maximum-likelihood estimate within the possible range; biased near its ends. None if it is not "
            "computed."
        ),
    ] = None
    shrunken: Annotated[
        float | None,
        says(
            "the estimate with the smallest expected squared error, biased toward the typical figure. None if it is "
            "not computed."
        ),
    ] = None

    @classmethod
    def within(cls, interval: tuple[float, float], estimate: float, **rest: Any) -> Self:  # noqa: ANN401 the fields of the class
        """Return an estimate with a given interval.

        An estimate outside the interval is moved to the nearer end.
        """
        low, high = interval
        return cls(min(high, max(low, estimate)), None, low, high, **rest)

    @property
    def is_a_point(self) -> bool:
        """Whether the interval is a single point.

        Such an interval means that hardly any population could have produced the tally.
        """
        return self.low == self.high

    def times(self, factor: float) -> Estimate:
        """Return the estimate and its interval, multiplied by a factor."""
        numbers = (self.estimate, self.standard_error, self.low, self.high, self.maximum_likelihood)
        return Estimate(*(None if number is None else factor * number for number in numbers))  # type: ignore[arg-type]

    def between(self, least: float, greatest: float) -> Estimate:
        """Convert an estimate from the scale 0..1 to the scale from ``least`` to ``greatest``."""
        width = greatest - least

        def possible(share: float) -> float:
            return min(greatest, max(least, least + width * share))  # rounding errors could exceed the scale

        return Estimate(
            estimate=None if self.estimate is None else least + width * self.estimate,
            standard_error=None if self.standard_error is None else width * self.standard_error,
            low=possible(self.low),
            high=possible(self.high),
            maximum_likelihood=None if self.maximum_likelihood is None else possible(self.maximum_likelihood),
        )

    def labeled(self, value: FigureLabel = NO_LABEL) -> Figure:
        """Return the estimate as a figure with a label."""
        return Figure(
            self.estimate, self.standard_error, self.low, self.high, self.maximum_likelihood, self.shrunken, value=value
        )


class Figure(Estimate, frozen=True, kw_only=True):
    """One labeled figure, such as the share of a value or the difference between two shares."""

    value: Annotated[
        FigureLabel,
        says(
            "the label of the figure, such as an answer; its statistic determines the type. "
            "Omitted for the only figure of its statistic, such as a mean. Null means no answer."
        ),
    ] = NO_LABEL
    p_value: Annotated[
        float | None,
        says(
            "for a difference, the probability that chance alone causes a difference at least this large. Omitted "
            "for other figures, and if there are too few reports."
        ),
    ] = None
    p_value_corrected: Annotated[float | None, says("the p-value, corrected for all comparisons in the report.")] = None


class Figures:
    """Several figures of a statistic, stored as columns. In JSON, they are a list of figures.

    There may be a million figures, so a `Figure` object is created only on access. If a figure
    lacks a quantity, such as a p-value, its entry in the column is NaN. If all figures lack the
    quantity, the column is empty.

    Attributes:
        lows: the lower ends of the intervals, shape (len(labels),).
        highs: the upper ends of the intervals.
        shrunken: the estimates with the smallest expected squared error.
        p_values_corrected: the p-values of differences, corrected for all comparisons in the
            report.

    """

    __slots__ = ("labels", *COLUMN_OF.values())

    def __init__(  # noqa: PLR0913, PLR0917 one argument for each column
        self,
        labels: Sequence[FigureLabel],
        lows: Floats,
        highs: Floats,
        unbiased: Floats = NOTHING,
        standard_errors: Floats = NOTHING,
        maximum_likelihood: Floats = NOTHING,
        shrunken: Floats = NOTHING,
        p_values: Floats = NOTHING,
        p_values_corrected: Floats = NOTHING,
    ) -> None:
        """Store the columns."""
        self.labels = labels
        self.lows = lows
        self.highs = highs
        self.unbiased = unbiased
        self.standard_errors = standard_errors
        self.maximum_likelihood = maximum_likelihood
        self.shrunken = shrunken
        self.p_values = p_values
        self.p_values_corrected = p_values_corrected

    @classmethod
    def unknown(cls, labels: Sequence[FigureLabel], least: float = 0.0, greatest: float = 1.0) -> Figures:
        """Return the figures of a tally without reports.

        Every interval extends from ``least`` to ``greatest``.
        """
        return cls(labels, np.full(len(labels), least), np.full(len(labels), greatest))

    @classmethod
    def from_rows(cls, figures: Iterable[Figure]) -> Figures:
        """Return figures as columns."""
        rows = tuple(figures)

        def column(name: str) -> Floats:
            cells = [getattr(row, name) for row in rows]
            return np.array([] if all(cell is None for cell in cells) else cells, dtype=float)

        return cls(tuple(row.value for row in rows), *map(column, COLUMN_OF))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Figures) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # arrays can change

    def __repr__(self) -> str:
        named = [f"{figure.value} {figure.low:.3g} to {figure.high:.3g}" for figure in islice(self, SHOWN)]
        return f"Figures({', '.join(named)}{', …' if len(self) > SHOWN else ''})"

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Figure]:
        columns = (_cells(getattr(self, name), len(self)) for name in COLUMN_OF.values())
        lows, highs, estimates, errors, likeliest, shrunken, p_values, corrected = columns
        for label, *numbers, p_value, p_corrected in zip(
            self.labels, estimates, errors, lows, highs, likeliest, shrunken, p_values, corrected, strict=True
        ):
            yield Figure(*numbers, value=label, p_value=p_value, p_value_corrected=p_corrected)

    def __getitem__(self, position: int) -> Figure:
        first = range(len(self))[position]
        at_position = slice(first, first + 1)
        return next(iter(self.part(self.labels[at_position], at_position)))

    def part(self, labels: Sequence[FigureLabel], positions: slice | list[int]) -> Figures:
        """Return the figures at the given positions, with new labels."""
        columns = (getattr(self, name) for name in COLUMN_OF.values())
        return Figures(labels, *(column[positions] if column.size else column for column in columns))

    def at(self, positions: Sequence[int]) -> Figures:
        """Return the figures at the given positions."""
        return self.part([self.labels[position] for position in positions], list(positions))

    def of_members(self, labels: Sequence[FigureLabel], most: int) -> Figures:
        """Return the share of sets that contain each value, computed from the shares of reports.

        A device pads its set with dummies to ``most`` elements, and reports a random element. Each
        share is therefore ``most`` times the share of reports about the value. If devices instead
        answer "yes" or "no" for single values, ``most`` is 1.
        """
        drawn = self.part(labels, slice(len(labels)))
        return Figures(
            labels,
            np.minimum(most * drawn.lows, 1.0),
            np.minimum(most * drawn.highs, 1.0),
            most * drawn.unbiased,
            most * drawn.standard_errors,
            maximum_likelihood=NOTHING,  # known only for drawn elements, not for sets
            shrunken=np.minimum(most * drawn.shrunken, 1.0),
        )

    @property
    def has_a_point(self) -> bool:
        """Whether any interval is a single point."""
        return bool((self.lows == self.highs).any())


def _cells(column: Floats, figures: int) -> list[float | None]:
    if not column.size:
        return [None] * figures
    cells: list[float | None] = column.tolist()
    return [None if cell != cell else cell for cell in cells] if np.isnan(column).any() else cells  # noqa: PLR0124 NaN


class Scale:
    """A scale for the mean of answers.

    The methods convert a mean on the scale to a figure in the unit of the answers, and back. In
    this base class, the two are equal. If ``is_relative``, an error of 0.01 on the scale changes (1
    + figure) by about 1%, because the scale is logarithmic.
    """

    is_relative: ClassVar[bool] = False

    def inner(self, figures: Floats) -> Floats:
        """Convert figures in the unit of the answers to means on the scale."""
        return figures

    def outer(self, means: Floats) -> Floats:
        """Convert means on the scale to figures in the unit of the answers."""
        return means

    def inner_ends(self, ends: Ends) -> Ends:
        """Convert both ends of a range, in the unit of the answers, to the scale."""
        low, high = self.inner(np.array(ends)).tolist()
        return low, high

    def slopes(self, figures: Floats) -> Floats:
        """Return the derivative of each figure with respect to its mean on the scale."""
        return np.ones_like(figures)

    def shown(self, mean: Estimate, ends: Ends) -> Estimate:  # noqa: ARG002 of logarithms
        """Convert an estimated mean on the scale to a figure in the unit of the answers."""
        return mean

    def moves(self, figures: Floats, downs: Floats, ups: Floats, ends: Ends) -> tuple[Floats, Floats]:  # noqa: ARG002 of logarithms
        """Return how far fabricated reports may have moved figures down and up.

        The figures are in the unit of the answers. ``downs`` and ``ups`` are the movements of the
        means on the scale. ``ends`` are the smallest and the largest possible figure.
        """
        return downs, ups


class LogScale(Scale):
    """A scale for the mean of the logarithms of 1 + x, for answers x.

    A figure is the geometric mean of 1 + x, minus 1. The mean of the logarithms has an unbiased
    estimate and an interval. The ends of this interval are converted to figures, which preserves
    the coverage. A figure beyond its range is replaced by the end of the range, because the
    exponential could overflow.
    """

    is_relative = True

    def inner(self, figures: Floats) -> Floats:
        """Return the logarithm of 1 + each figure."""
        logarithms: Floats = np.log1p(figures)
        return logarithms

    def outer(self, means: Floats) -> Floats:
        """Return the exponential of each mean, minus 1."""
        exponentials: Floats = np.expm1(means)
        return exponentials

    def slopes(self, figures: Floats) -> Floats:
        """Return 1 + each figure, the derivative of the exponential."""
        return 1 + figures

    def shown(self, mean: Estimate, ends: Ends) -> Estimate:
        """Convert a mean of logarithms to the geometric mean, minus 1.

        The standard error is a first-order approximation.
        """
        least, greatest = self.inner_ends(ends)

        def geometric(logarithm: float) -> float:
            return min(ends[1], max(ends[0], float(np.expm1(min(greatest, max(least, logarithm))))))

        low, high = geometric(mean.low), geometric(mean.high)
        if mean.estimate is None:
            return replace(mean, low=low, high=high)
        estimate = geometric(mean.estimate)
        error = None if mean.standard_error is None else mean.standard_error * (1 + estimate)
        return replace(mean, estimate=estimate, standard_error=error, low=low, high=high)

    def moves(self, figures: Floats, downs: Floats, ups: Floats, ends: Ends) -> tuple[Floats, Floats]:
        """Return how far fabricated reports may have moved geometric means down and up.

        Arguments are as for `Scale.moves`.
        """
        (least, greatest), logarithms = self.inner_ends(ends), self.inner(figures)
        highest, lowest = np.minimum(logarithms + downs, greatest), np.maximum(logarithms - ups, least)
        return np.maximum(self.outer(highest) - figures, 0.0), np.maximum(figures - self.outer(lowest), 0.0)
