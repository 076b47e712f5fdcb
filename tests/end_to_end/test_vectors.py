"""Vectors from devices through a collector to a report: the mean, as far as their intervals say."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import NormalDist

import numpy as np

import estimator
from client_sdk import Recorded, Telemetry
from client_sdk.protocol import Registry, Report, Upload, Window, WindowKind
from client_sdk.testing import SeededCoins
from estimator.tallies import Tally
from tests.support.devices.definitions import VECTOR, registry_text
from tests.support.services.processes import running_collector
from tests.support.services.wire import post, tallies

DEVICES, BY_SDK = 400, 3
TRUTH = [0.6, -0.5, 0.0, 0.4]
FALSE_ALARM = 1e-9
WIDER = NormalDist().inv_cdf(1 - FALSE_ALARM / 2 / len(TRUTH)) / NormalDist().inv_cdf(1 - 0.05 / 2 / len(TRUTH))
"""Three devices draw coins that no seed fixes, so intervals of 95% would fail one run in twenty."""


def test_the_mean_of_vectors_comes_out_of_real_tallies(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(embedding=VECTOR | {"length": 4, "epsilon": 6}), encoding="utf-8")
    registry = Registry.read(path)
    metric, window = registry.metric("embedding"), Window.at(WindowKind.DAY, time.time()).text
    with running_collector(path, tmp_path / "data") as collector:
        for number in range(BY_SDK):
            with Telemetry(path, collector=collector.url, data_dir=tmp_path / str(number), consent=True) as device:
                assert device.record("embedding", np.array(TRUTH)) is Recorded.QUEUED
                device.flush()
        symbols = [metric.perturb(TRUTH, SeededCoins(seed), window) for seed in range(BY_SDK, DEVICES)]
        for first in range(0, len(symbols), 200):
            reports = [Report(metric.name, metric.edition, window, symbol) for symbol in symbols[first : first + 200]]
            status, answer = post(collector.url, Upload(f"{first:032x}", tuple(reports)))
            assert (status, answer["refused"]) == (200, [])
        (tally,) = tallies(collector.url, "?preliminary=1")
    assert tally["reports"] == DEVICES
    read = Tally("embedding", metric.edition, Window.parse(window), True, DEVICES, tally["counts"], tally["symbols"])  # noqa: FBT003 closed
    (estimated,) = estimator.estimate(registry, [read], simultaneous=True).metrics
    coordinates = estimated.figures("coordinate")
    assert [coordinate.value for coordinate in coordinates] == [0, 1, 2, 3]
    for each, true in zip(coordinates, TRUTH, strict=True):
        assert each.estimate is not None
        assert abs(each.estimate - true) <= WIDER * (each.high - each.low) / 2
    assert float(np.max(coordinates.highs - coordinates.lows)) < 0.15
