"""Geometric means, in every figure that is made of a mean: it is that of logarithms, mapped."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from estimator.analyses.metric import estimate
from estimator.decoders.inversions import decoder_of
from estimator.report.report import make_report
from estimator.report.strata import among_all_of
from estimator.results.estimate import Figure
from estimator.results.metric import MetricEstimate, TakingPart
from estimator.results.report import Request
from estimator.tallies import Tally
from tests.support.devices.definitions import LOG_NUMBER, NUMBER, registry_text

HIGH: Final = 100_000

REGISTRY: Final = Registry.parse(registry_text(of_logs=LOG_NUMBER | {"epsilon": 1}, plain=NUMBER | {"epsilon": 1}))
METRIC, PLAIN = REGISTRY.metric("of_logs"), REGISTRY.metric("plain")
RANGE: Final = math.log1p(HIGH)


def drawn(seed: int = 1, reports: int = 4000) -> tuple[int, ...]:
    """Return a tally whose reports rise towards the upper symbols."""
    weights = np.linspace(1, 1.2, METRIC.channel.symbols)
    return tuple(np.random.default_rng(seed).multinomial(reports, weights / weights.sum()).tolist())


def tally(name: str, counts: tuple[int, ...], day: int = 20) -> Tally:
    edition = REGISTRY.metric(name).edition
    return Tally(name, edition, Window.parse(f"2026-11-{day}"), closed=True, reports=sum(counts), counts=counts)


def estimated(counts: tuple[int, ...], request: Request | None = None) -> MetricEstimate:
    return estimate(METRIC, tally("of_logs", counts), request or Request())


def figure_of(metric: MetricEstimate) -> Figure:
    assert metric.mean is not None
    return metric.mean


def test_a_geometric_mean_beyond_its_range_is_an_end() -> None:
    symbols = METRIC.channel.symbols
    lowest, highest = (tuple(400 * (at == symbol) for at in range(symbols)) for symbol in (0, symbols - 1))
    assert figure_of(estimated(lowest)).estimate == 0
    assert figure_of(estimated(highest)).estimate == pytest.approx(HIGH)
    assert estimated(drawn()).group("sum") is None


@pytest.mark.long
def test_made_up_reports_move_it_as_far_as_said_and_no_farther() -> None:
    decoder = decoder_of(METRIC.channel)
    assert decoder is not None
    honest = np.array(drawn())
    for extreme, way in ((decoder.scores.argmax(), "up"), (decoder.scores.argmin(), "down")):
        made_up = honest + (np.arange(honest.size) == extreme) * 40
        observed = estimated(tuple(made_up.tolist()), Request(fakes=40 / (honest.sum() + 40)))
        assert observed.fakes is not None
        (move,) = observed.fakes.moves
        before, after = (figure_of(each).estimate or 0 for each in (estimated(drawn()), observed))
        assert abs(after - before) == pytest.approx(getattr(move, way))


def test_windows_are_pooled_and_all_installations_bounded_on_the_scale_of_logarithms() -> None:
    tallies = [tally("of_logs", drawn(seed), 19 + seed) for seed in (1, 2)]
    (pooled,) = make_report(REGISTRY, tallies, request=Request(pool=True)).pooled
    assert pooled.mean is not None
    logs = [math.log1p(figure_of(estimated(tuple(each.counts))).estimate or 0) for each in tallies]
    assert math.log1p(pooled.mean.estimate or 0) == pytest.approx(sum(logs) / 2)
    one = estimated(drawn())
    half = TakingPart(4000, None, 4000, 4000, asked=1.0)
    bounds = among_all_of(one, half, 8000).mean
    assert bounds is not None
    assert math.log1p(bounds.low) == pytest.approx(math.log1p(figure_of(one).low) / 2)
    assert math.log1p(bounds.high) == pytest.approx((math.log1p(figure_of(one).high) + RANGE) / 2)
