"""Named wrong estimators: every check must accept the right one and refuse each of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from client_sdk.protocol import Label
from client_sdk.protocol.kinds.cross import Cross
from estimator.analyses.pairs import joint_of
from estimator.analyses.ratios import Sample
from estimator.decoders.decoder import Inverse
from estimator.decoders.support import Support
from estimator.results.estimate import Figures
from estimator.statistics.arrays import Counts, Floats, nearest_shares
from estimator.statistics.confidence import chi_square_tail
from tests.support.estimates.checks import Interval, Likelihood
from tests.support.estimates.moments import Contrast, Covariance, Limits

Independence = Callable[[Cross, Inverse, Counts], float]
"""The p-value of a test of whether two questions are independent."""

OfMembers = Callable[[Figures, Sequence[Label], int], Figures]
"""Turns the shares of drawn members into the share of sets with each value."""


@dataclass(frozen=True, slots=True)
class ForgottenDivision(Support):
    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", Fraction(1))
        object.__setattr__(self, "intercept", -self.other)


def _keep_off_by_one_percent(right: Support, inputs: int) -> Support:
    own = right.own * Fraction(99, 100)
    return Support(own=own, other=(1 - own) / (inputs - 1))


SUPPORTS: dict[str, Callable[[Support, int], Support]] = {
    "forgotten division by p - q": lambda right, _: ForgottenDivision(right.own, right.other),
    "p and q swapped": lambda right, _: Support(own=right.other, other=right.own),
    "k lies instead of k - 1": lambda right, inputs: Support(own=right.own, other=(1 - right.own) / inputs),
    "keep-probability one percent off": _keep_off_by_one_percent,
    "lie counted as no support": lambda right, _: Support(own=right.own, other=Fraction(0)),
}


def _wilson(count: int, reports: int, z: float) -> tuple[float, float]:
    frequency = count / reports
    center = (frequency + z * z / (2 * reports)) / (1 + z * z / reports)
    half = z * math.sqrt(frequency * (1 - frequency) / reports + (z / (2 * reports)) ** 2) / (1 + z * z / reports)
    return max(0.0, center - half), min(1.0, center + half)


def _wald(count: int, reports: int) -> tuple[float, float]:
    frequency = count / reports
    half = 1.96 * math.sqrt(frequency * (1 - frequency) / reports)
    return frequency - half, frequency + half


INTERVALS: dict[str, Interval] = {
    "half the width": lambda count, reports: _wilson(count, reports, 0.98),
    "one-sided quantile on both sides": lambda count, reports: _wilson(count, reports, 1.645),
    "score interval where few are expected": lambda count, reports: _wilson(count, reports, 1.96),
    "estimate and twice its standard error": _wald,
}


def _clipped(support: Support, counts: Counts) -> Floats:
    return np.clip(support.shares(counts, int(counts.sum())), 0.0, 1.0)


def _clipped_and_rescaled(support: Support, counts: Counts) -> Floats:
    clipped = _clipped(support, counts)
    shares: Floats = clipped / clipped.sum()
    return shares


LIKELIHOODS: dict[str, Likelihood] = {
    "clipped": _clipped,
    "clipped and rescaled": _clipped_and_rescaled,
    "frequencies of symbols": lambda _, counts: counts / counts.sum(),
}


def _without_means(inverse: Inverse, counts: Counts, reports: int) -> Floats:
    shares = nearest_shares(inverse.shares(counts, reports))
    added = np.array([inverse.contrast(unit) for unit in np.eye(shares.size)])
    covariance: Floats = (added * inverse.symbol_law(shares)) @ added.T / reports
    return covariance


def _multinomial(inverse: Inverse, counts: Counts, reports: int) -> Floats:
    shares = nearest_shares(inverse.shares(counts, reports))
    covariance: Floats = (np.diag(shares) - np.outer(shares, shares)) / reports
    return covariance


COVARIANCES: dict[str, Covariance] = {
    "means not taken away": _without_means,
    "that of answers without noise": _multinomial,
    "of reports without n": lambda inverse, counts, reports: (
        Sample.from_counts(inverse, counts).covariance(inverse) * reports
    ),
}

CONTRASTS: dict[str, Contrast] = {
    "weights shifted by one": lambda inverse, weights: inverse.contrast(np.roll(weights, 1)),
    "weights backwards": lambda inverse, weights: inverse.contrast(weights[::-1]),
    "what inputs expect of the weights": lambda inverse, weights: inverse.symbol_law(weights),
}

LIMITS: dict[str, Limits] = {
    "sign of the covariance flipped": lambda table, *place: replace(table, of_both=-table.of_both).limits(*place),
    "total taken for certain": lambda table, *place: replace(
        table, of_both=0 * table.of_both, of_sums=0 * table.of_sums
    ).limits(*place),
    "shares taken for independent": lambda table, *place: replace(table, of_both=0 * table.of_both).limits(*place),
}


def _wald_of_answers(cross: Cross, inverse: Inverse, counts: Counts) -> float:
    reports = int(counts.sum())
    shares = inverse.shares(counts, reports)
    test = joint_of(
        cross, shares, _multinomial(inverse, counts, reports), Sample.from_counts(inverse, counts)
    ).independence
    assert test is not None
    return test.p_value


def _pearson(cross: Cross, inverse: Inverse, counts: Counts) -> float:
    reports = int(counts.sum())
    table = inverse.shares(counts, reports).reshape(cross.first.size, cross.second.size)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    statistic = reports * float(((table - expected) ** 2 / expected).sum())
    return float(chi_square_tail(statistic, math.prod(np.array(table.shape) - 1)))


INDEPENDENCES: dict[str, Independence] = {
    "Wald with the covariance of answers": _wald_of_answers,
    "Pearson on debiased counts": _pearson,
}


def _with_highs(shares: Figures, highs: Floats) -> Figures:
    shares.highs = highs
    return shares


SETS: dict[str, OfMembers] = {
    "forgotten max_items": lambda drawn, labels, _: drawn.of_members(labels, 1),
    "the dummy a member": lambda drawn, labels, most: drawn.of_members([*labels[1:], labels[0]], most),
    "intervals beyond what is possible": lambda drawn, labels, most: _with_highs(
        drawn.of_members(labels, most), most * drawn.highs[: len(labels)]
    ),
}
