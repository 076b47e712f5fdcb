"""The answers to tell apart: the ends of a domain, and a few between them."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from client_sdk.protocol import Metric, Number, Subset
from estimator.text import word

BETWEEN = 2
"""Answers between the first and the last: four answers make six pairs."""

SEED = 1
"""Which of them, the same in every audit: with another choice each time two audits could not be compared."""


NEAR = Fraction(1, 10**7)
"""Of a range: so near to each other two numbers are hardly ever rounded to different ends."""


class Answer(NamedTuple):
    """An answer, and its name for people."""

    value: object
    name: str


def extremes(metric: Metric) -> tuple[Answer, ...]:
    """Return the answers of a metric that are told apart, at least two: first the ends of its domain."""
    domain = metric.domain
    if isinstance(domain, Subset):
        most, values = domain.max_items, domain.values
        sets = dict.fromkeys(((), values[:most], values[-most:]))
        return tuple(Answer(one, "{" + ", ".join(one) + "}") for one in sets)
    if isinstance(domain, Number):
        places = [domain.low, domain.high]
        if metric.permanent_nanos:  # whose rounding must not be drawn anew: at an end none would show
            places.append((domain.low + domain.high) / 2)
        return tuple(_number(domain, place) for place in places)
    labels = domain.labels
    inner = np.random.default_rng(SEED).permutation(np.arange(1, len(labels) - 1))[:BETWEEN]
    chosen = (labels[at] for at in (0, len(labels) - 1, *sorted(inner.tolist())))
    return tuple(Answer(label, word(label)) for label in chosen)


def beside(domain: Number, answer: Answer) -> Answer:
    """Return the answer that is next to a number below the range's end, or nearly so."""
    assert isinstance(answer.value, int | Fraction)  # noqa: S101 a number's
    step = Fraction(1) if domain.kind == "count" else (domain.high - domain.low) * NEAR
    return _number(domain, answer.value + step)


def _number(domain: Number, place: Fraction) -> Answer:
    number = int(place) if domain.kind == "count" else place
    return Answer(number, f"{float(number):.8g}")
