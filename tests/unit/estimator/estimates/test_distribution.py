"""The distribution from a tally of square wave: how near it comes, how sure it is, and what it says of nothing."""

from __future__ import annotations

import json
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from client_sdk.protocol import Number, Registry, Window
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.estimates.distribution import QUANTILES, distribution_of
from estimator.estimates.metric import estimate, estimates
from estimator.inverse import band
from estimator.likelihood.bootstrap import RESAMPLES, SEED, drawn_anew
from estimator.likelihood.expectation_maximisation import is_moving, shares_of, stepped
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import fits_of
from estimator.render import FORMATS
from estimator.report.report import make_report
from estimator.results.request import Request
from estimator.statistics.arrays import Floats
from estimator.tallies.tally import Tally
from tests.support.devices.definitions import NUMBER, registry_text

REPORTS = 100_000
BINS = 256
PROMISED = {"0.5": 0.010, "1": 0.007, "2": 0.003, "4": 0.0015}
"""Epsilon, and the mean distance to the truth (Wasserstein-1) over 20 tallies."""


def wave(epsilon: str) -> SquareWave:
    return SquareWave.within(RequestedEpsilon.parse(Decimal(epsilon)))


def histogram(channel: SquareWave, low: int = 0, high: int = 1) -> Histogram:
    return Histogram.of(channel, Number(Fraction(low), Fraction(high), "distribution"))


def below(value: Floats) -> Floats:
    """Return the share of Beta(2, 5) that is below a value: at least two of six uniform numbers are."""
    found: Floats = sum(
        (math.comb(6, j) * value**j * (1 - value) ** (6 - j) for j in range(2, 7)), np.zeros(value.shape)
    )
    return found


TRUTH = below(np.linspace(0, 1, BINS + 1))


def law_of_beta(channel: SquareWave) -> Floats:
    """Return the law of symbols where answers are Beta(2, 5): a value between two points is rounded to either."""
    fine = 64
    masses = np.diff(below(np.linspace(0, 1, BINS * fine + 1))).reshape(BINS, fine)
    upwards = (np.arange(fine) + 0.5) / fine
    points = np.zeros(BINS + 1)
    points[:-1] += masses @ (1 - upwards)
    points[1:] += masses @ upwards
    law: Floats = band.symbol_law(channel, points)
    law /= law.sum()
    return law


def distance(shares: Floats) -> float:
    return float(np.abs(np.cumsum(shares) - TRUTH[1:]).sum() / BINS)


@pytest.mark.parametrize("epsilon", PROMISED)
def test_a_distribution_is_as_near_to_the_truth_as_promised(epsilon: str) -> None:
    channel = wave(epsilon)
    tallies = np.random.default_rng(1).multinomial(REPORTS, law_of_beta(channel), size=20)
    found = [distance(shares_of(histogram(channel), counts / REPORTS, smooth=True)) for counts in tallies]
    assert sum(found) / len(found) <= PROMISED[epsilon]


def test_several_tallies_are_estimated_together_as_one_by_one() -> None:
    channel = wave("2")
    tallies = np.random.default_rng(2).multinomial(REPORTS, law_of_beta(channel), size=3) / REPORTS
    together = shares_of(histogram(channel), tallies, smooth=True)
    for row, frequencies in zip(together, tallies, strict=True):
        alone = shares_of(histogram(channel), frequencies, smooth=True)
        between = float(np.abs(np.cumsum(row - alone)).sum() / BINS)
        assert between < distance(alone) / 100  # where steps stop does not matter beside the noise


def test_without_noise_the_likeliest_shares_fit_the_tally_at_least_as_well_as_the_smoothed_ones() -> None:
    channel = wave("1")
    frequencies = np.random.default_rng(3).multinomial(REPORTS, law_of_beta(channel)) / REPORTS
    fits = [
        float(
            frequencies
            @ np.log(histogram(channel).symbol_law(shares_of(histogram(channel), frequencies, smooth=smooth)))
        )
        for smooth in (True, False)
    ]
    assert fits[0] <= fits[1]


def test_the_law_of_bins_and_its_adjoint_are_those_of_the_channel() -> None:
    channel = SquareWave.within(RequestedEpsilon.parse(Decimal(1)), points=9)
    rows = np.array([[float(channel.probability(y, given=x)) for y in range(channel.symbols)] for x in range(9)])
    of_bins = (rows[:-1] + rows[1:]) / 2
    shares: Floats = np.arange(1, 9) / 36
    values: Floats = np.arange(channel.symbols, dtype=np.float64) ** 2
    assert np.allclose(histogram(channel).symbol_law(shares), shares @ of_bins, rtol=1e-12, atol=0)
    assert np.allclose(histogram(channel).expectations(values), of_bins @ values, rtol=1e-12, atol=0)
    assert np.allclose(band.symbol_law(channel, np.eye(9)), rows, rtol=1e-12, atol=0)


def test_shares_have_sum_1_and_none_is_negative() -> None:
    channel = wave("0.5")
    for counts in (np.eye(1, channel.symbols)[0], np.eye(channel.symbols)[-1], np.ones(channel.symbols)):
        for smooth in (True, False):
            shares = shares_of(histogram(channel), counts / counts.sum(), smooth=smooth)
            assert shares.min() >= 0
            assert shares.sum() == pytest.approx(1, rel=1e-9)


def test_figures_of_a_histogram_are_those_of_answers_spread_over_its_bins() -> None:
    bins, even = histogram(SquareWave.within(RequestedEpsilon.parse(1), points=5), 10, 20), np.full(4, 1 / 4)
    assert bins.mean(even) == pytest.approx(15)
    assert bins.variance(even) == pytest.approx(100 / 12)
    assert bins.quantiles(even, QUANTILES) == pytest.approx([10 + 10 * q for q in QUANTILES])
    lone = bins.variance(np.array([0.0, 1, 0, 0]))
    assert lone == pytest.approx(2.5**2 / 12)


def test_intervals_by_resampling_hold_the_truth_about_as_often_as_they_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    channel = wave("4")
    bins = histogram(channel)
    tallies = np.random.default_rng(5).multinomial(REPORTS, law_of_beta(channel), size=12)
    truths = [float(bins.variance(np.diff(TRUTH))), *bins.quantiles(np.diff(TRUTH), QUANTILES).tolist()]
    holds, bins_hold = [], []
    for fit in fits_of(bins, tallies):
        found = distribution_of(bins, fit)
        figures = [found.variance, *(one for one in found.quantiles)]
        holds += [one.low <= truth <= one.high for one, truth in zip(figures, truths, strict=True)]
        bins_hold += [one.low <= truth <= one.high for one, truth in zip(found.bins, np.diff(TRUTH), strict=True)]
    measured = {"figures": float(np.mean(holds)), "bins": float(np.mean(bins_hold))}
    with capsys.disabled():
        sys.stdout.write(f"\ncoverage of 95 % intervals by resampling at epsilon 4: {measured}\n")
    assert min(measured.values()) >= 0.9


METRIC = registry_text(m=NUMBER | {"statistic": "distribution", "epsilon": 4, "low": 100, "high": 5100})


def tally_of(counts: list[int]) -> Tally:
    metric = Registry.parse(METRIC).metric("m")
    return Tally(
        "m", metric.edition, Window.parse("2026-11-20"), closed=True, reports=sum(counts), counts=tuple(counts)
    )


def test_a_report_has_bins_quantiles_variance_and_mean_labelled_as_resampled() -> None:
    channel = wave("4")
    counts = np.random.default_rng(6).multinomial(REPORTS, law_of_beta(channel)).tolist()
    made = make_report(Registry.parse(METRIC), [tally_of(counts)])
    (document,) = json.loads(FORMATS["json"](made))["metrics"]
    assert document["mean"]["estimate"] == pytest.approx(100 + 5000 * 2 / 7, abs=50)
    assert document["mean"]["maximum_likelihood"] == pytest.approx(100 + 5000 * 2 / 7, abs=50)
    distribution = document["distribution"]
    assert distribution["interval"] == "resampled"
    bins = distribution["bins"]
    assert len(bins) == BINS
    assert (bins[0]["from"], bins[-1]["to"]) == (100, 5100)
    assert sum(one["estimate"] for one in bins) == pytest.approx(1)
    assert all(one["low"] <= one["estimate"] <= one["high"] for one in bins)
    quantiles = distribution["quantiles"]
    assert [one["quantile"] for one in quantiles] == list(QUANTILES)
    assert [one["estimate"] for one in quantiles] == sorted(one["estimate"] for one in quantiles)
    for one in (distribution["variance"], *quantiles):
        assert one["low"] <= one["estimate"] <= one["high"]
    table, rows = FORMATS["table"](made), FORMATS["csv"](made).splitlines()
    assert "50% are at most ~" in table
    assert "measured, not proved" in table
    assert max(map(len, table.splitlines())) <= 80
    assert sum(",resampled_bin," in row for row in rows) == BINS
    assert FORMATS["json"](made) == FORMATS["json"](make_report(Registry.parse(METRIC), [tally_of(counts)]))


def test_windows_tell_together_what_each_tells_alone_though_some_are_empty() -> None:
    channel = wave("4")
    drawn = np.random.default_rng(9).multinomial(1000, law_of_beta(channel), size=3).tolist()
    tallies = [tally_of(counts) for counts in (drawn[0], [0] * channel.symbols, *drawn[1:])]
    metric = Registry.parse(METRIC).metric("m")
    together = [*estimates(metric, tallies, Request(clusters=True))]
    assert together == [estimate(metric, tally, Request(clusters=True)) for tally in tallies]
    assert [one.clusters is None for one in together] == [False, True, False, False]


def test_without_reports_everything_is_possible() -> None:
    made = make_report(Registry.parse(METRIC), [tally_of([0] * wave("4").symbols)])
    (document,) = json.loads(FORMATS["json"](made))["metrics"]
    assert document["mean"] == {
        "estimate": None,
        "standard_error": None,
        "low": 100.0,
        "high": 5100.0,
    }
    bins, quantiles = document["distribution"]["bins"], document["distribution"]["quantiles"]
    assert all((share["estimate"], share["low"], share["high"]) == (None, 0, 1) for share in bins)
    assert all((quantile["estimate"], quantile["low"], quantile["high"]) == (None, 100, 5100) for quantile in quantiles)
    assert "no reports" in FORMATS["table"](made)


def test_one_report_is_estimated() -> None:
    (one,) = make_report(Registry.parse(METRIC), [tally_of([1] + [0] * (wave("4").symbols - 1))]).metrics
    assert one.distribution is not None
    assert one.distribution.variance.low <= one.distribution.variance.high


@pytest.mark.parametrize("reports", [1_000, 100_000])
def test_tallies_drawn_anew_are_all_solved_as_one_by_one(reports: int) -> None:
    """Few reports leave empty bins, where Newton's steps fail and the slow ones take over."""
    channel = wave("1")
    bins = histogram(channel)
    law = bins.symbol_law(np.diff(TRUTH))
    drawn = np.random.default_rng(SEED).multinomial(reports, law / law.sum(), size=RESAMPLES) / reports
    found = drawn_anew(bins, np.diff(TRUTH), reports)
    assert not is_moving(found, stepped(bins, drawn, found, smooth=True)).any()
    one_by_one = shares_of(bins, drawn[:10], smooth=True)
    between = np.abs(np.cumsum(found[:10] - one_by_one, axis=1)).sum(axis=1) / BINS
    assert between.max() < min(map(distance, one_by_one)) / 20


def test_tallies_of_people_who_answer_alike_need_no_slow_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smoothing moves their shares the most, so that Newton's steps must begin where it leads."""
    channel, slow = wave("1"), []

    def counted(bins: Histogram, frequencies: Floats, *, smooth: bool, start: Floats) -> Floats:
        slow.append(frequencies.ndim)
        return shares_of(bins, frequencies, smooth=smooth, start=start)

    monkeypatch.setattr("estimator.likelihood.bootstrap.shares_of", counted)
    bins = histogram(channel)
    law = bins.symbol_law(np.eye(BINS)[BINS // 3])
    drawn_anew(bins, shares_of(bins, law / law.sum(), smooth=True), REPORTS)
    assert slow == [1], "only where all of them lie around, and no tally"
