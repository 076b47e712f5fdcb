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
from client_sdk.protocol.domain import Vector
from estimator.rehearsal.tally_sampler import sampler_of

FIRST_DAY: Final = date(2026, 11, 2)
DAYS: Final = 9
MISSING_DAY: Final = 3
POOR_DAY: Final = 5
OPEN_DAY: Final = DAYS - 1
REPORTS: Final = 4000
POOR: Final = 30
SEED: Final = 20261121


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
    if isinstance(metric.domain, Vector):  # a question without a tally
        return
    sampler, inputs = sampler_of(metric.channel), metric.channel.inputs
    for number in days:
        if number == MISSING_DAY:
            continue
        weights = np.linspace(1.0, 1.0 + number / 2, inputs)
        people = generator.multinomial(POOR if number == POOR_DAY else REPORTS, weights / weights.sum())
        counts = sampler(people, generator).tolist()
        yield {
            "metric": metric.name,
            "edition": metric.edition,
            "window": day(number),
            "closed": number != OPEN_DAY,
            "reports": sum(counts),
            "counts": counts,
        }
