"""A crowd for a rehearsal: how many devices give each answer, and what is therefore true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client_sdk.protocol import Label, Metric, Number, Ordinal, Subset
from estimator.inverse.decoders import decoder_of
from estimator.rehearsal.true_answers import Answer, Value, as_float, parts
from estimator.statistics.arrays import Counts, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """What is true for one metric.

    Attributes:
        metric: the question.
        answers: the different answers.
        shares: how common each is in the population, of sum 1; shape (len(answers),).
        devices: how many devices record.
        at_hand: how many of them give each answer where that is known; otherwise they are drawn by ``shares``.

    """

    metric: Metric
    answers: tuple[Answer, ...]
    shares: Floats
    devices: int
    at_hand: Counts | None = None

    @classmethod
    def counted(cls, metric: Metric, counts: dict[Answer, int]) -> Crowd:
        """Return the crowd of devices that were counted by their answer."""
        at_hand = np.array(list(counts.values()), dtype=np.int64)
        devices = int(at_hand.sum())
        return cls(metric, tuple(counts), at_hand / max(devices, 1), devices, at_hand)

    def draw(self, generator: np.random.Generator) -> Counts:
        """Return how many devices give each answer if they are sampled from the population at random."""
        return generator.multinomial(self.devices, self.shares) if self.answers else np.zeros(0, dtype=np.int64)

    def inputs(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Return how many devices give the channel each input symbol, each drawn by its own coin; shape (k,)."""
        inputs = np.zeros(self.metric.channel.inputs, dtype=np.int64)
        longest = max((len(answer.law) for answer in self.answers), default=0)
        # numpy gives the last symbol what the others leave, rounding included: that must be one of the answer's own
        padded = [((0, 0.0),) * (longest - len(answer.law)) + answer.law for answer in self.answers]
        if padded:
            symbols, chances = np.moveaxis(np.array(padded, dtype=np.float64), -1, 0)
            np.add.at(inputs, symbols.astype(np.int64), generator.multinomial(counts, chances))
        return inputs

    def truths(self, weights: Floats | Counts) -> tuple[float, ...]:
        """Return what is true of answers with such weights: the share of each label of the domain, then the mean.

        Each where the domain's channel tells of it; of a set the share of devices that have a member, and the mean
        size.
        """
        total = math.fsum(weights.tolist())
        pairs = [(answer.value, weight / total) for answer, weight in zip(self.answers, weights.tolist(), strict=True)]
        domain = self.metric.domain
        if isinstance(domain, Number):
            mean = math.fsum(as_float(value) * share for value, share in pairs)
            labels = domain.labels if decoder_of(self.metric.channel) is None else ()
            return (*_shares(labels, pairs), mean)
        if isinstance(domain, Subset):
            members = [(member, share) for value, share in pairs for member in parts(value)]
            return (*_shares(domain.labels, members), math.fsum(share for _, share in members))
        shares = _shares(domain.labels, pairs)
        if isinstance(domain, Ordinal):
            return (*shares, math.fsum(position * share for position, share in enumerate(shares, start=1)))
        return shares

    def distribution(
        self, weights: Floats | Counts, bins: Sequence[tuple[float, float]], probabilities: Sequence[float]
    ) -> tuple[float, ...]:
        """Return what is true of the distribution of numbers with such weights.

        Returns:
            The variance; for each probability the least answer that so many devices do not exceed; the share of each
            bin, in which its lower end lies, and in the last one the upper one, too.

        """
        values = np.array([as_float(answer.value) for answer in self.answers])
        total = math.fsum(weights.tolist())
        (mean,) = self.truths(weights)
        variance = math.fsum((weights * (values - mean) ** 2).tolist()) / total
        rising = np.argsort(values)
        reached = np.searchsorted(np.cumsum(weights[rising]), np.array(probabilities) * total)
        quantiles = values[rising[np.minimum(reached, values.size - 1)]]
        lows = np.array([low for low, _ in bins])
        in_bins = np.bincount(np.searchsorted(lows, values, side="right") - 1, weights, lows.size)
        return variance, *quantiles.tolist(), *(in_bins / total).tolist()


def _shares(labels: Sequence[Label], pairs: Sequence[tuple[Value, float]]) -> tuple[float, ...]:
    by_label: dict[Value, float] = {}
    for value, share in pairs:
        by_label[value] = by_label.get(value, 0.0) + share
    return tuple(by_label.get(label, 0.0) for label in labels)
