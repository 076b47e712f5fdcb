"""Made-up reports of crosses: liars move no cell further than said; uneven tallies are accused."""

from __future__ import annotations

import numpy as np
import pytest

from client_sdk.protocol import Window
from client_sdk.protocol.mechanisms.crosses import Crosses
from estimator.analyses.metric import analysis_of
from estimator.analyses.models.analysis import ModelOfCrosses
from estimator.analyses.models.crosses import fakes_of_crosses
from estimator.decoders.inversions import inverse_of
from estimator.results.report import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CROSSED_MODEL, metric_of

METRIC = metric_of(CROSSED_MODEL, epsilon=1)
CHANNEL = ModelOfCrosses(METRIC).channel
HONEST = 900


def parts(counts: Counts) -> list[Counts]:
    assert isinstance(CHANNEL, Crosses)
    return np.split(counts, CHANNEL.firsts[1:])


def shares_of(counts: Counts) -> Floats:
    """Return the unbiased shares of all pairs of cell and label, feature by feature."""
    assert isinstance(CHANNEL, Crosses)
    pairs = zip(CHANNEL.features, parts(counts), strict=True)
    return np.concatenate([inverse_of(own).shares(counts, int(counts.sum())) for own, counts in pairs])


def tally_of(counts: Counts) -> Tally:
    window, reports = Window.parse("2026-11-23"), int(counts.sum())
    return Tally(METRIC.name, METRIC.edition, window, closed=True, reports=reports, counts=counts.tolist())


def is_accused(counts: Counts) -> bool:
    (estimated,) = analysis_of(METRIC).estimates([tally_of(counts)], Request(fakes=0.01))
    assert estimated.fakes is not None
    return estimated.fakes.test.impossible


@pytest.mark.long
@for_each("seed", range(3))
@for_each("liars", [30, 300, 2000])
def test_no_lie_moves_a_cell_further_than_is_said(seed: int, liars: int) -> None:
    generator = np.random.default_rng(seed)
    honest = generator.multinomial(HONEST, generator.dirichlet(np.ones(CHANNEL.symbols)))
    honest += 1  # somebody has spoken of each feature
    before, reached = shares_of(honest), 0.0
    for symbol in range(CHANNEL.symbols):
        counts = honest + liars * (np.arange(CHANNEL.symbols) == symbol)
        (said,) = fakes_of_crosses(CHANNEL, tally_of(counts), liars / counts.sum()).moves
        moved = shares_of(counts) - before
        assert said.statistic == "cell_share"
        assert moved.max() <= said.up + 1e-9
        assert -moved.min() <= said.down + 1e-9
        reached = max(reached, moved.max() / said.up)
    assert reached > 0.5  # the bound is not far from what liars reach


def test_where_all_reports_of_a_feature_may_be_made_up_the_bound_is_what_its_reports_can_say() -> None:
    (said,) = fakes_of_crosses(CHANNEL, tally_of(np.eye(CHANNEL.symbols, dtype=np.int64)[0]), 0.999).moves
    assert said.statistic == "cell_share"
    assert 1 < said.up < np.inf
    assert 1 < said.down < np.inf


def test_a_tally_whose_features_are_drawn_unevenly_is_accused() -> None:
    assert isinstance(CHANNEL, Crosses)
    even = np.concatenate([np.full(each.symbols, 1200 // each.symbols) for each in CHANNEL.features])
    assert not is_accused(even)
    even[0] += 900
    assert is_accused(even)
