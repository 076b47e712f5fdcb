"""Faults that a review found, and that must not return."""

from __future__ import annotations

import gc
import json
from itertools import product

import numpy as np
import pytest

from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol import Registry, Window
from client_sdk.protocol.mechanisms.exponential import Exponential, by_distance
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.analyses.metric import estimate
from estimator.rehearsal.ground_truth import from_shares
from estimator.rehearsal.rehearsal import rehearse
from estimator.render import FORMATS
from estimator.report.report import make_report
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CROSS, Field, registry_text

COUNT: dict[str, Field] = {"purpose": "Why?", "kind": "count", "statistic": "distribution", "epsilon": 1}


def cached_functions() -> dict[str, int]:
    """Return the size of every cache of the vocabulary, by the function's name."""
    functions = (function for function in gc.get_objects() if type(function).__name__ == "_lru_cache_wrapper")
    return {
        f"{function.__module__}.{function.__qualname__}": function.cache_info().currsize
        for function in functions
        if str(function.__module__).startswith("client_sdk")
    }


@pytest.mark.slow
def test_perturbing_leaves_nothing_of_the_answer_in_a_cache() -> None:
    channel = Exponential.within(RequestedEpsilon.parse(1), by_distance(8))
    before = cached_functions()
    for value in range(channel.inputs):
        channel.perturb(value, SystemCoins())
    assert cached_functions() == before


@pytest.mark.slow
def test_a_count_without_an_end_is_rehearsed_like_any_other() -> None:
    registry = Registry.parse(registry_text(m=COUNT | {"max": 10**15}))
    (rehearsed,) = rehearse(from_shares(registry, 1000), seed=1).metrics
    assert rehearsed.reports == 1000


@pytest.mark.slow
def test_the_interval_of_a_difference_is_never_inside_out() -> None:
    registry = Registry.parse(registry_text(a=BOOLEAN, dark_mode=BOOLEAN, m=CROSS | {"cross": ["a", "dark_mode"]}))
    metric, window = registry.metric("m"), Window.parse("2026-11-20")
    for counts in product((0, 20, 40, 90), repeat=4):
        if sum(counts) >= 50:
            tally = Tally("m", metric.edition, window, closed=True, reports=sum(counts), counts=counts)
            differences = estimate(metric, tally).figures("difference")
            assert len(differences)
            assert all(-1 <= difference.low <= difference.high <= 1 for difference in differences)


@for_each("reports", [1, 49, 50, 60, 100, 2000])
def test_a_tally_that_no_population_makes_likely_spoils_no_report(reports: int) -> None:
    registry = Registry.parse(registry_text(m=COUNT | {"max": 40}))
    metric = registry.metric("m")
    counts = np.zeros(metric.channel.symbols, dtype=np.int64)
    counts[0] = reports
    tally = Tally("m", metric.edition, Window.parse("2026-11-20"), closed=True, reports=reports, counts=tuple(counts))
    report = make_report(registry, [tally])
    assert json.loads(FORMATS["json"](report))["metrics"]
    assert "nan" not in FORMATS["table"](report)
