"""The answers that an audit tells apart: the ends of a domain, and a few between them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import Category
from client_sdk.protocol.domain.label import word
from client_sdk.protocol.domain.mean_by_group import MeanByGroup
from client_sdk.protocol.domain.model import LABEL, CrossedModel, Model, Observation
from client_sdk.protocol.domain.nearest import GRID, Nearest
from client_sdk.protocol.domain.number import Count, Number
from client_sdk.protocol.domain.ordinal_mean import OrdinalMean
from client_sdk.protocol.domain.set import Subset
from client_sdk.protocol.domain.text import Text
from client_sdk.protocol.domain.vector import Vector
from client_sdk.protocol.metric import Metric

BETWEEN = 2
"""How many answers between the first and the last are played: four answers make six pairs."""

SEED = 1
"""Chooses the same answers in every audit. With another choice each time, two audits could not be
compared.
"""


class NamedAnswer(NamedTuple):
    """An answer and its name for people.

    Attributes:
        value: as the SDK records it.
        name: short.

    """

    value: object
    name: str


def extremes(metric: Metric) -> tuple[NamedAnswer, ...]:  # noqa: PLR0911 one a kind
    """Return the answers that are told apart: the ends of the domain, then any others."""
    domain = metric.domain
    if isinstance(domain, Subset):
        most, values = domain.max_items, domain.values
        sets = dict.fromkeys(((), values[:most], values[-most:]))
        return tuple(NamedAnswer(members, "{" + ", ".join(members) + "}") for members in sets)
    if isinstance(domain, Number):
        places = [domain.low, domain.high]
        if metric.permanent_nanos:  # their rounding is drawn once; at the ends nothing is rounded
            places.append((domain.low + domain.high) / 2)
        return tuple(_number(domain, place) for place in places)
    if isinstance(domain, Model | CrossedModel):
        return tuple(_opposite(domain.observation, end) for end in (0, -1))
    if isinstance(domain, Vector):
        rest, norm = [0.0] * (domain.length - 1), float(domain.norm)
        return NamedAnswer([norm, *rest], "along the first axis"), NamedAnswer([-norm, *rest], "against it")
    if isinstance(domain, Text):
        texts = dict.fromkeys(("", domain.letters[0], domain.letters[0] * domain.max_length, domain.letters[-1]))
        return tuple(NamedAnswer(text if domain.max_items == 1 else [text], text or "the empty text") for text in texts)
    if isinstance(domain, MeanByGroup):
        groups, number = domain.first.labels, domain.second
        ends = [_number(number, place) for place in (number.low, number.high)]
        pairs = product(dict.fromkeys((groups[0], groups[-1])), ends)
        return tuple(NamedAnswer((group, end.value), f"{word(group)}, {end.name}") for group, end in pairs)
    labels = domain.labels
    answers: Sequence[object] = labels
    if isinstance(domain, Nearest):  # a prototype is nearest to itself, so that the search is audited, too
        answers = [[steps / GRID for steps in point] for point in domain.points]
    inner = np.random.default_rng(SEED).permutation(np.arange(1, len(labels) - 1))[:BETWEEN]
    chosen = dict.fromkeys((0, len(labels) - 1, *sorted(inner.tolist())))
    return tuple(NamedAnswer(answers[at], word(labels[at])) for at in chosen)


def _opposite(observation: Observation, end: int) -> NamedAnswer:
    """Return the answer of which everything is first, or last."""
    parts = {feature.name: _end(feature.domain, end) for feature in observation.features}
    return NamedAnswer(parts | {LABEL: _end(observation.label, end)}, "everything last" if end else "everything first")


def _end(domain: Boolean | Category | Number, end: int) -> object:
    return (domain.low, domain.high)[end] if isinstance(domain, Number) else domain.labels[end]


def _number(domain: Number, place: Fraction) -> NamedAnswer:
    if isinstance(domain, OrdinalMean):
        step = domain.scale.values[int(place) - 1]
        return NamedAnswer(step, step)
    number = int(place) if isinstance(domain, Count) else place
    return NamedAnswer(number, f"{float(number):.8g}")
