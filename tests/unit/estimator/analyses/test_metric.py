"""From a tally to estimates: nothing, one report, and a population beyond counting."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Window
from estimator.analyses.metric import estimate
from estimator.decoders.support import Support
from estimator.likelihood.shares import maximum_likelihood
from estimator.report.report import make_report
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.results.report import Selection
from estimator.statistics.arrays import Counts
from estimator.statistics.intervals import binomial_interval
from estimator.tallies import decode
from tests.support.estimates.checks import check_likelihood, duality_gap, symbol_law
from tests.support.estimates.tallies import REGISTRY, line

SUPPORTS = st.builds(
    lambda q, gap: Support(own=q + gap * (1 - q), other=q),
    st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000),
    st.fractions(Fraction(1, 100), Fraction(9, 10), max_denominator=100),
)
COUNTS = st.lists(st.integers(0, 10**12), min_size=2, max_size=40).filter(any).map(lambda c: np.array(c, np.int64))


def _estimate(metric: str, counts: list[int]) -> MetricEstimate:
    (tally,) = decode([line(metric, counts)])
    return estimate(REGISTRY.metric(metric), tally)


def _shares(metric: str, counts: list[int]) -> list[Estimate]:
    shares = _estimate(metric, counts).estimates
    assert shares is not None
    return list(shares)


def test_the_two_coins_recover_the_population() -> None:
    no, yes = _shares("dark_mode", [400, 600])
    assert (no.estimate, yes.estimate) == (2 * 0.4 - 0.5, 2 * 0.6 - 0.5)
    assert yes.low < 0.7 < yes.high


@pytest.mark.parametrize(("metric", "symbols"), [("dark_mode", 2), ("os", 4), ("startup_ms", 2)])
def test_no_reports_leave_everything_possible(metric: str, symbols: int) -> None:
    estimated = _estimate(metric, [0] * symbols)
    everything = (100, 5100) if estimated.mean else (0, 1)
    assert (estimated.estimates is None) == (estimated.mean is not None)
    assert estimated.group("sum") is None
    figures = [figure for group in estimated.compared for figure in group.figures]
    assert len(figures) == (1 if estimated.mean else symbols)
    for figure in figures:
        assert (figure.estimate, figure.standard_error, figure.maximum_likelihood) == (None, None, None)
        assert (figure.low, figure.high) == everything


def test_one_report_tells_next_to_nothing() -> None:
    for share in _shares("dark_mode", [1, 0]):
        assert share.standard_error is not None
        assert share.standard_error > 0.5
        assert (share.low, share.high) == (0, 1)


def test_an_estimate_outside_what_is_possible_is_not_clipped() -> None:
    no, yes = _shares("dark_mode", [0, 100])
    assert (no.estimate, yes.estimate) == (-0.5, 1.5)
    assert (no.maximum_likelihood, yes.maximum_likelihood) == (0, 1)
    assert (yes.low, yes.high) == (1, 1)


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(SUPPORTS, st.integers(0, 10**12), st.integers(0, 10**12))
def test_an_interval_is_possible_and_never_empty(support: Support, count: int, others: int) -> None:
    ((low,), (high,)) = support.intervals(np.array([count]), count + others)
    assert 0 <= low <= high <= 1


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 10**12), st.integers(1, 10**12))
def test_an_interval_holds_the_observed_frequency_and_rises_with_the_count(count: int, others: int) -> None:
    reports = count + others
    low, high = binomial_interval(count, reports)
    # the bounds are sums and roots of numbers below 2: a few roundings each
    slack = 8 * np.finfo(float).eps
    assert low - slack <= count / reports <= high + slack
    low_of_more, high_of_more = binomial_interval(count + 1, reports)
    assert low - slack <= low_of_more
    assert high - slack <= high_of_more


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(SUPPORTS, COUNTS)
def test_the_likeliest_shares_are_on_the_simplex_and_nothing_is_likelier(support: Support, counts: Counts) -> None:
    check_likelihood(support, counts, maximum_likelihood)


def test_the_gap_of_other_shares_bounds_what_they_lack() -> None:
    support = Support(own=Fraction(3, 4), other=Fraction(1, 4))
    counts = np.array([40, 60], dtype=np.int64)
    best = maximum_likelihood(support, counts)
    for share in (0.0, 0.2, 0.5, 1.0):
        shares = np.array([share, 1 - share])
        lacks = (counts * np.log(symbol_law(support, best) / symbol_law(support, shares))).sum()
        assert lacks <= duality_gap(support, counts, shares)


def test_tallies_that_do_not_belong_are_skipped_with_the_reason_and_stop_nothing() -> None:
    tallies = decode(
        [
            line("os", [1, 2, 3, 4], metric="gone"),
            line("os", [1, 2, 3, 4], edition="0" * 12),
            line("os", [1, 2, 3], window="2026-11-18"),
            line("os", [1, 2, 3, 4], window="2026-W47"),
            line("os", [1, 2, 3, 4], window="2026-11-21", closed=False),
            line("os", [1, 2, 3, 4]),
        ]
    )
    report = make_report(REGISTRY, tallies)
    assert [estimated.window for estimated in report.metrics] == ["2026-11-20"]
    reasons = ["no such metric", "the registry defines edition", "3 counts", "once a day", "--preliminary"]
    assert len(report.skipped) == len(reasons)
    assert all(part in tally.reason for part, tally in zip(reasons, report.skipped, strict=True))


def test_windows_are_chosen_by_their_beginning_and_stand_in_the_registrys_order() -> None:
    days = ["2026-11-21", "2026-11-19", "2026-11-20", "2026-11-18"]
    tallies = decode([line(metric, [1, 1], window=day) for metric in ("startup_ms", "dark_mode") for day in days])
    report = make_report(REGISTRY, tallies, Selection(Window.parse("2026-11-19"), Window.parse("2026-11-20")))
    chosen = [(estimated.metric, estimated.window) for estimated in report.metrics]
    assert chosen == [(m, d) for m in ("dark_mode", "startup_ms") for d in ("2026-11-19", "2026-11-20")]
    assert not report.skipped
