"""A number that was estimated, and many of them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from client_sdk.protocol import Label
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number that was estimated; without any report only the interval is known, and it is everything.

    Attributes:
        unbiased: right on average over the chance; may lie outside what is possible, because clipping would bias it.
        standard_error: of the unbiased estimate; above 0.
        low: the lower end of the confidence interval, within what is possible.
        high: its upper end, not below ``low``.
        likeliest: the maximum-likelihood estimate, always possible, biased near the ends; or none.
        shrunken: the estimate of the least expected squared error, biased towards what is usual; or none.

    """

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float
    likeliest: float | None
    shrunken: float | None = None

    def times(self, factor: float) -> Estimate:
        """Return the same estimate in another unit."""
        numbers = (self.unbiased, self.standard_error, self.low, self.high, self.likeliest)
        return Estimate(*(None if number is None else factor * number for number in numbers))  # type: ignore[arg-type]

    def between(self, least: float, greatest: float) -> Estimate:
        """Return the same estimate on a scale where share 0 is ``least`` and share 1 is ``greatest``."""
        width = greatest - least

        def possible(share: float) -> float:
            return min(greatest, max(least, least + width * share))  # rounding could leave the scale by a bit

        return Estimate(
            unbiased=None if self.unbiased is None else least + width * self.unbiased,
            standard_error=None if self.standard_error is None else width * self.standard_error,
            low=possible(self.low),
            high=possible(self.high),
            likeliest=None if self.likeliest is None else possible(self.likeliest),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The shares of many values; an `Estimate` of one is made when it is asked for, because there may be a million.

    Attributes:
        labels: the values.
        lows: the lower ends of the intervals, shape (len(labels),).
        highs: the upper ends.
        unbiased: the unbiased estimates; without any report empty, as are all below.
        standard_errors: theirs.
        likeliest: the maximum-likelihood estimates.
        shrunken: those of the least expected squared error; empty, too, where there are few values.

    """

    labels: Sequence[Label]
    lows: Floats
    highs: Floats
    unbiased: Floats
    standard_errors: Floats
    likeliest: Floats
    shrunken: Floats

    @classmethod
    def unknown(cls, labels: Sequence[Label]) -> Shares:
        """Return what is known of values without any report."""
        nothing = np.zeros(0)
        return cls(labels, np.zeros(len(labels)), np.ones(len(labels)), nothing, nothing, nothing, nothing)

    def __len__(self) -> int:
        """How many values there are."""
        return len(self.labels)

    def __iter__(self) -> Iterator[tuple[Label, Estimate]]:
        """Yield every value with its share."""
        nothing = [None] * len(self)
        columns = (
            list(column.tolist()) if column.size else nothing
            for column in (self.unbiased, self.standard_errors, self.lows, self.highs, self.likeliest, self.shrunken)
        )
        for label, *numbers in zip(self.labels, *columns, strict=True):
            yield label, Estimate(*numbers)

    def __getitem__(self, position: int) -> tuple[Label, Estimate]:
        """Return the value at a position with its share."""
        one = slice(position, position + 1)
        return next(iter(self.part(self.labels[one], one)))

    def part(self, labels: Sequence[Label], positions: slice) -> Shares:
        """Return the shares of some values."""
        return Shares(
            labels,
            self.lows[positions],
            self.highs[positions],
            self.unbiased[positions],
            self.standard_errors[positions],
            self.likeliest[positions],
            self.shrunken[positions],
        )

    def of_members(self, labels: Sequence[Label], most: int) -> Shares:
        """Return how common it is to have each of the values, where one of ``most`` places was drawn at random."""
        drawn = self.part(labels, slice(len(labels)))
        return Shares(
            labels,
            np.minimum(most * drawn.lows, 1.0),
            np.minimum(most * drawn.highs, 1.0),
            most * drawn.unbiased,
            most * drawn.standard_errors,
            likeliest=np.zeros(0),  # of what was drawn it would not be that of the sets
            shrunken=np.minimum(most * drawn.shrunken, 1.0),
        )

    @property
    def has_a_point(self) -> bool:
        """Whether an interval holds one value only."""
        return bool((self.lows == self.highs).any())
