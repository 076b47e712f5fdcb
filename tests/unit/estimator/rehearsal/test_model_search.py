"""The fewest devices for a loss of AUC, with rehearsals whose loss is known."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from estimator.rehearsal import model_rehearsal
from estimator.rehearsal.model_rehearsal import (
    FEWEST_DEVICES,
    MOST_DEVICES,
    MOST_REHEARSALS,
    ModelRehearsal,
    People,
    devices_for,
)
from tests.support.devices.definitions import CROSSED_MODEL, metric_of

METRIC, NOBODY = metric_of(CROSSED_MODEL), People([], np.zeros(0, dtype=np.int64))
PLAIN = (0.8, 0.9)
"""The AUC of each round without privacy."""


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the loss of both rounds be 1 over the root of the devices, and .01 more and less.

    Note what is tried.
    """
    numbers: list[int] = []

    def rehearsed(_metric: object, _people: object, devices: int, *_: int) -> ModelRehearsal:
        numbers.append(devices)
        return ModelRehearsal(
            devices, tuple(auc - 1 / math.sqrt(devices) - at for auc, at in zip(PLAIN, (-0.01, 0.01), strict=True))
        )

    monkeypatch.setattr(model_rehearsal, "rehearse_model", rehearsed)
    monkeypatch.setattr(model_rehearsal, "aucs_without_privacy", lambda *_: PLAIN)
    return numbers


@pytest.mark.parametrize("target", [0.03, 0.02, 0.0115, 0.0105])
def test_the_fewest_are_found_within_an_eighth_of_a_doubling(tried: list[int], target: float) -> None:
    steps: list[int] = []
    fewest = devices_for(METRIC, NOBODY, target, rounds=2, seed=1, advance=steps.append)
    assert fewest is not None
    needed = 1 / (target - 0.01) ** 2
    assert needed <= fewest.rehearsal.devices * (1 + 1e-9) <= 1.12 * needed
    assert fewest.mean == pytest.approx(1 / math.sqrt(fewest.rehearsal.devices))
    assert fewest.error == pytest.approx(0.01)
    assert len(steps) == len(tried) <= MOST_REHEARSALS
    doubled = tried[: tried.index(max(tried)) + 1]
    assert all(after == 2 * before for before, after in pairwise(doubled))


def test_where_the_fewest_are_enough_nothing_else_is_tried(tried: list[int]) -> None:
    fewest = devices_for(METRIC, NOBODY, 0.11, rounds=2, seed=1, advance=lambda _: None)
    assert fewest is not None
    assert [fewest.rehearsal.devices] == tried == [FEWEST_DEVICES]


def test_where_the_most_are_not_enough_there_is_no_number(tried: list[int]) -> None:
    assert devices_for(METRIC, NOBODY, 0.0101, rounds=2, seed=1, advance=lambda _: None) is None
    assert tried[-1] == MOST_DEVICES
