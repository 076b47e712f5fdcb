"""What is promised of found texts, over populations that nobody chose for it.

Besides, the benchmark's smallest cell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb

import numpy as np
import pytest

from benchmarks.text.populations import LETTERS, Population, random_strings
from benchmarks.text.scores import Score, scored
from benchmarks.text.surveys import WHOLE, Survey
from client_sdk.protocol.text import Text
from estimator.discovery.texts import discover

CELLS = 2**13
LONGEST = 8
DEVICES = 200_000
FEW_DEVICES = 2_000
RUNS = 12
CHANCE = 1e-3
"""A number of failures that is less likely than this refutes a promise.

Seeds are fixed: it happens always or never.
"""


def of_shares(name: str, shares: dict[str, float]) -> Population:
    """Return a population of strings with shares in these proportions."""
    strings = sorted(shares, key=lambda string: -shares[string])
    weights = np.array([shares[string] for string in strings])
    return Population(name, LONGEST, tuple(strings), weights / weights.sum())


def rest(number: int = 300) -> dict[str, float]:
    """Return random strings, which have a half of a population together."""
    return dict.fromkeys(random_strings(number, LONGEST, seed=7).strings, 0.5 / number)


def neighbors() -> dict[str, float]:
    """Return full-length strings: some differ in their last letter, others in their first."""
    return {f"abcdefg{letter}": 0.02 for letter in LETTERS[:20]} | {f"{letter}bcdefgh": 0.03 for letter in LETTERS[:20]}


def beginnings() -> dict[str, float]:
    """Return each beginning of one string, the empty one too."""
    return {"pineapple"[:length]: 0.06 for length in range(LONGEST + 1)}


POPULATIONS: dict[str, Callable[[], dict[str, float]]] = {
    "by Zipf's law": lambda: dict(zip(*_zipf(), strict=True)),
    "one string has 60%": lambda: {"heavy": 0.6} | rest(),
    "all alike": lambda: {"same": 1.0},
    "all without letters": lambda: {"": 1.0},
    "nothing stands out": lambda: rest(2000),
    "neighbors": lambda: neighbors() | rest(),
    "beginnings of each other": lambda: beginnings() | rest(),
    "first and last letter alone": lambda: {LETTERS[0] * 8: 0.2, LETTERS[-1] * 8: 0.2, LETTERS[-1]: 0.1} | rest(),
    "two of 50%": lambda: {"left": 0.5, "right": 0.5},
}
"""One more population is one more line."""

WHOLLY = ("by Zipf's law", "neighbors")
"""Of whose many devices tallies are drawn symbol by symbol, and inverted."""

OF_FEW = ("one string has 60%", "beginnings of each other")


def _zipf() -> tuple[tuple[str, ...], list[float]]:
    population = random_strings(2000, LONGEST)
    return population.strings, population.shares.tolist()


@cache
def scores_of(name: str, devices: int) -> list[Score]:
    """Return what lists tell.

    A tally is drawn whole if that is cheap or in `WHOLLY`, otherwise cell by cell.
    """
    survey = Survey.asked(of_shares(name, POPULATIONS[name]()), 4, cells=CELLS)
    domain = survey.metric.kind
    assert isinstance(domain, Text)
    draw = survey.tables if name in WHOLLY or devices == FEW_DEVICES else survey.by_cell
    tables = (draw(devices, np.random.default_rng(seed)) for seed in range(RUNS))
    return [scored(discover(domain, each), survey.population) for each in tables]


def chance_of_at_least(failures: int, trials: int, probability: float) -> float:
    """Return the upper tail of the binomial law."""
    return sum(
        comb(trials, count) * probability**count * (1 - probability) ** (trials - count)
        for count in range(failures, trials + 1)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "devices"), [*((name, DEVICES) for name in POPULATIONS), *((name, FEW_DEVICES) for name in OF_FEW)]
)
def test_lists_hold_no_false_strings_and_intervals_hold_true_shares(name: str, devices: int) -> None:
    scores = scores_of(name, devices)
    lists_with_false_ones = sum(score.false > 0 for score in scores)
    assert chance_of_at_least(lists_with_false_ones, RUNS, 0.05) > CHANCE
    true = sum(score.proved - score.false for score in scores)
    missed = true - sum(score.held for score in scores)
    assert chance_of_at_least(missed, true, 0.07) > CHANCE


@pytest.mark.slow
@pytest.mark.parametrize("devices", [DEVICES, 2 * WHOLE])
def test_the_smallest_cell_of_the_benchmark_finds_most_frequent_strings(devices: int) -> None:
    scores = scores_of("by Zipf's law", devices)
    assert np.mean([score.f1 for score in scores]) >= 0.55


def test_the_benchmark_puts_strings_into_the_cells_of_devices() -> None:
    survey = Survey.asked(random_strings(50), 2, cells=CELLS)
    domain = survey.metric.kind
    assert isinstance(domain, Text)
    expected = [
        domain.cells_of(domain.number_of(text), survey.metric.channel.inputs) for text in survey.population.strings
    ]
    assert survey.cells.tolist() == [list(cells) for cells in expected]


def test_a_tally_of_the_benchmark_has_every_device() -> None:
    survey = Survey.asked(of_shares("rest", rest()), 4, cells=CELLS)
    drawn = survey.drawn(DEVICES, np.random.default_rng(1))
    assert drawn.sum() == DEVICES
    assert survey.tables(2 * WHOLE, np.random.default_rng(1)).reports.sum() == 2 * WHOLE
