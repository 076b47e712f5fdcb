"""Shares above thresholds, and the brackets of quantiles: unbiased, in order, and held."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol import Metric, Registry, Window
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from estimator.analyses.grid import QUANTILES
from estimator.analyses.metric import analysis_of
from estimator.analyses.thresholds import SharesAbove, bracket
from estimator.decoders import hierarchical
from estimator.decoders.inversions import sampler_of
from estimator.render.text.summary import as_summary
from estimator.report.conclusions import suggested
from estimator.report.report import make_report
from estimator.results.metric import MetricEstimate
from estimator.results.report import PLAIN, Request
from estimator.statistics.arrays import Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import THRESHOLDS, Toml, metric_of, registry_text
from tests.support.laws.bands import request

TWO = THRESHOLDS | {"thresholds": Toml("[2, 4.5]")}


def estimated(metric: Metric, counts: list[list[int]], asked: Request = PLAIN) -> list[MetricEstimate]:
    window = Window.parse("2026-11-20")
    tallies = [Tally("m", metric.edition, window, closed=True, reports=sum(each), counts=each) for each in counts]
    return list(analysis_of(metric).estimates(tallies, asked))


def law_of(metric: Metric) -> Floats:
    channel = metric.channel
    return np.array([[float(channel.probability(y, x)) for y in range(channel.symbols)] for x in range(channel.inputs)])


@pytest.mark.parametrize("mechanism", ["auto", "k-ary-randomized-response", "cyclic-design"])
@pytest.mark.parametrize("shares", [[0.4, 0.3, 0.2, 0.1], [0, 0, 0, 1], [0.25, 0, 0.5, 0.25]])
def test_the_expected_estimate_is_the_share_of_the_cells_above(mechanism: str, shares: list[float]) -> None:
    metric = metric_of(THRESHOLDS, mechanism=mechanism)
    counts = np.rint(np.array(shares) @ law_of(metric) * 10**12).astype(int).tolist()
    (of_tally,) = estimated(metric, [counts])
    truths = [sum(shares[cell:]) for cell in (1, 2, 3)]
    above = of_tally.figures("share_above")
    assert above.labels == [2, 4.5, 6]
    assert above.unbiased == pytest.approx(truths, abs=1e-6)
    assert above.maximum_likelihood == pytest.approx(truths, abs=1e-4)
    for figure in of_tally.figures("quantile"):
        assert figure.estimate is not None
        assert figure.low <= figure.estimate <= figure.high


def cells_of_quantile(shares: tuple[float, ...], level: float) -> int:
    """Return the cell of the least answer that a part of the answers does not exceed."""
    return int(np.searchsorted(np.cumsum(shares), level - 1e-12))


HOSTILE = [shares for shares in product((0.0, 0.049, 0.05, 0.25, 0.5, 0.501, 0.95, 1.0), repeat=2) if sum(shares) <= 1]
"""The first two of three shares: nothing or all in a cell, thresholds at a quantile or near it."""


def every_tally(reports: int) -> list[list[int]]:
    return [[a, b, reports - a - b] for a in range(reports + 1) for b in range(reports + 1 - a)]


def least_coverage(reports: int, tell: Callable[[Floats, Floats, float], tuple[int, int]]) -> float:
    """Return how often brackets hold a quantile, at the worst: all tallies are enumerated."""
    metric = metric_of(TWO, mechanism="k-ary-randomized-response")
    tallies = every_tally(reports)
    figures = [each.figures("share_above") for each in estimated(metric, tallies)]
    told = {level: np.array([tell(each.lows, each.highs, 1 - level) for each in figures]) for level in QUANTILES}
    counts = np.array(tallies)
    ways = math.lgamma(reports + 1) - np.vectorize(math.lgamma)(counts + 1).sum(axis=1)
    least = 1.0
    for shares in ((first, second, 1 - first - second) for first, second in HOSTILE):
        chances = np.exp(ways + counts @ np.log(np.array(shares) @ law_of(metric)))
        for level, brackets in told.items():
            cell = cells_of_quantile(shares, level)
            least = min(least, float(chances[(brackets[:, 0] <= cell) & (cell < brackets[:, 1])].sum()))
    return least


@pytest.mark.long  # 5 s
@pytest.mark.parametrize("reports", [10, 49, 60, 150])
def test_every_bracket_holds_in_every_hostile_population(reports: int) -> None:
    assert least_coverage(reports, bracket) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        lambda lows, highs, rest: bracket((lows + highs) / 2, (lows + highs) / 2, rest),  # by estimates
        lambda lows, highs, rest: bracket(lows, highs, 1 - rest),  # from the wrong side
        lambda lows, highs, rest: (bracket(lows, highs, rest)[0] + 1, bracket(lows, highs, rest)[1] + 1),
        lambda lows, highs, rest: (bracket(lows, highs, rest)[0], bracket(lows, highs, rest)[1] - 1),
        lambda lows, highs, rest: bracket(highs, lows, rest),  # ends exchanged
    ],
)
def test_a_wrong_bracket_does_not_hold(wrong: Callable[[Floats, Floats, float], tuple[int, int]]) -> None:
    assert least_coverage(20, wrong) < 0.95


def test_a_threshold_that_is_not_sure_ends_the_bracket() -> None:
    lows, highs = np.array([0.4, 0.6, 0.1]), np.array([0.6, 0.8, 0.3])
    assert bracket(lows, highs, 0.5) == (0, 3)  # the second is sure, but the first is not
    assert bracket(np.array([0.6, 0.6, 0.1]), highs, 0.5) == (2, 3)
    assert bracket(lows, np.array([0.45, 0.8, 0.3]), 0.5) == (0, 3)


@pytest.mark.slow
def test_intervals_that_hold_together_fall_in_order_and_are_no_longer() -> None:
    metric = metric_of(THRESHOLDS)
    tallies = np.random.default_rng(1).multinomial(60, np.array([0.3, 0, 0, 0.7]) @ law_of(metric), 200).tolist()
    alone, together = estimated(metric, tallies), estimated(metric, tallies, Request(simultaneous=True))
    for single, of_all in zip(alone, together, strict=True):
        figures = of_all.figures("share_above")
        assert (np.diff(figures.lows) <= 0).all()
        assert (np.diff(figures.highs) <= 0).all()
        assert (figures.lows <= figures.highs).all()
        assert (figures.lows[1:] <= single.figures("share_above").highs[1:]).all()


def mean_variance(metric: Metric) -> float:
    """Return the variance of a share above, averaged over thresholds, where all cells are alike."""
    analysis = analysis_of(metric)
    assert isinstance(analysis, SharesAbove)
    squares = [analysis.inverse.expectations(analysis.inverse.contrast(above) ** 2) for above in analysis.weights]
    return float(
        np.mean([square.mean() - above.mean() ** 2 for square, above in zip(squares, analysis.weights, strict=True)])
    )


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4"])
@pytest.mark.parametrize("number", [1, 2, 3, 5, 7, 10])
def test_auto_is_better_than_one_of_the_thresholds_and_about_as_good_as_a_tree(epsilon: str, number: int) -> None:
    rising = Toml(str([round(each * 0.8, 1) for each in range(1, number + 1)]))
    variance = mean_variance(metric_of(THRESHOLDS, thresholds=rising, epsilon=Toml(epsilon)))
    cells, odds = number + 1, math.exp(float(epsilon))
    one_of_them = number * (odds / (odds - 1) ** 2 + (cells + 1) / (6 * cells))
    assert variance <= one_of_them * (1 + 1e-9)
    table = hierarchical.law(Hierarchical.within(request(epsilon), cells)).symbol_law(np.eye(cells))
    covariance = np.linalg.inv((table / table.mean(axis=0)) @ table.T) - 1 / cells**2
    above = np.triu(np.ones((cells, cells)))[1:]
    assert variance <= 1.03 * float(np.mean(np.diag(above @ covariance @ above.T)))


def test_the_suggested_thresholds_lie_around_the_median_and_bracket_it_more_closely() -> None:
    wide = metric_of(THRESHOLDS, thresholds=Toml("[2, 4.5, 6]"))
    cells = np.array([2, 2.5, 1.5, 3]) / 9 * 10_000
    generator = np.random.default_rng(3)
    (first,) = estimated(wide, [sampler_of(wide.channel)(np.rint(cells).astype(int), generator).tolist()])
    near = suggested(first)
    assert len(near) == 3
    assert 0 < near[0] < 4.5 < near[1] < near[2] <= 9
    narrow = metric_of(THRESHOLDS, thresholds=Toml(str(list(near))))
    devices = np.rint(np.diff([0, *near, 9]) / 9 * 10_000).astype(int)
    tallies = [sampler_of(narrow.channel)(devices, generator).tolist() for _ in range(100)]
    widths = [each.figures("quantile")[2].high - each.figures("quantile")[2].low for each in estimated(narrow, tallies)]
    assert np.median(widths) == pytest.approx(near[1] - near[0])
    assert suggested(estimated(wide, [[0, 0, 0, 0]])[0]) == ()


def test_a_glance_tells_the_share_above_and_the_bracket() -> None:
    registry = Registry.parse(registry_text(m=THRESHOLDS | {"unit": "s"}))
    metric = registry.metric("m")
    devices = np.array([3000, 3000, 2000, 2000])
    counts = sampler_of(metric.channel)(devices, np.random.default_rng(1)).tolist()
    window = Window.parse("2026-11-20")
    told = as_summary(
        make_report(registry, [Tally("m", metric.edition, window, closed=True, reports=10_000, counts=counts)])
    )
    assert "answer 4.5 s or more" in " ".join(told.split())
    assert "The median lies between 2 and 4.5" in " ".join(told.split())
