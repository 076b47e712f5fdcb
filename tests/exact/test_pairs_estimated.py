"""Estimates from blocks around two members, against the exact law of a population."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from client_sdk.protocol import Metric, WindowKind
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.pair_geometry import PairBlocks, PairGeometry
from client_sdk.protocol.window import Window
from estimator.analyses.answers import MembersInPairs
from estimator.analyses.metric import analysis_of
from estimator.analyses.poisoning import range_test
from estimator.analyses.ratios import Sample
from estimator.decoders.pair_geometry import inverse, sampler
from tests.support.laws.bands import request

REPORTS = 2**40
"""So many reports that a tally is its law, up to rounding."""

VALUES = tuple("abcdefgh")
TOGETHER = {("a", "b"): Fraction(1, 2), ("c",): Fraction(1, 8), (): Fraction(1, 4), ("a", "d"): Fraction(1, 8)}


def metric_of(most: int, epsilon: str = "1") -> Metric:
    kind = Subset(VALUES, most)
    return Metric("m", "?", kind, channel_for(kind, request(epsilon), "pair-geometry"), WindowKind.DAY)


def law_of(metric: Metric) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    channel, total = metric.channel, [Fraction(0)] * metric.channel.symbols
    for answer, share in TOGETHER.items():
        (padded,) = metric.kind.law(answer, channel.inputs)
        for symbol in range(channel.symbols):
            total[symbol] += share * channel.probability(symbol, padded)
    return np.array([float(chance) for chance in total])


@pytest.mark.parametrize("most", [2, 3, 4])
def test_shares_size_and_their_errors_are_those_of_the_law(most: int) -> None:
    metric = metric_of(most)
    analysis, law = analysis_of(metric), law_of(metric)
    assert isinstance(analysis, MembersInPairs)
    counts = np.rint(law * REPORTS).astype(np.int64)
    (groups,) = analysis.figures(counts[np.newaxis], np.array([[counts.sum()]]))
    shares, size = (group.figures for group in groups)
    truths = [float(sum(share for answer, share in TOGETHER.items() if value in answer)) for value in VALUES]
    assert np.round(shares.unbiased, 6).tolist() == truths
    assert np.round(size.unbiased, 6).tolist() == [sum(truths)]
    sample = Sample.from_counts(analysis.inverse, counts)
    scores = sample.scores
    exact = (scores * law) @ scores.T - np.outer(scores @ law, scores @ law)
    covariance = analysis.covariance(sample, shares) * counts.sum()
    assert np.abs(covariance - exact).max() < np.abs(exact).max() * 2**-20
    errors = most * np.sqrt(np.diag(exact)[: len(VALUES)] / counts.sum())
    assert np.round(shares.standard_errors / errors, 6).tolist() == [1] * len(VALUES)


@pytest.mark.parametrize("most", [2, 3, 4])
def test_the_size_has_at_least_the_floor_and_at_most_the_planned_variance(most: int) -> None:
    """Over every set, the score's variance is between the bounds that intervals and plans use."""
    metric = metric_of(most)
    analysis = analysis_of(metric)
    assert isinstance(analysis, MembersInPairs)
    contrast, channel = analysis.contrast_by(analysis.inverse), metric.channel
    assert isinstance(channel, PairGeometry)
    contains = np.array(
        [[channel.contains(symbol, each) for each in range(channel.inputs)] for symbol in range(channel.symbols)]
    )
    of_inside: dict[int, float] = {}  # a block's probability depends on how many elements are in it
    for answer in (each for size in range(most + 1) for each in combinations(VALUES, size)):
        (padded,) = metric.kind.law(answer, channel.inputs)
        inside = contains[:, list(padded)].sum(axis=1).tolist()
        for symbol, number in enumerate(inside):
            if number not in of_inside:
                of_inside[number] = float(channel.probability(symbol, padded))
        law = np.array([of_inside[number] for number in inside])
        mean = float(law @ contrast.scores)
        assert round(mean * most, 9) == len(answer)
        variance = float(law @ (contrast.scores - mean) ** 2)
        kurtosis = float(law @ (contrast.scores - mean) ** 4) / variance**2
        assert contrast.floor <= variance <= analysis.mean_variance
        assert 30 * kurtosis <= contrast.enough


def test_a_rehearsal_draws_tallies_from_the_law_of_the_sets() -> None:
    """Pearson's statistic of a seeded tally is within five standard deviations of its mean."""
    metric = metric_of(3)
    analysis, devices = analysis_of(metric), 8 * 10**5
    answers = list(TOGETHER)
    laws = [tuple((pair, float(chance)) for pair, chance in analysis.law(answer).items()) for answer in answers]
    counts = np.array([int(TOGETHER[answer] * devices) for answer in answers])
    tally = analysis.draws(laws)(counts, Window.parse("2026-01-01"), np.random.default_rng(1))
    assert tally.sum() == devices
    expected = law_of(metric) * devices
    free = metric.channel.symbols - 1
    assert abs(float(((tally - expected) ** 2 / expected).sum()) - free) < 5 * np.sqrt(2 * free)


def test_fabricated_reports_of_one_block_are_noticed_and_true_reports_are_not() -> None:
    channel = PairGeometry.within(request("1"), 9, PairBlocks(3, 4, 2))
    pairs = np.zeros(81, dtype=np.int64)
    pairs[1] = 5000
    tally = sampler(channel)(pairs, np.random.default_rng(1))
    assert not range_test(channel, tally).impossible
    block = next(symbol for symbol in range(channel.symbols) if channel.contains(symbol, 5))
    tally[block] += 20_000
    test = range_test(channel, tally)
    assert test.impossible
    assert test.p_value < 1e-3
    assert not range_test(channel, np.eye(channel.symbols, dtype=np.int64)[0]).impossible


def test_shares_do_not_pretend_to_determine_the_law_of_blocks() -> None:
    pairs = inverse(PairGeometry.within(request("1"), 9, PairBlocks(3, 4, 2)))
    for operator in (pairs.symbol_law, pairs.expectations):
        with pytest.raises(TypeError, match="law of blocks"):
            operator(np.full(9, 1 / 9))
