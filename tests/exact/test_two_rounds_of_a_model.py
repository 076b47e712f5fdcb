"""A model is learned in one round and checked in the next, with the registries of its page.

The truth is within the intervals.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from client_sdk import ShippedModel
from client_sdk.protocol import Metric, Registry, Window
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.kind import NO_COINS
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.model import Model
from estimator import estimate
from estimator.analyses.pairs import auc_of_pairs
from estimator.analyses.ratios import Sample
from estimator.analyses.vectors import sampled_tally
from estimator.api import as_model_file
from estimator.decoders.inversions import inverse_of, sampler_of
from estimator.rehearsal.model_rehearsal import auc_of, drawn_tally
from estimator.results.group import FigureKey
from estimator.results.metric import MetricEstimate
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW
from estimator.tallies import Tally
from tests.support.devices.definitions import HEAD
from tests.support.estimates.inverses import requested

PAGE = Path(__file__).parents[2] / "docs" / "research" / "models.md"
FIRST, SECOND, APP = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
"""The registries of both rounds, and the code of the app."""

PEOPLE, DEVICES, CHECKS = 2_000, 40_000, 60
WINDOW = Window.parse("2026-11-23")
TWO_STEPS = Cross(Ordinal(("low", "high")), Boolean())
STEPS = ["below 10%", "10 to 30%", "30 to 60%", "60% or more"]


@cache
def people() -> list[dict[str, object]]:
    """Return true answers, by a law that is no line: the young and the old say yes more often."""
    generator = np.random.default_rng(8)
    ages = generator.uniform(10, 95, PEOPLE)
    healths = generator.choice(["good", "fair", "poor"], PEOPLE, p=[0.6, 0.3, 0.1])
    drive = np.abs(ages - 45) / 15 + 1.5 * (healths == "poor") - 3 + generator.logistic(size=PEOPLE)
    return [
        {"age": age, "sex": "fm"[row % 2], "health": str(health), "label": bool(yes)}
        for row, (age, health, yes) in enumerate(zip(ages.tolist(), healths, drive > 0, strict=True))
    ]


def tally_of(metric: Metric, counts: Counts) -> Tally:
    reports = int(counts.sum())
    return Tally(metric.name, metric.edition, WINDOW, closed=True, reports=reports, counts=counts.tolist())


def first_round(mechanism: str, folder: Path) -> ShippedModel:
    """Return what a device reads: the model of made-up devices."""
    registry = Registry.parse(f'{HEAD}{FIRST}mechanism = "{mechanism}"\n')
    metric, generator = registry.metric("limitation"), np.random.default_rng(1)
    encoded, each = np.array([metric.encode(answer, NO_COINS) for answer in people()]), np.full(PEOPLE, 10)
    channel = metric.channel.in_window(WINDOW.text)
    if isinstance(metric.kind, Model):
        assert isinstance(channel, RotatedAxes)
        counts = sampled_tally(channel, encoded, each, generator)
    else:
        counts = np.array(drawn_tally(metric, encoded, each, generator).counts)
    file = folder / "model.json"
    file.write_text(as_model_file(estimate(registry, [tally_of(metric, counts)]), registry, metric.name))
    return ShippedModel.read(file)


def second_round(cells: Counts, seed: int) -> MetricEstimate:
    """Return the report's cross of step and label, of devices drawn from the people."""
    registry, generator = Registry.parse(HEAD + SECOND), np.random.default_rng(seed)
    metric = registry.metric("score_and_limited")
    devices = generator.multinomial(DEVICES, np.bincount(cells, minlength=metric.channel.inputs) / len(cells))
    (estimated,) = estimate(registry, [tally_of(metric, sampler_of(metric.channel)(devices, generator))]).metrics
    return estimated


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["crosses", "rotated-axes"])
def test_the_second_round_finds_the_auc_and_the_calibration_of_the_first(tmp_path: Path, mechanism: str) -> None:
    model = first_round(mechanism, tmp_path)
    expected = np.array([model.probability(answer) for answer in people()])
    labels = np.array([answer["label"] is True for answer in people()])
    assert auc_of(expected, labels) > (0.75 if mechanism == "crosses" else 0.55)
    steps = np.array([bisect([0.1, 0.3, 0.6], each) for each in expected])
    used = np.unique(steps)
    assert len(used) > 1
    true_auc, true_shares = auc_of(steps, labels), [labels[steps == step].mean() for step in used]
    held: list[bool] = []
    for seed in range(CHECKS):
        estimated = second_round(2 * steps + labels, seed)
        auc = estimated.figure(FigureKey("auc_of_steps"))
        assert auc is not None
        assert auc.high - auc.low < 0.2  # it tells something
        held.append(auc.low <= true_auc <= auc.high)
        within = {share.value: share for share in estimated.figures("share_within")}
        shares = [within[STEPS[step], True] for step in used]
        held += [share.low <= truth <= share.high for share, truth in zip(shares, true_shares, strict=True)]
    of_auc = np.mean(held[:: len(used) + 1])
    assert np.mean(held) >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / len(held))
    assert of_auc >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / CHECKS)


def test_the_app_of_the_page_uses_the_steps_and_the_metrics_of_the_registry() -> None:
    registry = Registry.parse(HEAD + SECOND)
    assert list(registry.metric("score").labels) == STEPS
    recorded: dict[str, object] = {}

    class FakeTelemetry:
        @staticmethod
        def record(name: str, answer: object) -> None:
            registry.metric(name).encode(answer, NO_COINS)
            recorded[name] = answer

    class FakeModel:
        @classmethod
        def read(cls, _: Path) -> FakeModel:
            return cls()

        @staticmethod
        def probability(answer: dict[str, object]) -> float:
            Registry.parse(HEAD + FIRST).metric("limitation").encode(answer | {"label": True}, NO_COINS)
            return 0.3

    names = {"ShippedModel": FakeModel, "Path": Path, "telemetry": FakeTelemetry, "STEPS": STEPS, "bisect": bisect}
    exec(APP, names | {"__file__": __file__})  # noqa: S102 the page's own sample
    assert recorded == {"score": "30 to 60%", "limited": True}


def by_definition(pairs: Counts | Floats) -> float:
    """Return the AUC of people counted by step and label, pair by pair."""
    wins = sum(
        no * yes * ((high > low) + 0.5 * (high == low))
        for low, (no, _) in enumerate(pairs)
        for high, (_, yes) in enumerate(pairs)
    )
    return float(wins / pairs[:, 0].sum() / pairs[:, 1].sum())


def test_without_noise_the_auc_is_that_of_its_definition() -> None:
    for seed in range(20):
        pairs = np.random.default_rng(seed).integers(1, 30, size=(4, 2))
        counts = 10**8 * pairs.ravel()
        auc = auc_of_pairs(counts / counts.sum(), 1e-12 * np.eye(8), Sample(np.eye(8), counts), 1.96)
        assert auc.estimate == pytest.approx(by_definition(pairs))
        assert auc.low <= by_definition(pairs) <= auc.high < auc.low + 0.002


@pytest.mark.parametrize("counts", [(50, 0, 50, 0), (0, 50, 0, 50), (49, 1, 49, 1), (1, 2, 3, 4)])
def test_where_nobody_may_say_yes_or_no_or_few_report_any_auc_is_possible(counts: tuple[int, ...]) -> None:
    inverse = inverse_of(channel_for(TWO_STEPS, requested("8"), "auto"))
    sample = Sample.from_counts(inverse, np.array(counts))
    z = 1.96 if sample.reports >= EXACT_BELOW else math.inf
    auc = auc_of_pairs(inverse.shares(sample.counts, sample.reports), sample.covariance(inverse), sample, z)
    assert (auc.estimate, auc.standard_error, auc.low, auc.high) == (None, None, 0, 1)


def test_the_standard_error_of_auc_is_that_of_its_slopes() -> None:
    """To first order."""
    inverse = inverse_of(channel_for(TWO_STEPS, requested("2"), "auto"))
    counts = np.rint(inverse.symbol_law(np.array([0.4, 0.1, 0.2, 0.3])) * 10**7).astype(np.int64)
    sample = Sample.from_counts(inverse, counts)
    shares, covariance = inverse.shares(counts, sample.reports), sample.covariance(inverse)
    ends = [by_definition((shares + moved).reshape(2, 2)) for moved in 1e-6 * np.concatenate([np.eye(4), -np.eye(4)])]
    slopes = (np.array(ends[:4]) - ends[4:]) / 2e-6
    auc = auc_of_pairs(shares, covariance, sample, 1.96)
    assert auc.standard_error == pytest.approx(math.sqrt(slopes @ covariance @ slopes), rel=1e-6)


@pytest.mark.parametrize("pairs", [(0.45, 0.05, 0.2, 0.3), (0.5, 0.02, 0.47, 0.01), (0.1, 0.4, 0.4, 0.1)])
def test_intervals_of_auc_cover(pairs: tuple[float, ...]) -> None:
    inverse = inverse_of(channel_for(TWO_STEPS, requested("1"), "auto"))
    truth = by_definition(np.array(pairs).reshape(2, 2))
    generator, law = np.random.default_rng(4), inverse.symbol_law(np.array(pairs))
    rounds, held = 300, 0
    for counts in generator.multinomial(20_000, law / law.sum(), size=rounds):
        sample = Sample.from_counts(inverse, counts)
        auc = auc_of_pairs(inverse.shares(counts, 20_000), sample.covariance(inverse), sample, 1.96)
        held += auc.low <= truth <= auc.high
    assert held / rounds >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / rounds)
