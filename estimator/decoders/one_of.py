"""The inverse of the mechanism one-of, for devices that answer one of m yes/no questions.

For instance, the questions are whether each of m values belongs to a set. The device draws a
question at random. The share of people who answer 'yes' to a question is estimated only from the
reports about the same question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from client_sdk.protocol.mechanisms.one_of import OneOf
from estimator.decoders.decoder import Squares
from estimator.decoders.support import Support
from estimator.statistics.arrays import Counts, Floats, Reports


@dataclass(frozen=True, slots=True)
class OneOfShares:
    """The `Inverse` for m yes/no questions. Input i is the answer 'yes' to question i.

    Attributes:
        metrics: m, the number of questions.
        support: the inverse of a single yes/no question.
    """

    metrics: int
    support: Support

    def shares(self, counts: Counts, reports: Reports) -> Floats:  # noqa: ARG002 each question has its own number
        """Return the unbiased estimate of each question's share of 'yes' answers, shape (..., m).

        A question without reports has the estimate 0.5.
        """
        yes, drawn = self._answers(counts)
        shares = self.support.shares(yes, np.maximum(drawn, 1))
        return np.where(drawn > 0, shares, 0.5)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:  # noqa: ARG002 as above
        """Return the standard error of each share, shape (..., m), above 0."""
        yes, drawn = self._answers(counts)
        return self.support.standard_errors(yes, np.maximum(drawn, 1))

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:  # noqa: ARG002 as above
        """Return the ends of the shares' intervals, each computed from one question's reports."""
        yes, drawn = self._answers(counts)
        low, high = self.support.intervals(yes, np.maximum(drawn, 1), family)
        return np.where(drawn > 0, low, 0.0), np.where(drawn > 0, high, 1.0)

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each symbol for a weighted sum of the m shares, shape (2 m,)."""
        of_no, of_yes = self._scores
        return np.outer(weights, [of_no, of_yes]).ravel()

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared score in the estimate of one question's share of 'yes'."""
        return replace(self.support.squares(inputs), metrics=self.metrics)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of any symbol, each of shape (1,)."""
        of_no, of_yes = self._scores
        return np.array([of_no]), np.array([of_yes])

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., 2 m), for given shares of 'yes'."""
        yes = float(self.support.other) + float(self.support.own - self.support.other) * shares
        law: Floats = np.stack([1 - yes, yes], axis=-1).reshape(*shares.shape[:-1], -1) / self.metrics
        return law

    def expectations(self, scores: Floats) -> Floats:
        """Return the expected score of a report from a device with only one 'yes', shape (..., m).

        There is one result for each of the m questions to which this 'yes' can belong.
        """
        expected: Floats = scores @ self.symbol_law(np.eye(self.metrics)).T
        return expected

    @property
    def _scores(self) -> tuple[float, float]:
        """The scores of a reported 'no' and a reported 'yes' in the estimate of the share of 'yes'.

        Only one in m reports is about a given question, so the scores for a single question are
        multiplied by m.
        """
        support = self.support
        return float(self.metrics * support.intercept), float(self.metrics * (support.slope + support.intercept))

    def _answers(self, counts: Counts) -> tuple[Counts, Counts]:
        answers = counts.reshape(*counts.shape[:-1], self.metrics, 2)
        return answers[..., 1], answers.sum(axis=-1)


def inverse(channel: OneOf) -> OneOfShares:
    """Return the inverse of a channel with the mechanism one-of."""
    keep = channel.worst_ratio / (channel.worst_ratio + 1)
    return OneOfShares(channel.inputs, Support(own=keep, other=1 - keep))
