"""A comparison of two ways to ask for a number by group: ``python -m benchmarks.mean_by_group``.

* A device reports the group and the rounded number together, as one value of a category.
* A device splits epsilon between a report of the group and a report of the number.

The figures are n times the variance of a group's mean, for n reports and a range of length 1, to
first order. All groups have the same size. The noise variance is the largest of eleven cases. In
each case, everyone in the group gives the same answer. The total variance includes the random
choice of people, if half of the group answers at each end of the range.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

import click
import numpy as np

from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import MAX_CELLS, Crossed, MeanByGroup
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.statistics.arrays import Floats

RANGE: Final = Number(Fraction(0), Fraction(1), "mean")
POINTS: Final = (2, 3, 5, 9)
GROUPS: Final = (2, 4, 8, 32)
EPSILONS: Final = ("0.5", "1", "2", "3", "4", "5", "6", "8")
PARTS: Final = tuple(f"{part / 20:.2f}" for part in range(2, 19))
"""The fractions of epsilon to try for the report of the group, if epsilon is split."""

ANSWERS: Final = np.linspace(0.0, 1.0, 11)


class Variances(NamedTuple):
    """The variance from noise alone, and the total variance."""

    noise: float
    total: float


def epsilon(text: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(Decimal(text))


def groups_of(number: int) -> Crossed:
    return Boolean() if number == 2 else Category(tuple(f"v{place}" for place in range(number)))


def of_pairs(groups: int, points: int, text: str) -> Variances:
    """Return the variances of the group and rounded number as one category."""
    domain = MeanByGroup(groups_of(groups), RANGE, points=points)
    inverse = inverse_of(channel_for(domain, epsilon(text)))
    places = np.linspace(0.0, 1.0, points)
    variances = []
    for answer in ANSWERS:
        contrast = np.concatenate([places - answer, np.zeros((groups - 1) * points)])
        squares = inverse.expectations(inverse.contrast(contrast) ** 2)
        same = np.interp(answer, places, squares[:points])
        ends = np.interp(answer, [0.0, 1.0], squares[[0, points - 1]])
        variances.append([_ratio(own, squares[points:].mean(), groups) for own in (same, ends)])
    return Variances(*np.max(variances, axis=0).tolist())


def of_split(groups: int, text: str) -> tuple[Variances, str]:
    """Return the variances for the best split of epsilon, and the group's fraction of epsilon."""
    splits = [(_split(groups, Decimal(text), Decimal(part)), part) for part in PARTS]
    return min(splits)


def _split(groups: int, total: Decimal, part: Decimal) -> Variances:
    of_group = inverse_of(channel_for(groups_of(groups), RequestedEpsilon.parse(total * part)))
    number = channel_for(RANGE, RequestedEpsilon.parse(total * (1 - part)))
    decoder = decoder_of(number)
    assert decoder is not None
    squares = of_group.expectations(of_group.contrast(np.eye(groups)[0]) ** 2)
    points = np.linspace(0.0, 1.0, decoder.squares.size)
    variances = []
    for answer in ANSWERS:
        scattered = decoder.squares - 2 * answer * points + answer**2
        same = np.interp(answer, points, scattered)
        ends = np.interp(answer, [0.0, 1.0], scattered[[0, -1]])
        variances.append([_ratio(squares[0] * scale, squares[1:].mean() * scale, groups) for scale in (same, ends)])
    return Variances(*np.max(variances, axis=0).tolist())


def _ratio(own: Floats | float, other: Floats | float, groups: int) -> float:
    """Return n times the variance of the ratio that estimates a group's mean.

    The arguments are the mean squared residuals of reports from inside and outside the group.
    """
    return float(own + (groups - 1) * other) * groups


def row(groups: int, text: str) -> list[str]:
    """Return the row for a number of groups and an epsilon. Each cell contains noise / total."""
    pairs = [of_pairs(groups, points, text) if groups * points <= MAX_CELLS else None for points in POINTS]
    split, part = of_split(groups, text)
    taken = MeanByGroup(groups_of(groups), RANGE).rounded_for(epsilon(text).odds).points
    words = [" " if each is None else f"{each.noise:.3g} / {each.total:.3g}" for each in pairs]
    return [f"{groups}, {text}", *words, f"{split.noise:.3g} / {split.total:.3g}, {part}", str(taken)]


def main() -> None:
    heading = ["groups, epsilon", *(f"{points} points" for points in POINTS), "split, part", "taken"]
    rows = [row(groups, text) for groups in GROUPS for text in EPSILONS]
    for line in (heading, ["---"] * len(heading), *rows):
        click.echo(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
