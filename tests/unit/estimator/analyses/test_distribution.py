"""The distribution from a tally of square wave.

How near it comes, how sure it is, and what it says of nothing.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.analyses.grid import QUANTILES
from estimator.analyses.metric import analysis_of, estimate
from estimator.decoders import square_wave
from estimator.likelihood.histogram import Histogram, shares_of
from estimator.render import FORMATS
from estimator.report.report import make_report
from estimator.results.report import Request
from estimator.statistics.arrays import Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import COUNT, NUMBER, registry_text
from tests.support.estimates.documents import listed, only

REPORTS = 100_000
BINS = 256
PROMISED = {"0.5": 0.010, "1": 0.007, "2": 0.003, "4": 0.0015}
"""Epsilon, and the mean distance to the truth (Wasserstein-1) over 20 tallies."""


def wave(epsilon: str) -> SquareWave:
    return SquareWave.within(RequestedEpsilon.parse(Decimal(epsilon)))


def histogram(channel: SquareWave, low: int = 0, high: int = 1) -> Histogram:
    return Histogram.from_channel(channel, Number(Fraction(low), Fraction(high), "distribution"))


def below(value: Floats) -> Floats:
    """Return the share of Beta(2, 5) below a value: at least two of six uniform numbers are."""
    share: Floats = sum(
        (math.comb(6, j) * value**j * (1 - value) ** (6 - j) for j in range(2, 7)), np.zeros(value.shape)
    )
    return share


TRUTH = below(np.linspace(0, 1, BINS + 1))


def law_of_beta(channel: SquareWave) -> Floats:
    """Return the law of symbols where answers are Beta(2, 5).

    A value between two points is rounded to either.
    """
    fine = 64
    masses = np.diff(below(np.linspace(0, 1, BINS * fine + 1))).reshape(BINS, fine)
    upwards = (np.arange(fine) + 0.5) / fine
    points = np.zeros(BINS + 1)
    points[:-1] += masses @ (1 - upwards)
    points[1:] += masses @ upwards
    law: Floats = square_wave.symbol_law(channel, points)
    law /= law.sum()
    return law


def distance(shares: Floats) -> float:
    return float(np.abs(np.cumsum(shares) - TRUTH[1:]).sum() / BINS)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", PROMISED)
def test_a_distribution_is_as_near_to_the_truth_as_promised(epsilon: str) -> None:
    channel = wave(epsilon)
    tallies = np.random.default_rng(1).multinomial(REPORTS, law_of_beta(channel), size=10)
    distances = [distance(shares_of(histogram(channel), counts / REPORTS, smooth=True)) for counts in tallies]
    assert sum(distances) / len(distances) <= PROMISED[epsilon]


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
    assert np.allclose(square_wave.symbol_law(channel, np.eye(9)), rows, rtol=1e-12, atol=0)


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


METRIC = registry_text(m=NUMBER | {"statistic": "distribution", "epsilon": 4, "low": 100, "high": 5100})


def tally_of(counts: list[int]) -> Tally:
    metric = Registry.parse(METRIC).metric("m")
    return Tally(
        "m", metric.edition, Window.parse("2026-11-20"), closed=True, reports=sum(counts), counts=tuple(counts)
    )


@pytest.mark.slow
def test_a_report_has_bins_quantiles_a_band_variance_and_mean() -> None:
    channel = wave("4")
    counts = np.random.default_rng(6).multinomial(REPORTS, law_of_beta(channel)).tolist()
    report = make_report(Registry.parse(METRIC), [tally_of(counts)])
    (document,) = json.loads(FORMATS["json"](report))["metrics"]
    assert only(document, "mean")["estimate"] == pytest.approx(100 + 5000 * 2 / 7, abs=50)
    assert only(document, "mean")["maximum_likelihood"] == pytest.approx(100 + 5000 * 2 / 7, abs=50)
    bins = listed(document, "bin")
    assert len(bins) == BINS
    assert (bins[0]["value"][0], bins[-1]["value"][1]) == (100, 5100)
    assert sum(share["estimate"] for share in bins) == pytest.approx(1)
    band = listed(document, "at_most")
    assert (band[0]["value"], band[-1]["value"], band[-1]["low"]) == (100, 5100, 1)
    for end in ("low", "estimate", "high"):
        assert [point[end] for point in band] == sorted(point[end] for point in band)
    assert all(share["low"] <= share["estimate"] <= share["high"] for share in bins)
    quantiles = listed(document, "quantile")
    assert [quantile["value"] for quantile in quantiles] == list(QUANTILES)
    assert [quantile["estimate"] for quantile in quantiles] == sorted(quantile["estimate"] for quantile in quantiles)
    for figure in (only(document, "variance"), *quantiles):
        assert figure["low"] <= figure["estimate"] <= figure["high"]
    table, rows = FORMATS["table"](report), FORMATS["csv"](report).splitlines()
    assert re.search(r"^  median  +\d,\d{3}", table, re.MULTILINE)
    assert "The median is about" in " ".join(table.split())
    assert max(map(len, table.splitlines())) <= 80
    assert sum(",bin," in row for row in rows) == BINS
    assert FORMATS["json"](report) == FORMATS["json"](make_report(Registry.parse(METRIC), [tally_of(counts)]))


@pytest.mark.long
def test_windows_tell_together_what_each_tells_alone_though_some_are_empty() -> None:
    channel = wave("4")
    drawn = np.random.default_rng(9).multinomial(1000, law_of_beta(channel), size=3).tolist()
    tallies = [tally_of(counts) for counts in (drawn[0], [0] * channel.symbols, *drawn[1:])]
    metric = Registry.parse(METRIC).metric("m")
    together = [*analysis_of(metric).estimates(tallies, Request(clusters=True))]
    assert together == [estimate(metric, tally, Request(clusters=True)) for tally in tallies]
    assert [window.clusters is None for window in together] == [False, True, False, False]


def test_without_reports_everything_is_possible() -> None:
    report = make_report(Registry.parse(METRIC), [tally_of([0] * wave("4").symbols)])
    (document,) = json.loads(FORMATS["json"](report))["metrics"]
    assert only(document, "mean") == {"estimate": None, "standard_error": None, "low": 100.0, "high": 5100.0}
    bins, quantiles = listed(document, "bin"), listed(document, "quantile")
    assert all((share["estimate"], share["low"], share["high"]) == (None, 0, 1) for share in bins)
    assert all((quantile["estimate"], quantile["low"], quantile["high"]) == (None, 100, 5100) for quantile in quantiles)
    assert "m, counted from 100 to 5,100: No reports." in FORMATS["table"](report)


def test_one_report_is_estimated() -> None:
    (metric,) = make_report(Registry.parse(METRIC), [tally_of([1] + [0] * (wave("4").symbols - 1))]).metrics
    (variance,) = metric.figures("variance")
    assert variance.low <= variance.high


def test_shares_of_ranges_are_those_that_were_asked_for() -> None:
    counts = np.random.default_rng(6).multinomial(REPORTS, law_of_beta(wave("4"))).tolist()
    metric = Registry.parse(METRIC).metric("m")
    request = Request(ranges=(("m", 100, 1000), ("m", 1000, 5100), ("m", 1001, 1002), ("other", 0, 1)))
    estimated = estimate(metric, tally_of(counts), request)
    low, high, narrow = estimated.figures("range")
    truth = float(below(np.array([900 / 5000]))[0])
    assert (low.value, high.value) == ((100, 1000), (1000, 5100))
    assert low.low <= truth <= low.high
    assert high.low <= 1 - truth <= high.high
    assert low.high - low.low < 0.1
    assert narrow.low == 0
    nobody = estimate(metric, tally_of([0] * len(counts)), request)
    assert [(share.estimate, share.low, share.high) for share in nobody.figures("range")] == [(None, 0, 1)] * 3


def test_the_share_of_a_single_count_on_a_coarser_grid_is_at_most_that_of_the_cell_around_it() -> None:
    registry = Registry.parse(registry_text(m=COUNT | {"statistic": "distribution", "max": 5120, "epsilon": 2}))
    metric = registry.metric("m")
    histogram = Histogram.from_channel(metric.channel, metric.kind)
    assert not histogram.is_of_points
    alike = np.eye(histogram.bins + 1)[10]
    law = histogram.law.symbol_law(alike)
    counts = tuple(np.rint(20_000 * law).astype(np.int64).tolist())
    window = Window.parse("2026-11-20")
    tally = Tally("m", metric.edition, window, closed=True, reports=sum(counts), counts=counts)
    answer = float(histogram.points[10])
    estimated = estimate(metric, tally, Request(ranges=(("m", answer, answer),)))
    (share,) = estimated.figures("range")
    assert share.low == 0
    assert share.high > 0.95


def test_intervals_that_hold_together_are_wider_and_the_mean_is_one_of_them() -> None:
    counts = np.random.default_rng(6).multinomial(REPORTS, law_of_beta(wave("4"))).tolist()
    metric = Registry.parse(METRIC).metric("m")
    alone, together = (estimate(metric, tally_of(counts), Request(simultaneous=flag)) for flag in (False, True))
    assert alone.mean is not None
    assert together.mean is not None
    assert together.mean.high - together.mean.low > alone.mean.high - alone.mean.low
    narrow, wide = (
        np.array([figure.high - figure.low for figure in (*each.figures("variance"), *each.figures("quantile"))])
        for each in (alone, together)
    )
    assert (wide >= narrow).all()  # the ends of quantiles are points of a grid
    assert np.count_nonzero(wide > narrow) > narrow.size / 2
