"""Questions that are reported in every window: shares among those who answered, and silence that
reveals nothing.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from client_sdk.protocol import Window
from estimator.analyses.metric import estimate
from estimator.decoders.inversions import sampler_of
from estimator.results.metric import MetricEstimate
from estimator.results.report import Request
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, CATEGORY, metric_of

FILLED = metric_of(BOOLEAN | {"fill_in": True})
ROUNDS, DEVIATIONS = 500, 6
"""Six standard deviations of the coverage of ROUNDS rounds: one false alarm in 10**9."""


def estimated(shares: list[float], devices: int, generator: np.random.Generator) -> MetricEstimate:
    inputs = generator.multinomial(devices, shares)
    counts = tuple(sampler_of(FILLED.channel)(inputs, generator).tolist())
    window = Window.parse("2026-11-20")
    return estimate(FILLED, Tally(FILLED.name, FILLED.edition, window, closed=True, reports=devices, counts=counts))


def test_nothing_recorded_has_a_share_of_its_own() -> None:
    shares = estimated([0.2, 0.3, 0.5], 10**6, np.random.default_rng(1)).estimates
    assert shares is not None
    assert [share.value for share in shares] == [False, True, None]


@pytest.mark.parametrize("shares", [[0.2, 0.3, 0.5], [0.05, 0.05, 0.9], [0.5, 0.5, 0.0]])
def test_shares_among_those_who_answered_are_held_as_often_as_promised(shares: list[float]) -> None:
    generator, truth = np.random.default_rng(2), shares[1] / (shares[0] + shares[1])
    held = 0
    for _ in range(ROUNDS):
        answered = estimated(shares, 20_000, generator).figures("share_of_answered")
        (yes,) = (share for share in answered if share.value is True)
        held += yes.low <= truth <= yes.high
    assert abs(held / ROUNDS - 0.95) <= DEVIATIONS * math.sqrt(0.95 * 0.05 / ROUNDS)


def test_the_shares_among_those_who_answered_add_up_to_one() -> None:
    answered = estimated([0.2, 0.3, 0.5], 10_000, np.random.default_rng(3)).figures("share_of_answered")
    assert math.isclose(sum(share.estimate or 0.0 for share in answered), 1.0, rel_tol=1e-12)


def test_where_nobody_may_have_answered_nothing_is_said_of_those_who_did() -> None:
    for devices, shares in ((20_000, [0.0, 0.0, 1.0]), (49, [0.5, 0.5, 0.0])):
        answered = estimated(shares, devices, np.random.default_rng(4)).figures("share_of_answered")
        assert {(share.estimate, share.low, share.high) for share in answered} == {(None, 0.0, 1.0)}


def test_a_large_category_has_no_shares_among_those_who_answered() -> None:
    metric = metric_of(CATEGORY | {"values": [str(value) for value in range(300)], "fill_in": True})
    counts = tuple([1] * metric.channel.symbols)
    window = Window.parse("2026-11-20")
    tally = Tally(metric.name, metric.edition, window, closed=True, reports=sum(counts), counts=counts)
    assert estimate(metric, tally, Request(simultaneous=True)).group("share_of_answered") is None
