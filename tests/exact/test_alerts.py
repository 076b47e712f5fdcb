"""The rate of false alarms of an alert, summed over every tally that a population can have."""

from __future__ import annotations

import math

import numpy as np

from client_sdk.protocol import Registry, Window
from estimator.analyses.metric import analysis_of
from estimator.report.alerts import judged, read_alert
from estimator.results.report import PLAIN
from estimator.statistics.confidence import CONFIDENCE
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, registry_text

DAY = Window.parse("2026-11-20")


@for_each("epsilon", [0.5, 3])
@for_each("reports", [50, 200])
@for_each("operator", [">", "<"])
def test_an_alert_at_the_truth_fires_no_more_often_than_intervals_miss(
    epsilon: float, reports: int, operator: str
) -> None:
    registry = Registry.parse(registry_text(m=BOOLEAN | {"epsilon": epsilon}))
    metric = registry.metric("m")
    keep, lie = (float(metric.channel.probability(1, given)) for given in (1, 0))
    tallies = [Tally("m", metric.edition, DAY, True, reports, [reports - ones, ones]) for ones in range(reports + 1)]  # noqa: FBT003 closed
    estimated = list(analysis_of(metric).estimates(tallies, PLAIN))
    for truth in (0.05, 0.3, 0.5, 0.77, 0.95):
        alert = read_alert(registry, f"m.share[yes] {operator} {truth}")
        fired = np.array([each.fired for each in judged([alert], estimated)])
        false_alarms = _binomial(reports, lie + (keep - lie) * truth)[fired].sum()
        assert 0 < false_alarms <= 1 - CONFIDENCE
        far = 0.999 if operator == ">" else 0.001
        assert _binomial(reports, lie + (keep - lie) * far)[fired].sum() > false_alarms


def _binomial(trials: int, probability: float) -> np.ndarray:
    logs = [math.log(math.comb(trials, ones)) for ones in range(trials + 1)]
    ones = np.arange(trials + 1)
    return np.exp(logs + ones * math.log(probability) + (trials - ones) * math.log(1 - probability))
