"""Scores that compare found texts with the texts that devices have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.text.populations import Population
from benchmarks.text.surveys import Survey
from client_sdk.protocol.text import CUT, Text
from estimator.discovery.texts import Texts, discover

TOP: Final = 32
"""The number of the most frequent strings that should be found."""


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a search for the strings of a population in one tally.

    Attributes:
        f1: the fraction of the 32 most frequent strings that is among the first 32 found strings.
            If a short list is filled up with misses, this fraction is the F1 score.
        ncr: the normalized cumulative rank of the first 32 found strings (Wang, Li & Jha 2021,
            section 6). The most frequent string has 32 points, the next has 31, and so on. The
            score is the points of the found strings, divided by the points of all 32 strings.
        proved: the number of found strings. The estimator reports only strings that surely exist.
        false: the number of found strings that no device had.
        held: the number of found strings with a correct interval, which contains the true share.
        unclear: the number of the population's strings that the estimator reports as unclear.

    """

    f1: float
    ncr: float
    proved: int
    false: int
    held: int
    unclear: int


def measured(survey: Survey, devices: int, seed: int) -> Score:
    """Draw a random tally, find strings in it, and compare them with the population's strings."""
    tables = survey.tables(devices, np.random.default_rng(seed))
    assert isinstance(survey.metric.kind, Text)
    return scored(discover(survey.metric.kind, tables), survey.population)


def scored(texts: Texts, population: Population) -> Score:
    """Compare found strings, sorted by falling frequency, with the population's strings."""
    names = [str(label).removesuffix(CUT) for label in texts.shares.labels]
    truth = dict(zip(population.strings, population.shares.tolist(), strict=True))
    ends = zip(names, texts.shares.lows.tolist(), texts.shares.highs.tolist(), strict=True)
    return Score(
        *f1_and_ncr(names, population),
        proved=len(names),
        false=sum(name not in truth for name in names),
        held=sum(low <= truth[name] <= high for name, low, high in ends if name in truth),
        unclear=sum(name.removesuffix(CUT) in truth for name in texts.unclear),
    )


def f1_and_ncr(names: Sequence[str], population: Population) -> tuple[float, float]:
    """Return ``f1`` and ``ncr`` for a list of strings (see `Score`)."""
    worth = {string: TOP - place for place, string in enumerate(population.strings[:TOP])}
    hits = [worth[name] for name in names[:TOP] if name in worth]
    return len(hits) / TOP, sum(hits) / sum(worth.values())
