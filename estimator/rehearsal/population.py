"""The crowd of a rehearsal: how many devices give each answer, and what is therefore true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.metric import Metric
from estimator.analyses.analysis import Draws
from estimator.analyses.metric import analysis_of
from estimator.rehearsal.true_answers import TrueAnswer, Value, as_float, parts
from estimator.rehearsal.weighted_numbers import WeightedNumbers
from estimator.statistics.arrays import Counts, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """The devices that answer one metric.

    Attributes:
        metric: the question.
        answers: the different answers.
        shares: the share of each answer in the population, shape (len(answers),). Their sum is 1.
        devices: how many devices record.
        at_hand: how many of them give each answer, shape (len(answers),). None where they are drawn
            by ``shares``.

    """

    metric: Metric
    answers: tuple[TrueAnswer, ...]
    shares: Floats
    devices: int
    at_hand: Counts | None = None

    @classmethod
    def counted(cls, metric: Metric, counts: dict[TrueAnswer, int]) -> Crowd:
        """Return a crowd whose devices were counted by their answer."""
        at_hand = np.array(list(counts.values()), dtype=np.int64)
        devices = int(at_hand.sum())
        return cls(metric, tuple(counts), at_hand / max(devices, 1), devices, at_hand)

    def draw(self, generator: np.random.Generator) -> Counts:
        """Return how many devices give each answer when they are sampled from the population."""
        return generator.multinomial(self.devices, self.shares) if self.answers else np.zeros(0, dtype=np.int64)

    def draws(self) -> Draws:
        """Return a function that draws tallies of devices that give each answer, as they would."""
        return analysis_of(self.metric).draws([answer.law for answer in self.answers])

    def coordinates(self, weights: Floats | Counts) -> Floats:
        """Return the mean of each coordinate of the unclipped vectors, even beyond the norm.

        Args:
            weights: of the answers, shape (len(answers),).

        """
        vectors = np.array([answer.value for answer in self.answers], dtype=np.float64)
        mean: Floats = weights @ vectors / weights.sum()
        return mean

    def shares_of(self, weights: Floats | Counts) -> dict[Value, float]:
        """Return the share of the devices that have each value that occurs.

        Of sets and texts it is that of each member, of a number by group that of each group.

        Args:
            weights: of the answers, shape (len(answers),).

        """
        total, shares, counted = math.fsum(weights.tolist()), dict[Value, float](), analysis_of(self.metric).counted
        for answer, weight in zip(self.answers, weights.tolist(), strict=True):
            for value in counted(answer.value):
                shares[value] = shares.get(value, 0.0) + weight / total
        return shares

    def mean(self, weights: Floats | Counts) -> float:
        """Return the mean of numbers, of positions on a scale from 1, or of the sizes of sets."""
        total, worth = math.fsum(weights.tolist()), analysis_of(self.metric).worth
        pairs = zip(self.answers, weights.tolist(), strict=True)
        return math.fsum(worth(answer.value) * (weight / total) for answer, weight in pairs)

    def group_means(self, weights: Floats | Counts, groups: Sequence[Label]) -> list[float]:
        """Return the mean of each group's numbers; NaN for a group without any device.

        Args:
            weights: of the answers, which are pairs of group and number, shape (len(answers),).
            groups: in the order wanted.

        """
        of_groups: dict[Value, list[tuple[Value, float]]] = {}
        for answer, weight in zip(self.answers, weights.tolist(), strict=True):
            group, number = parts(answer.value)
            of_groups.setdefault(group, []).append((number, weight))
        return [_mean(of_groups.get(label, ())) for label in groups]

    def numbers(self, weights: Floats | Counts) -> WeightedNumbers:
        """Return the answers, which are numbers, with their weights of shape (len(answers),)."""
        return WeightedNumbers.of([as_float(answer.value) for answer in self.answers], weights)


def _mean(numbers: Sequence[tuple[Value, float]]) -> float:
    total = math.fsum(weight for _, weight in numbers)
    return math.fsum(as_float(number) * weight for number, weight in numbers) / total if total else math.nan
