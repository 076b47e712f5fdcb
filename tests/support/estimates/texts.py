"""Questions about texts, and tallies of their reports drawn by law.

To draw a report takes 20 µs. Here the reports that support a cell are drawn at once, each cell by
itself: right for each cell, and for each group's number of reports, but not for several cells
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from string import ascii_lowercase

import numpy as np

from client_sdk.protocol import Metric, WindowKind
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.analyses.texts import sampled_texts
from estimator.decoders.grouped_geometry import cell_support
from estimator.discovery.prefix_search import GroupTables
from estimator.statistics.arrays import Counts
from tests.support.laws.bands import request

LETTERS = f"{ascii_lowercase}'-.,_"
"""31 letters fill five bits."""


def text_metric(epsilon: str = "4", max_length: int = 12, letters: str = LETTERS, **more: object) -> Metric:
    """Return a question about texts of up to twelve letters; few cells make tests quick."""
    domain = Text(letters, max_length, **{"cells": 2**12, **more})  # type: ignore[arg-type]
    return Metric("word", "Why?", domain, channel_for(domain, request(epsilon)), WindowKind.WEEK)


@cache
def sharing_pair(metric: Metric) -> tuple[str, str]:
    """Return two texts that share a cell in some group."""
    kind, channel = metric.kind, metric.channel
    assert isinstance(kind, Text)
    assert isinstance(channel, GroupedGeometry)
    seen: dict[tuple[int, int], str] = {}
    for letters in product(ascii_lowercase, repeat=2):
        text = "".join(letters)
        for place in enumerate(kind.cells_of(kind.number_of(text), channel.inputs)):
            if place in seen:
                return seen[place], text
            seen[place] = text
    raise AssertionError


@cache
def _cells(domain: Text, inputs: int, texts: tuple[str, ...]) -> Counts:
    """Return the cell of each text in each group, once for all draws."""
    return np.array([domain.cells_of(domain.number_of(text), inputs) for text in texts])


def drawn_tables(metric: Metric, people: Mapping[str, int], seed: int) -> GroupTables:
    """Return the tables of a tally, given the number of people with each text."""
    domain, channel, draw = metric.kind, metric.channel, np.random.default_rng(seed)
    assert isinstance(domain, Text)
    assert isinstance(channel, GroupedGeometry)
    law = cell_support(channel)
    own, other = float(law.support.own), float(law.support.other)
    cells = _cells(domain, channel.inputs, tuple(people))
    left, weight = np.array(list(people.values())), sum(channel.weights)
    reports, supported = [], []
    for group, of_group in enumerate(channel.weights):
        taking = draw.binomial(left, of_group / weight)
        left, weight = left - taking, weight - of_group
        truths = np.bincount(cells[:, group], taking, channel.inputs).astype(np.int64)
        total, full = taking.sum(), np.flatnonzero(truths)
        support = draw.binomial(total, other, channel.inputs)  # of one law, which is three times as fast
        support[full] = draw.binomial(truths[full], own) + draw.binomial(total - truths[full], other)
        reports.append(total)
        supported.append(support)
    return GroupTables(np.array(reports), np.array(supported), law)


def tables_of_lists(metric: Metric, people: Mapping[tuple[str, ...], int], seed: int) -> GroupTables:
    """Return the tables of a tally, given the number of people with each list of texts."""
    kind, channel = metric.kind, metric.channel
    assert isinstance(kind, Text)
    assert isinstance(channel, GroupedGeometry)
    devices = {tuple(kind.numbers(texts)): count for texts, count in people.items()}
    counts = sampled_texts(kind, channel, devices, np.random.default_rng(seed))
    return GroupTables.from_counts(channel, counts)
