"""Made-up reports: how far they move an estimate, by enumeration, and how often an honest tally is
accused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest

from client_sdk.protocol import Channel, Metric, Window
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.analyses import poisoning
from estimator.analyses.metric import analysis_of
from estimator.analyses.poisoning import CLEAR, DRAWN_AT_MOST, _log_chance, as_far, likeliest_law, range_test, reach_of
from estimator.decoders.inversions import grid_law, inverse_of
from estimator.likelihood.shares import SLACK
from estimator.results.report import PLAIN
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import MOST_REPORTS, Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, NUMBER, ORDINAL, SET, parsed
from tests.support.estimates.coverage import chances, drawn_tallies
from tests.support.estimates.inverses import CHANNELS, PRECISION, matrix, requested, rounding, uneven, weights
from tests.support.laws.sampling import accepts_each

METRICS = parsed(
    yes=BOOLEAN | {"epsilon": "ln 3"},
    color=CATEGORY | {"values": ["red", "green", "blue", "gray"]},
    usual=CATEGORY | {"permanent_epsilon": 2},
    mood=ORDINAL,
    languages=SET,
    crashes=COUNT | {"max": 4},
    seconds=NUMBER | {"low": 10, "high": 20},
    meters=NUMBER | {"low": -1, "high": 1, "mechanism": "laplace", "epsilon": 2},
    visits=COUNT | {"max": 6, "statistic": "quantiles", "mechanism": "hierarchical"},
).values()

FEW_POINTS: dict[str, Channel] = {
    "square wave": SquareWave.within(requested(1), points=33),
    "optimal mean": OptimalMean.of_total((4, 4, 5, 6, 5, 4, 4), 4, requested(1).odds),
    "tree": Hierarchical.within(requested(1), points=33),
}


def tally(metric: Metric, counts: Counts) -> Tally:
    dense = np.asarray(counts, dtype=np.int64)
    window = Window.parse("2026-11-20")
    return Tally(
        metric.name, metric.edition, window, closed=True, reports=int(dense.sum()), counts=tuple(dense.tolist())
    )


def unbiased(metric: Metric, tallies: Counts) -> Floats:
    """Return the unbiased estimates of each tally, shape (tallies, estimates)."""
    of_each = analysis_of(metric).estimates([tally(metric, counts) for counts in tallies], PLAIN)
    return np.array([np.concatenate([group.figures.unbiased for group in of_one.compared]) for of_one in of_each])


@for_each("name", CHANNELS)
def test_extremes_are_the_least_and_the_most_of_all_symbols(name: str) -> None:
    channel = CHANNELS[name]
    inverse = inverse_of(channel)
    added = weights(channel, inverse)
    least, most = inverse.extremes()
    assert np.abs(np.broadcast_to(least, channel.inputs) - added.min(axis=0)).max() <= rounding(channel, inverse)
    assert np.abs(np.broadcast_to(most, channel.inputs) - added.max(axis=0)).max() <= rounding(channel, inverse)


@for_each("metric", METRICS)
def test_extremes_of_a_metric_are_those_of_single_reports(metric: Metric) -> None:
    single = unbiased(metric, np.eye(metric.channel.symbols, dtype=np.int64))
    least, most = analysis_of(metric).extremes
    exact = 64 * PRECISION * metric.channel.symbols * np.abs(single).max()
    assert np.abs(least - single.min(axis=0)).max() <= exact
    assert np.abs(most - single.max(axis=0)).max() <= exact


@for_each("metric", METRICS)
def test_fakes_move_estimates_as_far_as_is_said_and_no_farther(metric: Metric) -> None:
    symbols = metric.channel.symbols
    law = likeliest_law(metric.channel, np.ones(symbols, dtype=np.int64))
    honest = np.rint(10 * symbols * law).astype(np.int64) + 1
    before, reports = unbiased(metric, honest[np.newaxis])[0], int(honest.sum())
    seen = unbiased(metric, 9 * honest + reports * np.eye(symbols, dtype=np.int64))
    reach = np.array([reach_of(analysis_of(metric).extremes, report, 0.1) for report in seen])
    left_down, left_up = (reach[:, 0] + seen - before).min(axis=0), (reach[:, 1] - seen + before).min(axis=0)
    exact = 64 * PRECISION * symbols * (np.abs(reach).max() + np.abs(before).max())
    assert np.abs(left_down).max() <= exact
    assert np.abs(left_up).max() <= exact


def test_the_law_of_an_optimal_mean_is_its_table() -> None:
    channel = OptimalMean.of_total((2, 3, 2), 2, requested(2).odds)
    law, table = grid_law(channel), matrix(channel)
    shares, scores = uneven(channel.inputs), uneven(channel.symbols)
    assert np.abs(law.symbol_law(shares) - table @ shares).max() <= 64 * PRECISION
    assert np.abs(law.expectations(scores) - scores @ table).max() <= 64 * PRECISION
    both = law.symbol_law(np.array([shares, shares[::-1]]))
    assert np.abs(both[1] - table @ shares[::-1]).max() <= 64 * PRECISION


def compositions(reports: int, symbols: int) -> Iterator[Counts]:
    for first in product(range(reports + 1), repeat=symbols - 1):
        if sum(first) <= reports:
            yield np.array([*first, reports - sum(first)], dtype=np.int64)


def test_an_honest_tally_is_rejected_no_more_often_than_is_said_whatever_the_truth() -> None:
    channel, reports = KAryRandomizedResponse.within(requested(1), 3), 12
    tallies = list(compositions(reports, channel.symbols))
    assert len(tallies) == comb(reports + 2, 2)
    p_values = np.array([range_test(channel, counts).p_value for counts in tallies])
    ways = np.array([factorial(reports) // prod(factorial(count) for count in counts.tolist()) for counts in tallies])
    for share in np.linspace(0, 1, 11):
        law = matrix(channel) @ np.array([share, (1 - share) / 2, (1 - share) / 2])
        chances = ways * np.prod(law ** np.array(tallies), axis=1)
        for level in (0.05, 0.2):
            # a p-value from draws deviates by its own standard error; five of them are beyond doubt
            deviation = level + 5 * (level * (1 - level) / DRAWN_AT_MOST) ** 0.5
            assert float(chances[p_values <= level].sum()) <= deviation


@pytest.mark.long
def test_honest_tallies_of_answers_that_nobody_gives_are_accused_no_more_often_than_is_said() -> None:
    channel, level, too_often = KAryRandomizedResponse.within(requested(1), 5), 0.05, 0.15
    law = matrix(channel) @ np.array([0.5, 0.0, 0.5, 0.0, 0.0])
    batches = drawn_tallies(law, 1500, 31)
    accused = (np.array([range_test(channel, counts).p_value <= level for counts in batch]) for batch in batches)
    assert accepts_each(accused, level, too_often)


@pytest.mark.long
@pytest.mark.parametrize("name", FEW_POINTS)
def test_honest_tallies_of_numbers_are_accused_hardly_more_often_than_is_said(name: str) -> None:
    """Two answers, where shares are 0: the test is least exact there."""
    channel, rounds = FEW_POINTS[name], 64
    law = (matrix(channel)[:, 3] + matrix(channel)[:, 26]) / 2
    drawn = np.random.default_rng(34).multinomial(2000, law / law.sum(), size=rounds)
    p_values = np.array([range_test(channel, counts).p_value for counts in drawn])
    for level, measured in ((0.05, 0.09), (0.5, 0.7)):
        deviations = 2 * (rounds * measured * (1 - measured)) ** 0.5
        assert np.count_nonzero(p_values <= level) <= rounds * measured + deviations
    # 0.5: two standard errors of a half
    assert np.count_nonzero(p_values <= 0.5) >= rounds * 0.5 - rounds**0.5


@pytest.mark.parametrize("name", FEW_POINTS)
def test_many_tallies_of_a_grid_are_as_far_from_its_range_as_one_by_one(name: str) -> None:
    channel = FEW_POINTS[name]
    law = matrix(channel) @ uneven(channel.inputs)
    tallies = np.random.default_rng(12).multinomial(400, law / law.sum(), size=40)
    laws = [likeliest_law(channel, counts) for counts in tallies]
    distances = np.array([distance(counts, 400 * likeliest) for counts, likeliest in zip(tallies, laws, strict=True)])
    middle = float(np.median(distances))
    # closer distances cannot be told apart
    is_clear = np.abs(distances - middle) > 2 * SLACK * channel.inputs
    assert is_clear.sum() > len(tallies) / 2
    far = as_far(grid_law(channel), channel.inputs, tallies, middle)
    assert (far == (distances > middle))[is_clear].all()


def distance(counts: Counts, expected: Floats) -> float:
    seen = counts > 0
    return 2 * float(counts[seen] @ np.log(counts[seen] / expected[seen]))


def test_a_tally_within_the_range_passes_without_any_draw() -> None:
    channel = CHANNELS["pairs"]
    counts = np.full(channel.symbols, 10, dtype=np.int64)
    outcome = range_test(channel, counts)
    assert (outcome.p_value, outcome.drawn, outcome.impossible) == (1.0, 0, False)


@pytest.mark.parametrize("name", ["pairs", "larger blocks", "projective space", "scale"])
def test_reports_that_are_all_one_symbol_are_what_no_population_makes(name: str) -> None:
    channel = CHANNELS[name]
    counts = np.zeros(channel.symbols, dtype=np.int64)
    counts[1] = 500
    outcome = range_test(channel, counts)
    assert outcome.impossible
    assert outcome.p_value == 1 / (DRAWN_AT_MOST + 1)
    assert outcome.drawn in {0, DRAWN_AT_MOST}


@pytest.mark.parametrize("reports", [1, 7, 20])
def test_the_bound_that_saves_the_draws_is_above_the_chance_of_every_distance(reports: int) -> None:
    for law in (np.full(4, 0.25), np.array([0.7, 0.2, 0.05, 0.05])):
        tallies = np.array([*compositions(reports, 4)])
        likely = chances(tallies, law[np.newaxis])[:, 0]
        distances = np.array([distance(tally, reports * law) for tally in tallies])
        for least in np.unique(distances).tolist():
            assert math.log(likely[distances >= least].sum()) <= _log_chance(least, 4) + 1e-9


def test_a_tally_that_is_far_from_every_population_is_called_impossible_without_a_draw() -> None:
    channel = CHANNELS["projective space"]
    counts = np.zeros(channel.symbols, dtype=np.int64)
    counts[1] = MOST_REPORTS
    outcome = range_test(channel, counts)
    assert (outcome.drawn, outcome.impossible) == (0, True)


@pytest.mark.parametrize("name", ["pairs", "many blocks", "projective plane", "utilities"])
def test_an_honest_tally_is_not_called_impossible_and_the_test_ends_early(name: str) -> None:
    channel = CHANNELS[name]
    law = matrix(channel) @ uneven(channel.inputs)
    counts = np.random.default_rng(20).multinomial(2000, law / law.sum())
    outcome = range_test(channel, counts)
    assert not outcome.impossible
    assert outcome.drawn <= CLEAR / outcome.p_value + 1


def test_the_same_tally_gets_the_same_p_value() -> None:
    channel = CHANNELS["many blocks"]
    counts = np.random.default_rng(4).multinomial(300, np.full(channel.symbols, 1 / channel.symbols))
    assert range_test(channel, counts) == range_test(channel, counts)


@pytest.mark.parametrize("name", ["pairs", "larger blocks", "scale"])
def test_drawn_tallies_that_are_fitted_together_decide_as_one_by_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = CHANNELS[name]
    law = matrix(channel) @ uneven(channel.inputs)
    tallies = np.random.default_rng(8).multinomial(200, law / law.sum(), size=8)
    together = [range_test(channel, counts) for counts in tallies]
    monkeypatch.setattr(poisoning, "NUMBERS_AT_ONCE", 1)
    assert together == [range_test(channel, counts) for counts in tallies]
    assert max(outcome.drawn for outcome in together) > 2 * CLEAR


@pytest.mark.parametrize("name", ["pairs", "many blocks", "larger blocks"])
def test_a_drawn_tally_that_is_as_far_as_the_tally_itself_counts_whatever_the_rounding(name: str) -> None:
    """Of a single report, every tally is as far as any other: all symbols are alike."""
    channel = CHANNELS[name]
    for report in np.eye(channel.symbols, dtype=np.int64)[:8]:
        assert range_test(channel, report).p_value == 1.0


@pytest.mark.long
@for_each("reports", [1, 20])
@for_each("name", FEW_POINTS)
def test_on_a_grid_a_drawn_tally_that_is_the_tally_itself_counts_as_this_far(name: str, reports: int) -> None:
    channel = FEW_POINTS[name]
    for certain in np.eye(channel.symbols, dtype=np.int64)[::5]:
        statistic = range_test(channel, reports * certain).statistic
        assert next(poisoning._drawn(channel, reports, certain.astype(float), statistic))


def test_the_likeliest_law_is_that_of_a_noise_complete_tally() -> None:
    channel = CHANNELS["larger blocks"]
    law = matrix(channel) @ uneven(channel.inputs)
    counts = np.rint(law * 10**9).astype(np.int64)
    assert np.abs(likeliest_law(channel, counts) - law).max() <= 1e-6 * law.max() + channel.symbols / 10**9
