"""The recipe of gradients in rounds: what a device records, a round's cost, and that it learns."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from client_sdk import Recorded, Telemetry
from client_sdk.protocol import Registry
from client_sdk.testing import FakeClock, KeptUploads
from examples.rounds.learn import (
    FIRST_THETA,
    HERE,
    METRIC,
    area,
    features_of,
    gradient_of,
    next_theta,
    people,
    play,
)
from tests.support.devices.clients import COLLECTOR

ROW = {
    "self_rated_health": "fair",
    "age": "61",
    "doctor_visits": "7",
    "chronic_disease_index": "20.5",
    "sex": "female",
}
TEXT = (HERE / "metrics.toml").read_text(encoding="utf-8")


def loss(theta: list[float], features: list[float], *, label: bool) -> float:
    score = sum(weight * feature for weight, feature in zip(theta, features, strict=True))
    return math.log1p(math.exp(-score if label else score))


@pytest.mark.parametrize("label", [True, False])
def test_a_device_records_the_gradient_of_its_own_loss(*, label: bool) -> None:
    theta, features, little = [0.3, -0.1, 0.2, 0.5, -0.4, 0.1, 0.7], features_of(ROW), 1e-6
    for place, slope in enumerate(gradient_of(theta, features, label=label)):
        moved = [weight + little * (at == place) for at, weight in enumerate(theta)]
        rise = loss(moved, features, label=label) - loss(theta, features, label=label)
        assert slope == pytest.approx(rise / little, abs=1e-5)


def test_each_round_is_a_metric_of_its_own_and_a_new_charge(tmp_path: Path) -> None:
    clock, transport = FakeClock(datetime(2026, 12, 1, 12, tzinfo=UTC)), KeptUploads()
    theta = FIRST_THETA
    for number in (1, 2):
        registry = Registry.parse(TEXT.replace(METRIC, f"gradient_{number}"))
        with Telemetry(
            registry, collector=COLLECTOR, data_dir=tmp_path, consent=True, clock=clock, transport=transport
        ) as device:
            recorded = device.record(f"gradient_{number}", gradient_of(theta, features_of(ROW), label=True))
            assert recorded is Recorded.QUEUED
            assert device.budget().lifetime_spent == pytest.approx(2.0 * number)
            device.flush()
        theta = next_theta(theta, [0.1] * len(theta))
        clock.now += timedelta(days=1)
    assert [report.metric for report in transport.reports] == ["gradient_1", "gradient_2"]


def test_nobody_is_learnt_from_and_tested_with() -> None:
    learnt_from, tested = people(0)
    assert len(learnt_from) > 1000 < len(tested)
    assert area([1.0, 2.0, 3.0, 4.0], [False, True, False, True]) == 0.75  # type: ignore[arg-type] # numbers in a row


def test_a_round_through_the_mechanism_learns_nearly_what_it_does_without_privacy() -> None:
    exact, private = (play(1, 50_000, epsilon, 0) for epsilon in (None, 4.0))
    assert exact > 0.72
    assert abs(private - exact) < 0.03
