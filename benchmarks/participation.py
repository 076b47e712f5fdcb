"""How the strategies spend a lifetime, over a million device-windows, and what `sample` gains over
`split`.

`python -m benchmarks.participation` prints it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from functools import partial
from statistics import fmean

import numpy as np

from benchmarks.results import table, verdict
from client_sdk.protocol import Registry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from tests.support.devices.clients import ask
from tests.support.devices.cohort import Charge, IsOn, always, day_of, exceeded, live, on_random_days

DAYS = 365
DEVICE_WINDOWS = 10**6
SEED = 7

DEVICES = 100_000
ROUNDS = 40_000
"""The ratio of two mean squared errors of this many rounds each is off by 1 % (one standard
deviation).
"""

EPSILON = 1
"""What a device spends in a window."""

SHARE = 0.3


def booleans(number: int, budget: str) -> Registry:
    """Return a number of yes or no questions at epsilon 1, asked for a year."""
    tables = (f'[metric.m{index}]\nkind = "boolean"\nexpires = 2026-12-31\n' for index in range(number))
    return ask("".join(tables), budget)


REGISTRIES = {
    "split": booleans(3, "per_window = 2\nper_month = 20\nlifetime = 60"),
    "sample": booleans(5, 'strategy = "sample"\nanswers = 2\nper_month = 30\nlifetime = 100'),
    "pace": booleans(3, 'strategy = "pace"\nlifetime = 60'),
}

HABITS: dict[str, Callable[[int], IsOn]] = {
    "always on": lambda _: always,
    "on three days of four": partial(on_random_days, share=0.75),
    "on every other day, at random": partial(on_random_days, share=0.5),
    "on one day of ten, at random": partial(on_random_days, share=0.1),
}


def measure_participation() -> str:
    """Return the section of the results."""
    return "## Budget over time\n\n" + spending() + "\n" + sampling()


def lived(task: tuple[str, str, int]) -> tuple[float, int, int]:
    """Return the share of a device's lifetime that was spent, its last day, and how many ceilings
    it broke.
    """
    strategy, habit, seed = task
    registry = REGISTRIES[strategy]
    answers: dict[str, object] = dict.fromkeys(registry.metrics, True)
    charges: list[Charge] = live(registry, seed, DAYS, is_on=HABITS[habit](seed), answers=answers)
    spent = sum(charge.nanos for charge in charges) / registry.budget.lifetime_nanos
    return spent, max((day_of(charge.window) for charge in charges), default=0), len(list(exceeded(registry, charges)))


def spending() -> str:
    """Return what devices spend by strategy and habit."""
    kinds = [(strategy, habit) for strategy in REGISTRIES for habit in HABITS]
    devices = DEVICE_WINDOWS // DAYS // len(kinds) + 1
    tasks = [(*kind, seed) for kind in kinds for seed in range(devices)]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        lives = pool.map(lived, tasks, chunksize=8)
    by_kind = {kind: lives[index * devices : (index + 1) * devices] for index, kind in enumerate(kinds)}
    broken = sum(exceeding for _, _, exceeding in lives)
    rows = [
        [*kind, percent(fmean(spent)), percent(min(spent)), f"{fmean(last) + 1:.0f}"]
        for kind, spent_by in by_kind.items()
        for spent, last, _ in [zip(*spent_by, strict=True)]
    ]
    paced = min(spent for spent, _, _ in by_kind["pace", "always on"])
    latest = min(last for _, last, _ in by_kind["pace", "always on"]) + 1
    return (
        f"{len(tasks) * DAYS:,} device-windows of a year ({devices} devices a row), in each of which every\n"
        "answer that is asked is recorded:\n\n"
        + table(("strategy", "devices", "lifetime spent", "least", "last day, mean"), rows)
        + "\nCeilings exceeded: "
        + verdict(broken == 0, str(broken), "0")
        + "\n`pace`, always on, of the lifetime at least: "
        + verdict(paced >= 0.95, percent(paced), "≥ 95 %")
        + "\n`pace`, always on, the earliest last day (strata are 18 or 19 days long): "
        + verdict(latest > DAYS - 19, str(latest), f"> {DAYS - 19}")
    )


def percent(share: float) -> str:
    """Return a share as it is shown."""
    return f"{100 * share:.1f} %"


def errors(metrics: int, *, sampled: bool, generator: np.random.Generator) -> float:
    """Return the mean squared error of one share, by tallies drawn from the channel's exact law."""
    epsilon = RequestedEpsilon.parse(EPSILON if sampled else EPSILON / metrics)
    channel = RandomizedResponse.within(epsilon)
    low, high = float(channel.probability(1, 0)), float(channel.probability(1, 1))
    devices = generator.binomial(DEVICES, 1 / metrics, ROUNDS) if sampled else np.full(ROUNDS, DEVICES)
    tallies = generator.binomial(devices, low + (high - low) * SHARE)
    estimates = (tallies / devices - low) / (high - low)
    return float(np.mean((estimates - SHARE) ** 2))


def variance(epsilon: float) -> float:
    """Return the variance of a share for one device, by the closed form of randomized response."""
    keep = np.exp(epsilon) / (np.exp(epsilon) + 1)
    yes = SHARE * keep + (1 - SHARE) * (1 - keep)
    return float(yes * (1 - yes) / (2 * keep - 1) ** 2)


def sampling() -> str:
    """Return how the errors of `sample` and `split` compare, measured and by theory."""
    generator = np.random.default_rng(SEED)
    rows, worst = [], 0.0
    for metrics in (4, 16):
        split, sampled = (errors(metrics, sampled=is_sampled, generator=generator) for is_sampled in (False, True))
        theory = variance(EPSILON / metrics) / (metrics * variance(EPSILON))
        worst = max(worst, abs(split / sampled / theory - 1))
        rows.append([str(metrics), f"{split:.3g}", f"{sampled:.3g}", f"{split / sampled:.2f}", f"{theory:.2f}"])
    return (
        f"Epsilon {EPSILON} a device and window, {DEVICES:,} devices, yes or no questions to which {SHARE:.0%} say\n"
        "yes: mean squared error of a share, where each question gets its part of epsilon, and where one is drawn:\n\n"
        + table(("questions", "split", "sample", "ratio", "by theory"), rows)
        + "\nThe ratio is off theory by at most: "
        + verdict(worst <= 0.05, percent(worst), "≤ 5 %")
    )


if __name__ == "__main__":
    sys.stdout.write(measure_participation())
