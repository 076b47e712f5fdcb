"""An estimated number, and many of them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from client_sdk.protocol.kinds.kind import Label, word
from estimator.results.record import Record
from estimator.statistics.arrays import Floats

SHOWN: Final = 6
"""How many shares stand for all where they are printed as an object."""


class Estimate(Record, frozen=True):
    """One estimated number. Without reports the interval covers every possible value.

    Attributes:
        estimate: unbiased. It may lie outside the possible range, because clipping would bias it.
            None without reports.
        standard_error: of the unbiased estimate; above 0. None without reports.
        low: the lower end of the confidence interval, within the possible range.
        high: the upper end, not below ``low``.
        maximum_likelihood: always possible; biased near the ends of the range. None if it is not
            computed.
        shrunken: the estimate of least expected squared error, biased towards the usual size. None
            if it is not computed.

    """

    estimate: float | None
    standard_error: float | None
    low: float
    high: float
    maximum_likelihood: float | None = None
    shrunken: float | None = None

    @property
    def is_a_point(self) -> bool:
        """Whether the interval is a single point, because hardly any answers make such a tally."""
        return self.low == self.high

    def times(self, factor: float) -> Estimate:
        """Return the estimate in another unit: everything multiplied by a factor."""
        numbers = (self.estimate, self.standard_error, self.low, self.high, self.maximum_likelihood)
        return Estimate(*(None if number is None else factor * number for number in numbers))  # type: ignore[arg-type]

    def between(self, least: float, greatest: float) -> Estimate:
        """Return the estimate on a scale where share 0 is ``least`` and share 1 is ``greatest``."""
        width = greatest - least

        def possible(share: float) -> float:
            return min(greatest, max(least, least + width * share))  # rounding could leave the scale

        return Estimate(
            estimate=None if self.estimate is None else least + width * self.estimate,
            standard_error=None if self.standard_error is None else width * self.standard_error,
            low=possible(self.low),
            high=possible(self.high),
            maximum_likelihood=None if self.maximum_likelihood is None else possible(self.maximum_likelihood),
        )

    def of(self, value: Label) -> Share:
        """Return the estimate as that of a value."""
        return Share(
            self.estimate, self.standard_error, self.low, self.high, self.maximum_likelihood, self.shrunken, value=value
        )


class Share(Estimate, frozen=True, kw_only=True):
    """The estimate for one value of a domain: its share, or the change of its share.

    Attributes:
        value: the value.

    """

    value: Label


class Shares:
    """The shares of many values, stored as columns; a list in JSON.

    A `Share` is created on access, because there may be a million of them.

    Attributes:
        labels: the values.
        lows: the lower ends of the intervals, shape (len(labels),).
        highs: the upper ends.
        unbiased: the unbiased estimates. Without reports this and all columns below are empty.
        standard_errors: of the unbiased estimates.
        maximum_likelihood: the maximum-likelihood estimates.
        shrunken: the estimates of least expected squared error; also empty if there are few values.

    """

    __slots__ = ("highs", "labels", "lows", "maximum_likelihood", "shrunken", "standard_errors", "unbiased")

    def __init__(  # noqa: PLR0913, PLR0917 one argument for each column
        self,
        labels: Sequence[Label],
        lows: Floats,
        highs: Floats,
        unbiased: Floats,
        standard_errors: Floats,
        maximum_likelihood: Floats,
        shrunken: Floats,
    ) -> None:
        """Take the columns."""
        self.labels = labels
        self.lows = lows
        self.highs = highs
        self.unbiased = unbiased
        self.standard_errors = standard_errors
        self.maximum_likelihood = maximum_likelihood
        self.shrunken = shrunken

    @classmethod
    def unknown(cls, labels: Sequence[Label]) -> Shares:
        """Return the shares of values without any report: every share is possible."""
        nothing = np.zeros(0)
        return cls(labels, np.zeros(len(labels)), np.ones(len(labels)), nothing, nothing, nothing, nothing)

    @classmethod
    def of(cls, shares: Iterable[Share]) -> Shares:
        """Return shares as columns. A column is empty if any share lacks that figure."""
        rows = tuple(shares)

        def column(name: str) -> Floats:
            cells = [getattr(row, name) for row in rows]
            return np.array([] if None in cells else cells, dtype=float)

        return cls(
            tuple(row.value for row in rows),
            *map(column, ("low", "high", "estimate", "standard_error", "maximum_likelihood", "shrunken")),
        )

    def __eq__(self, other: object) -> bool:
        """Whether all shares are equal."""
        return isinstance(other, Shares) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # arrays can change

    def __repr__(self) -> str:
        """Name the first shares, with their intervals."""
        named = [f"{word(share.value)} {share.low:.3g} to {share.high:.3g}" for share in islice(self, SHOWN)]
        return f"Shares({', '.join(named)}{', …' if len(self) > SHOWN else ''})"

    def __len__(self) -> int:
        """The number of values."""
        return len(self.labels)

    def __iter__(self) -> Iterator[Share]:
        """Yield the share of every value."""
        nothing = [None] * len(self)
        columns = (
            list(column.tolist()) if column.size else nothing
            for column in (
                self.unbiased,
                self.standard_errors,
                self.lows,
                self.highs,
                self.maximum_likelihood,
                self.shrunken,
            )
        )
        for label, *numbers in zip(self.labels, *columns, strict=True):
            yield Share(*numbers, value=label)

    def __getitem__(self, position: int) -> Share:
        """Return the share of the value at a position."""
        at_position = slice(position, position + 1)
        return next(iter(self.part(self.labels[at_position], at_position)))

    def part(self, labels: Sequence[Label], positions: slice) -> Shares:
        """Return the shares at some positions, with their labels."""
        return Shares(
            labels,
            self.lows[positions],
            self.highs[positions],
            self.unbiased[positions],
            self.standard_errors[positions],
            self.maximum_likelihood[positions],
            self.shrunken[positions],
        )

    def of_members(self, labels: Sequence[Label], most: int) -> Shares:
        """Return how common each value is in sets with one of ``most`` places drawn."""
        drawn = self.part(labels, slice(len(labels)))
        return Shares(
            labels,
            np.minimum(most * drawn.lows, 1.0),
            np.minimum(most * drawn.highs, 1.0),
            most * drawn.unbiased,
            most * drawn.standard_errors,
            maximum_likelihood=np.zeros(0),  # that of the drawn members is not that of the sets
            shrunken=np.minimum(most * drawn.shrunken, 1.0),
        )

    @property
    def has_a_point(self) -> bool:
        """Whether any interval is a single point."""
        return bool((self.lows == self.highs).any())
