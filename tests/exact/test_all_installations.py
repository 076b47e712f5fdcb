"""Bounds on the figures of all installations, by enumeration: whichever devices take part, whatever
they and the others would answer, and whichever of them the schedule asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from typing import NamedTuple

import pytest

from client_sdk.protocol import Metric, Registry
from estimator.report.report import make_report
from estimator.report.strata import MISS
from estimator.results.metric import PARTICIPATION_CONFIDENCE, MetricEstimate
from estimator.results.report import Request, Selection
from estimator.statistics.confidence import CONFIDENCE as OF_INTERVALS
from estimator.statistics.confidence import trials_interval
from estimator.tallies import decode
from tests.support.devices.clients import ask

INSTALLS = 7

PROMISED = Fraction(str(OF_INTERVALS)) - (1 - Fraction(str(PARTICIPATION_CONFIDENCE))) / 2

BOOLEAN = '[metric.asked]\nkind = "boolean"\nepsilon = 6\n'
ONE_BIT = '[metric.asked]\nkind = "number"\nlow = 0\nhigh = 9\nstatistic = "mean"\nmechanism = "one-bit"\nepsilon = 6\n'
OTHER = '[metric.other]\nkind = "boolean"\nepsilon = 6\n'
SAMPLED = 'strategy = "sample"\nanswers = 1\nlifetime = 100'
ALL = "lifetime = 100"

Outcome = tuple[int, int]
"""How many reports a tally holds, and how many of them are of symbol 1."""


def registry(asked_text: str, *, is_sampled: bool) -> Registry:
    return ask(asked_text + OTHER, SAMPLED if is_sampled else ALL)


def device(metric: Metric, asked: Fraction, answer: int) -> dict[Outcome, Fraction]:
    """Return the law of what one device that takes part adds to a tally."""
    chances = [Fraction(metric.channel.probability(symbol, answer)) for symbol in (0, 1)]
    return {(0, 0): 1 - asked, (1, 0): asked * chances[0], (1, 1): asked * chances[1]}


@cache
def law(asked_text: str, nays: int, yeses: int, *, is_sampled: bool) -> dict[Outcome, Fraction]:
    """Return the law of the tally of devices that take part, by their answers."""
    if not nays and not yeses:
        return {(0, 0): Fraction(1)}
    metric = registry(asked_text, is_sampled=is_sampled).metric("asked")
    before = law(asked_text, nays - bool(nays), yeses - (not nays), is_sampled=is_sampled)
    added = device(metric, Fraction(1, 2) if is_sampled else Fraction(1), 0 if nays else 1)
    total: dict[Outcome, Fraction] = {}
    for (first, chance), (second, other) in product(before.items(), added.items()):
        place = (first[0] + second[0], first[1] + second[1])
        total[place] = total.get(place, Fraction(0)) + chance * other
    return total


@cache
def estimated(asked_text: str, outcome: Outcome, installs: int, *, is_sampled: bool) -> MetricEstimate:
    definitions = registry(asked_text, is_sampled=is_sampled)
    reports, ones = outcome
    edition = definitions.metric("asked").edition
    tally = {"metric": "asked", "edition": edition, "window": "2026-11-20", "closed": True, "reports": reports}
    line = json.dumps(tally | {"counts": [reports - ones, ones]}).encode()
    return make_report(definitions, decode([line]), Selection(), Request(installs=installs)).metrics[0]


Ends = tuple[float, float]


def bounds(window: MetricEstimate, _: int) -> Ends:
    """Return the bounds on the share of yes, or on the mean as a part of its range."""
    if window.among_all is None:
        return 0.0, 1.0
    if window.among_all.mean is not None:
        return window.among_all.mean.low / 9, window.among_all.mean.high / 9
    assert window.among_all.estimates is not None
    share = window.among_all.estimates[1]
    return share.low, share.high


def taken_for_all(window: MetricEstimate, _: int) -> Ends:
    """Return what takes the devices that take part for all."""
    assert window.estimates is not None
    share = window.estimates[1]
    return share.low, share.high


def of_the_likeliest_number(window: MetricEstimate, installs: int) -> Ends:
    """Return what forgets how uncertain the number of devices is."""
    low, high = taken_for_all(window, installs)
    devices = 0.0 if window.taking_part is None else window.taking_part.estimate or 0.0
    part = min(1.0, devices / installs)
    return part * low, 1 - part * (1 - high)


class Population(NamedTuple):
    """The devices that take part, those of them that say yes, and the others that would."""

    taking_part: int
    yeses: int
    others: int


def coverage(
    asked_text: str,
    find: Callable[[MetricEstimate, int], Ends],
    population: Population,
    installs: int,
    *,
    is_sampled: bool,
) -> Fraction:
    """Return the probability that the bounds hold the truth of all installations."""
    tallies = law(asked_text, population.taking_part - population.yeses, population.yeses, is_sampled=is_sampled)
    assert sum(tallies.values()) == 1
    truth, held = Fraction(population.yeses + population.others, installs), Fraction(0)
    for place, chance in tallies.items():
        low, high = find(estimated(asked_text, place, installs, is_sampled=is_sampled), installs)
        held += chance if low <= truth <= high else 0
    return held


@pytest.mark.parametrize("is_sampled", [False, True])
@pytest.mark.parametrize("asked_text", [BOOLEAN, ONE_BIT], ids=["share", "mean"])
def test_bounds_contain_the_truth_of_all_for_any_participants(asked_text: str, *, is_sampled: bool) -> None:
    for taking_part in range(INSTALLS + 1):
        for yeses, others in product(range(taking_part + 1), range(INSTALLS - taking_part + 1)):
            population = Population(taking_part, yeses, others)
            assert coverage(asked_text, bounds, population, INSTALLS, is_sampled=is_sampled) >= PROMISED, population


def test_the_enumeration_refuses_bounds_that_forget_who_does_not_take_part() -> None:
    half = Population(taking_part=15, yeses=15, others=0)
    for find in (taken_for_all, of_the_likeliest_number):
        assert coverage(BOOLEAN, find, half, 30, is_sampled=True) < PROMISED
    assert coverage(BOOLEAN, bounds, half, 30, is_sampled=True) >= PROMISED


@pytest.mark.parametrize("chance", [Fraction(1), Fraction(1, 2), Fraction(1, 7), Fraction(9, 10)])
def test_the_number_of_trials_is_missed_on_each_side_with_at_most_the_promised_probability(chance: Fraction) -> None:
    for trials in range(60):
        law = [comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits) for hits in range(trials + 1)]
        intervals = [trials_interval(hits, float(chance), MISS) for hits in range(trials + 1)]
        below = sum((each for each, (low, _) in zip(law, intervals, strict=True) if low > trials), Fraction(0))
        above = sum((each for each, (_, high) in zip(law, intervals, strict=True) if high < trials), Fraction(0))
        assert max(below, above) <= Fraction(MISS)
