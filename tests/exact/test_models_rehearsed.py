"""A model's rehearsal: what it says without privacy and with it, and tallies by the exact law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.model import CrossedModel
from estimator.rehearsal.model_rehearsal import People, auc_of, auc_without_privacy, drawn_tally, rehearse_model
from tests.support.devices.definitions import CROSSED_MODEL, MODEL, metric_of
from tests.support.laws.coins import ScriptedCoins

ROWS = 300


def people(*, related: bool) -> People:
    generator = np.random.default_rng(1)
    base = generator.normal(size=ROWS)
    label = (base if related else np.zeros(ROWS)) + 0.7 * generator.normal(size=ROWS) > 0
    ages, healths = 54 + 18 * base, np.where(base > 1, "poor", np.where(base > 0, "fair", "good"))
    answers: list[dict[str, object]] = [
        {"age": float(age), "sex": "f", "health": str(health), "label": bool(yes)}
        for age, health, yes in zip(ages, healths, label, strict=True)
    ]
    return People(answers, np.arange(ROWS) // 2)


def test_the_auc_is_how_often_a_yes_is_above_a_no() -> None:
    labels = np.array([True, True, False, False])
    assert auc_of(np.array([3.0, 2.0, 1.0, 0.0]), labels) == 1
    assert auc_of(np.array([0.0, 1.0, 2.0, 3.0]), labels) == 0
    assert auc_of(np.array([1.0, 1.0, 1.0, 1.0]), labels) == 0.5
    assert auc_of(np.array([3.0, 1.0, 2.0, 0.0]), labels) == 0.75


def test_privacy_costs_some_auc_and_more_devices_buy_it_back() -> None:
    metric, related = metric_of(CROSSED_MODEL, epsilon=1), people(related=True)
    plain = auc_without_privacy(related, metric, 4, 1)
    few, many = (rehearse_model(metric, related, devices, 4, 1).auc for devices in (200, 50_000))
    assert plain > 0.85
    assert few < many
    assert many == pytest.approx(plain, abs=0.08)


def test_products_are_rehearsed_by_real_reports() -> None:
    metric, related = metric_of(MODEL, epsilon=4), people(related=True)
    plain = auc_without_privacy(related, metric, 1, 1)
    assert rehearse_model(metric, related, 10_000, 1, 1).auc == pytest.approx(plain, abs=0.08)


def test_what_is_not_related_is_not_predicted() -> None:
    metric, unrelated = metric_of(CROSSED_MODEL, epsilon=4), people(related=False)
    assert 0.35 < rehearse_model(metric, unrelated, 5000, 4, 1).auc < 0.65


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        ([True] * 2 + [False] * 18, range(20)),
        ([True] * 18 + [False] * 2, range(20)),
        ([True, True, False, False], range(4)),
        ([True, False, True, False], [0, 0, 1, 1]),
        ([True, False, True, False], [0, 0, 1, 2]),
    ],
    ids=["two yes", "two no", "four persons", "two persons of both", "three persons"],
)
def test_people_held_back_and_people_learned_from_have_both_labels(labels: list[bool], groups: Sequence[int]) -> None:
    answers: list[dict[str, object]] = [{"label": label} for label in labels]
    few = People(answers, np.array(groups))
    for seed in range(50):
        held = few.held_back(np.random.default_rng(seed))
        assert set(few.labels[held]) == set(few.labels[~held]) == {True, False}
        assert not set(few.groups[held]) & set(few.groups[~held])


def test_a_rare_label_has_an_auc_in_every_round() -> None:
    metric, related = metric_of(CROSSED_MODEL, epsilon=4), people(related=True)
    rare = [answer | {"label": place in {0, 2}} for place, answer in enumerate(related.answers)]
    rehearsal = rehearse_model(metric, People(rare, related.groups), 200, 10, 1)
    assert all(0 <= auc <= 1 for auc in rehearsal.aucs)


def test_one_seed_gives_one_rehearsal() -> None:
    metric, related = metric_of(CROSSED_MODEL, epsilon=4), people(related=True)
    assert rehearse_model(metric, related, 1000, 2, 7) == rehearse_model(metric, related, 1000, 2, 7)
    assert rehearse_model(metric, related, 1000, 2, 7) != rehearse_model(metric, related, 1000, 2, 8)


def test_drawn_crosses_have_the_law_of_devices() -> None:
    metric, devices = metric_of(CROSSED_MODEL, epsilon=1), 10**6
    assert isinstance(metric.kind, CrossedModel)
    assert isinstance(metric.channel, Crosses)
    rows = [metric.encode(answer, ScriptedCoins([])) for answer in people(related=True).answers[:2]]
    counts = np.array([devices, 2 * devices])
    tally = drawn_tally(metric, np.array(rows), counts, np.random.default_rng(1))
    drawn = tally.dense(metric.channel.symbols)
    assert drawn.sum() == tally.reports == 3 * devices
    expected = np.array(
        [
            sum(float(metric.channel.probability(symbol, row)) * count for row, count in zip(rows, counts, strict=True))
            for symbol in range(metric.channel.symbols)
        ]
    )
    assert (abs(drawn - expected) < 6 * np.sqrt(expected)).all()  # six standard errors of a count
