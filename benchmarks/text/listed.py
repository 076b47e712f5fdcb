"""The coverage of intervals for the shares of found strings.

The estimator lists the strings that it finds in a tally. The number of lists is large enough to
distinguish a coverage of 93% from 95%.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from benchmarks.results import table, verdict
from benchmarks.text.populations import random_strings
from benchmarks.text.surveys import Survey
from client_sdk.protocol.text import CUT, Text
from estimator.discovery.texts import discover

HELD: Final = 0.93
POPULATIONS: Final = 20
FIRST_SEED: Final = 1000
"""The first seed. No other measurement uses the populations of these seeds."""


class Setting(NamedTuple):
    """One row of the table.

    Attributes:
        cells: the approximate number of cells per group (see `surveys`).
        lists: the number of random tallies from each population. Each tally gives one list of
            strings.

    """

    epsilon: float
    cells: int
    devices: int
    lists: int


SETTINGS: Final = (
    Setting(1, 2**17, 10**6, 25),
    Setting(2, 2**17, 10**6, 10),
    Setting(4, 2**17, 10**6, 4),
    Setting(4, 2**12, 10**6, 4),
)

HEADING: Final = ("epsilon", "cells", "devices", "lists", "intervals", "contain the share", "above it", "below it")


def listed() -> str:
    rows, least = [], 1.0
    for setting in SETTINGS:
        sides = np.concatenate([_sides(setting, FIRST_SEED + number) for number in range(POPULATIONS)])
        parts = [float((sides == side).mean()) for side in (0, 1, -1)]
        least = min(least, parts[0])
        rows.append(
            [
                f"{setting.epsilon:g}",
                f"{setting.cells:,}",
                f"{setting.devices:,}",
                f"{setting.lists * POPULATIONS}",
                f"{sides.size:,}",
                *(f"{part:.3f}" for part in parts),
            ]
        )
    return (
        "\n### Intervals of listed strings\n\n"
        f"There are {POPULATIONS} populations of random strings. The number of reports that support a hash cell is\n"
        "drawn from its exact distribution. The last three columns are parts of the intervals of all listed\n"
        "strings that devices have: the intervals that contain the true share, lie above it, or lie below it.\n\n"
        + table(HEADING, rows)
        + "\nThe lowest coverage: "
        + verdict(least >= HELD, f"{least:.3f}", f"≥ {HELD:g}")
    )


def _sides(setting: Setting, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the side of the true share on which each interval lies.

    0 means that the interval contains the share. 1 means that it lies above the share, and -1 below
    the share.
    """
    population = random_strings(seed=seed)
    survey = Survey.asked(population, setting.epsilon, cells=setting.cells)
    domain, truth = survey.metric.kind, dict(zip(population.strings, population.shares.tolist(), strict=True))
    assert isinstance(domain, Text)
    sides = []
    for run in range(setting.lists):
        shares = discover(domain, survey.by_cell(setting.devices, np.random.default_rng([seed, run]))).shares
        names = [str(label).removesuffix(CUT) for label in shares.labels]
        ends = zip(names, shares.lows.tolist(), shares.highs.tolist(), strict=True)
        sides += [(low > truth[name]) - (high < truth[name]) for name, low, high in ends if name in truth]
    return np.array(sides, dtype=np.int64)
