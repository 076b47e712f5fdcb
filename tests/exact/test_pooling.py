"""Windows together: the claimed error is never too small, whatever the windows have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count, product

import numpy as np
import pytest

from client_sdk.protocol import Metric, Window
from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.analyses.metric import estimate
from estimator.decoders.inversions import sampler_of
from estimator.report.same_people import pooled
from estimator.results.estimate import Figure
from estimator.results.metric import MetricEstimate, Pooled
from estimator.statistics.arrays import Counts
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, Field, metric_of
from tests.support.estimates.coverage import PROMISED, check_held

PERMANENT: dict[str, Field] = {"permanent_epsilon": 2}
METRICS = {
    "boolean": metric_of(BOOLEAN),
    "permanent boolean": metric_of(BOOLEAN | PERMANENT),
    "permanent category": metric_of(CATEGORY | PERMANENT),
}
PEOPLE, WINDOWS, ROUNDS = 2000, 4, 400


def estimated(metric: Metric, counts: Counts, day: int) -> MetricEstimate:
    return of_day(metric, counts, f"2026-11-{day:02}")


def of_day(metric: Metric, counts: Counts, day: str) -> MetricEstimate:
    window = Window.parse(day)
    tally = Tally(
        metric.name, metric.edition, window, closed=True, reports=int(counts.sum()), counts=tuple(counts.tolist())
    )
    return estimate(metric, tally)


def pool(metric: Metric, windows: list[MetricEstimate]) -> Pooled:
    (pooled_estimate,) = pooled(windows, {metric.name: metric})
    return pooled_estimate


def of_yes(shares: Iterable[Figure]) -> Figure:
    (yes,) = (share for share in shares if share.value is True)
    return yes


def same_people(metric: Metric, generator: np.random.Generator) -> list[MetricEstimate]:
    """Let the same people, and the same permanent answers, report in every window."""
    inputs = generator.multinomial(PEOPLE, np.full(metric.channel.inputs, 1 / metric.channel.inputs))
    channel = metric.channel
    if isinstance(channel, Permanent):
        inputs, channel = sampler_of(channel.permanent)(inputs, generator), channel.instantaneous
    sampler = sampler_of(channel)
    return [estimated(metric, sampler(inputs, generator), day) for day in range(1, WINDOWS + 1)]


@pytest.mark.long
@pytest.mark.parametrize("name", METRICS)
def test_the_error_is_that_of_the_same_people_answering_again(name: str) -> None:
    """The squared error of ROUNDS rounds has a relative standard deviation of sqrt(2 / rounds); six
    of them decide.
    """
    generator = np.random.default_rng(7)
    estimates = [pool(METRICS[name], same_people(METRICS[name], generator)).figures("share")[0] for _ in range(ROUNDS)]
    truth = 1 / METRICS[name].channel.inputs
    squares = [((estimate.estimate or 0.0) - truth) ** 2 for estimate in estimates]
    claimed = [(estimate.standard_error or 0.0) ** 2 for estimate in estimates]
    assert abs(math.fsum(squares) / math.fsum(claimed) - 1) <= 6 * math.sqrt(2 / ROUNDS)


@pytest.mark.parametrize("name", METRICS)
def test_taking_the_windows_for_independent_would_claim_too_little(name: str) -> None:
    windows = same_people(METRICS[name], np.random.default_rng(8))
    together = pool(METRICS[name], windows).figures("share")[0].standard_error or 0.0
    alone = next(iter(windows[0].estimates or ())).standard_error or 0.0
    assert alone / math.sqrt(WINDOWS) < together < alone


@pytest.mark.long
@pytest.mark.parametrize(
    ("fields", "people", "windows", "rare"),
    [
        (BOOLEAN | {"epsilon": 6}, 60, 4, 0.02),
        (NUMBER | {"epsilon": 8}, 60, 4, 0.02),
        (BOOLEAN | {"epsilon": 5}, 1000, 60, 0.0015),
    ],
    ids=["share", "mean", "share over many windows"],
)
def test_a_rare_answer_that_all_windows_may_lack_is_held_as_often_as_promised(
    fields: dict[str, Field], people: int, windows: int, rare: float
) -> None:
    """The same people answer each time.

    By the standard error alone, the interval of four windows holds 2% in 68 to 75%. Noise that 60
    windows average out hides nobody: if it did not count as at least the least noise, the interval
    would hold 0.15% in 85%.
    """
    metric, generator = metric_of(fields), np.random.default_rng(10)
    shares = np.zeros(metric.channel.inputs)
    shares[0], shares[-1] = 1 - rare, rare
    sampler, days = sampler_of(metric.channel), [Window.at(metric.window, 86_400.0 * day) for day in range(windows)]

    def holds() -> bool:
        inputs = generator.multinomial(people, shares)
        together = pool(metric, [of_day(metric, sampler(inputs, generator), day.text) for day in days])
        figure, truth = (together.figures("share")[-1], rare) if together.mean is None else (together.mean, 9 * rare)
        return figure.low <= truth <= figure.high

    check_held((np.array([[holds()]]) for _ in count()), PROMISED)


def test_pooled_is_weighted_with_the_reports() -> None:
    metric = METRICS["boolean"]
    windows = [estimated(metric, np.array(counts), day) for day, counts in ((1, [30, 70]), (2, [300, 100]))]
    shares = [of_yes(window.estimates or ()).estimate or 0.0 for window in windows]
    together = pool(metric, windows)
    assert together.reports == 500
    pooled_share = of_yes(together.figures("share")).estimate
    assert pooled_share == pytest.approx((100 * shares[0] + 400 * shares[1]) / 500, rel=1e-15)


@pytest.mark.parametrize("few", [1, 49])
def test_few_reports_leave_everything_possible(few: int) -> None:
    metric = METRICS["boolean"]
    first, second = few // 2, few - few // 2
    windows = [estimated(metric, np.array([0, count]), day) for day, count in ((1, first), (2, second))]
    if first == 0:
        assert pooled(windows, {metric.name: metric}) == ()
        return
    together = pool(metric, windows)
    assert [(share.low, share.high) for share in together.figures("share")] == [(0.0, 1.0)] * 2


def test_a_mean_is_pooled_on_its_own_scale() -> None:
    metric = metric_of(NUMBER | {"low": -3, "high": 9})
    windows = []
    for day, mean in product((1, 2), (2,)):
        inputs = np.zeros(metric.channel.inputs, dtype=np.int64)
        inputs[mean % metric.channel.inputs] = PEOPLE
        windows.append(estimated(metric, sampler_of(metric.channel)(inputs, np.random.default_rng(day)), day))
    together = pool(metric, windows)
    assert together.mean is not None
    assert -3 <= together.mean.low <= together.mean.high <= 9
    assert together.mean.estimate == pytest.approx(
        sum(w.mean.estimate or 0.0 for w in windows if w.mean) / 2, rel=1e-12
    )


def test_one_window_and_windows_without_reports_are_not_pooled() -> None:
    metric = METRICS["boolean"]
    window = estimated(metric, np.array([60, 40]), 1)
    empty = estimated(metric, np.array([0, 0]), 2)
    assert pooled([window], {metric.name: metric}) == ()
    assert pooled([window, empty], {metric.name: metric}) == ()


@pytest.mark.long
def test_the_error_is_not_too_small_where_noise_is_large() -> None:
    """The lasting part is not taken at each window's noisy share: six deviations of the mean square
    decide.
    """
    metric, generator = metric_of(BOOLEAN | {"epsilon": 0.2}), np.random.default_rng(9)
    rounds, people, windows = 200, 300, 60
    squares, claimed = [], []
    for _ in range(rounds):
        inputs = generator.binomial(people, 0.5)
        sampler = sampler_of(metric.channel)
        counts = [sampler(np.array([people - inputs, inputs]), generator) for _ in range(windows)]
        days = [Window.at(metric.window, day * 86_400.0).text for day in range(windows)]
        tallies = [
            Tally(
                metric.name,
                metric.edition,
                Window.parse(day),
                closed=True,
                reports=people,
                counts=tuple(tallied.tolist()),
            )
            for day, tallied in zip(days, counts, strict=True)
        ]
        pooled_share = of_yes(pool(metric, [estimate(metric, tally) for tally in tallies]).figures("share"))
        squares.append(((pooled_share.estimate or 0.0) - 0.5) ** 2)
        claimed.append((pooled_share.standard_error or 0.0) ** 2)
    assert math.fsum(squares) / math.fsum(claimed) <= 1 + 6 * math.sqrt(2 / rounds)
