"""Named wrong estimators: every check must accept the right one and refuse each of these."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from estimator.inverse.support import Floats, Support
from estimator.tallies import Counts
from tests.support.estimator_checks import Interval, Likelihood


@dataclass(frozen=True, slots=True)
class ForgottenDivision(Support):
    @property
    def slope(self) -> Fraction:
        return Fraction(1)


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
    centre = (frequency + z * z / (2 * reports)) / (1 + z * z / reports)
    half = z * math.sqrt(frequency * (1 - frequency) / reports + (z / (2 * reports)) ** 2) / (1 + z * z / reports)
    return max(0.0, centre - half), min(1.0, centre + half)


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
