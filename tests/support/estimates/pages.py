"""Tallies for pages: every kind of question over two weeks, with a gap, a poor window, an open one,
and a change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

import numpy as np

from client_sdk.protocol import Metric, Registry
from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.model import CrossedModel, Model
from client_sdk.protocol.text import Text
from client_sdk.protocol.vector import UNIT, Ball, lifted
from estimator.analyses.texts import sampled_texts
from estimator.analyses.vectors import sampled_tally
from estimator.decoders.inversions import sampler_of
from estimator.statistics.arrays import Counts
from tests.support.laws.coins import ScriptedCoins

FIRST_DAY: Final = date(2026, 11, 2)
DAYS: Final = 9
MISSING_DAY: Final = 3
POOR_DAY: Final = 5
OPEN_DAY: Final = DAYS - 1
REPORTS: Final = 4000
POOR: Final = 30
SEED: Final = 20261121


PEOPLE: Final = [
    {"age": age, "sex": sex, "health": health, "label": age > 50 or health == "poor"}
    for age in (20, 45, 70)
    for sex in ("f", "m")
    for health in ("good", "poor")
]
"""Answers for the features of `tests.support.devices.definitions.MODEL`."""

NO_COINS: Final = ScriptedCoins([])
"""Features are rounded without chance."""


def day(number: int) -> str:
    """Return the window of a day."""
    return (FIRST_DAY + timedelta(days=number)).isoformat()


def tallies(registry: Registry, days: range = range(DAYS)) -> bytes:
    """Return tallies of all questions, drawn from their law: a population that drifts to its last
    answers.
    """
    generator = np.random.default_rng(SEED)
    lines = (line for metric in registry.metrics.values() for line in _lines(metric, days, generator))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _lines(metric: Metric, days: range, generator: np.random.Generator) -> Iterator[dict[str, object]]:
    for number in days:
        if number == MISSING_DAY:
            continue
        counts = _counts(metric, number, generator)
        reported = np.flatnonzero(counts)
        is_sparse = metric.channel.turns
        yield {
            "metric": metric.name,
            "edition": metric.edition,
            "window": day(number),
            "closed": number != OPEN_DAY,
            "reports": int(counts.sum()),
            "counts": (counts[reported] if is_sparse else counts).tolist(),
        } | ({"symbols": reported.tolist()} if is_sparse else {})


def _counts(metric: Metric, number: int, generator: np.random.Generator) -> Counts:
    """Return the number of devices that report each symbol on a day."""
    reports = POOR if number == POOR_DAY else REPORTS
    if isinstance(metric.kind, Model | CrossedModel):
        people = generator.multinomial(reports, [1 / len(PEOPLE)] * len(PEOPLE))
        return _of_people(metric, day(number), people, generator)
    if metric.channel.turns:
        channel = metric.channel.in_window(day(number))
        assert isinstance(channel, RotatedAxes)
        assert isinstance(metric.kind, Ball)
        vector = lifted(_vector(metric.kind.length, number), channel.dimension)
        return sampled_tally(channel, np.array([vector], float), np.array([reports]), generator)
    if isinstance(metric.kind, Text) and isinstance(metric.channel, GroupedGeometry):
        common, other = map(metric.kind.number_of, ("the", "zebra"))
        return sampled_texts(metric.kind, metric.channel, {(common,): reports - 20, (other,): 20}, generator)
    weights = np.linspace(1.0, 1.0 + number / 2, metric.channel.inputs)
    people = generator.multinomial(reports, weights / weights.sum())
    return sampler_of(metric.channel)(people, generator)


def _of_people(metric: Metric, window: str, people: Counts, generator: np.random.Generator) -> Counts:
    """Return how many devices report each symbol of a model, given the numbers of the `PEOPLE`."""
    channel = metric.channel.in_window(window)
    answers = np.array([metric.kind.encode(person, channel.inputs, NO_COINS) for person in PEOPLE])
    if isinstance(channel, RotatedAxes):
        return sampled_tally(channel, answers.astype(float), people, generator)
    assert isinstance(channel, Crosses)
    features = generator.multinomial(people, [1 / channel.inputs] * channel.inputs)
    parts = [
        sampler_of(feature)(np.bincount(cells, devices, feature.inputs).astype(np.int64), generator)
        for feature, cells, devices in zip(channel.features, answers.T, features.T, strict=True)
    ]
    return np.concatenate(parts)


def _vector(length: int, number: int) -> list[int]:
    """Return a vector whose coordinates fall in size, and whose first one grows from day to day."""
    sizes = [UNIT * (-1) ** place // (2 * (place + 2)) for place in range(length)]
    return [UNIT * (number + 1) // 16, *sizes[1:]]
