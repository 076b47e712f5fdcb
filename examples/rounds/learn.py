"""Learns a logistic regression in rounds, from gradients that devices report privately.

`features_of` and `gradient_of` run on the device. `next_theta` runs on the analyst's machine.
`play` runs all three functions for the people of the health example. `play` draws reports from the
mechanism's distribution and simulates no devices:

    .venv/bin/python -m examples.rounds.learn
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import estimator
from client_sdk.protocol import Registry, Window
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.testing import SeededCoins
from estimator.analyses.vectors import sampled_tally
from estimator.tallies import Tally

HERE: Final = Path(__file__).parent
PEOPLE: Final = HERE.parent / "health" / "health.csv"
METRIC: Final = "gradient_1"

FIRST_THETA: Final = [-4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
"""The parameters of the first release. These parameters express only that few people have a
limitation.
"""

STEP: Final = 8.0

TEST_SHARE: Final = 0.3

LEARNT_FROM: Final = 3000
"""The number of rows that devices are drawn from. More rows would slow the simulation down."""

SPLITS: Final = 3

Floats = npt.NDArray[np.float64]


def features_of(row: Mapping[str, str]) -> list[float]:
    """Return a device's features, as numbers from -1 to 1 that are about 0 for most people.

    The scales are guesses from before the first answer. Like theta, the scales are part of the app.
    """
    health = row["self_rated_health"]
    numbers = [
        0.5,
        (float(row["age"]) - 25) / 35,
        math.log1p(float(row["doctor_visits"])) / 1.5 - 0.8,
        (float(row["chronic_disease_index"]) - 12) / 12,
        0.5 if row["sex"] == "female" else -0.5,
        1.0 if health == "fair" else -0.3,
        1.0 if health == "poor" else -0.3,
    ]
    return [max(-1.0, min(1.0, number)) for number in numbers]


def gradient_of(theta: Sequence[float], features: Sequence[float], *, label: bool) -> list[float]:
    """Return the gradient of the logistic loss. The device's `record` shortens the gradient."""
    score = sum(weight * feature for weight, feature in zip(theta, features, strict=True))
    error = 1 / (1 + math.exp(-score)) - label
    return [error * feature for feature in features]


def next_theta(theta: Sequence[float], mean_gradient: Sequence[float]) -> list[float]:
    """Return the parameters of the next release, one step against the estimated mean gradient."""
    return [weight - STEP * slope for weight, slope in zip(theta, mean_gradient, strict=True)]


def area(scores: Floats, labels: Sequence[bool]) -> float:
    """Return the AUC: how often a person with the label scores higher than a person without."""
    positive = np.array(labels)
    ranks = np.argsort(np.argsort(scores)) + 1
    yes = int(positive.sum())
    return float((ranks[positive].sum() - yes * (yes + 1) / 2) / (yes * (len(labels) - yes)))


def people(seed: int) -> tuple[list[tuple[list[float], bool]], list[tuple[list[float], bool]]]:
    """Return the features and labels of the people for training, and of those for the test."""
    with PEOPLE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["physical_limitation"]]
    persons = sorted({row["person"] for row in rows})
    of_test = set(np.random.default_rng(seed).choice(persons, int(TEST_SHARE * len(persons)), replace=False).tolist())
    parts: tuple[list[tuple[list[float], bool]], ...] = ([], [])
    for row in rows:
        parts[row["person"] in of_test].append((features_of(row), row["physical_limitation"] == "yes"))
    return parts[0][:: max(1, len(parts[0]) // LEARNT_FROM)], parts[1]


def registry_at(epsilon: float) -> Registry:
    """Return the example's registry with another epsilon."""
    text = (HERE / "metrics.toml").read_text(encoding="utf-8")
    return Registry.parse(
        text.replace("epsilon = 2.0", f"epsilon = {epsilon}").replace("per_window = 2.0", f"per_window = {epsilon}")
    )


def play(rounds: int, devices: int, epsilon: float | None, seed: int) -> float:
    """Learn in rounds, and return the AUC for the people of the test.

    Each device answers in one round, so it spends epsilon once. An epsilon of None means no
    privacy.
    """
    generator = np.random.default_rng(seed)
    learnt_from, tested = people(seed)
    theta = FIRST_THETA
    for number in range(rounds):
        counts = generator.multinomial(devices // rounds, np.full(len(learnt_from), 1 / len(learnt_from)))
        gradients = [gradient_of(theta, features, label=label) for features, label in learnt_from]
        if epsilon is None:
            mean = np.average(gradients, axis=0, weights=counts).tolist()
        else:
            mean = reported_mean(registry_at(epsilon), gradients, counts, number, generator)
        theta = next_theta(theta, mean)
    scores = np.array([features for features, _ in tested]) @ np.array(theta)
    return area(scores, [label for _, label in tested])


def reported_mean(
    registry: Registry,
    gradients: Sequence[Sequence[float]],
    counts: npt.NDArray[np.int64],
    number: int,
    generator: np.random.Generator,
) -> list[float]:
    """Return the estimated mean if ``counts[i]`` devices recorded gradient i."""
    metric, window = registry.metric(METRIC), Window.parse(f"2027-{1 + number % 12:02}-{1 + number // 12:02}")
    channel = metric.channel.in_window(window.text)
    assert isinstance(channel, RotatedAxes)  # noqa: S101 the only channel of vectors
    encoded = [metric.kind.encode(gradient, channel.inputs, SeededCoins(0)) for gradient in gradients]
    tally = sampled_tally(channel, np.array(encoded, dtype=np.float64), counts, generator)
    read = Tally(metric.name, metric.edition, window, closed=True, reports=int(tally.sum()), counts=tally.tolist())
    (estimated,) = estimator.estimate(registry, [read]).metrics
    return [coordinate.estimate or 0.0 for coordinate in estimated.figures("coordinate")]


def main() -> None:
    """Print the AUC by rounds, devices and epsilon, averaged over splits of the people."""
    print("rounds  devices  epsilon 1      2      4  no privacy")
    for devices in (10**4, 10**5):
        for rounds in (1, 5):
            areas = [
                np.mean([play(rounds, devices, epsilon, seed) for seed in range(SPLITS)])
                for epsilon in (1.0, 2.0, 4.0, None)
            ]
            print(f"{rounds:6} {devices:8,}      {'  '.join(f'{each:.3f}' for each in areas)}", flush=True)


if __name__ == "__main__":
    main()
