"""What other texts add to a text's cell is taken off without bias, be they listed or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import CUT, Text
from estimator.decoders.grouped_geometry import cell_support
from estimator.decoders.support import Support
from estimator.discovery.prefix_search import GroupTables
from estimator.discovery.texts import Confirmation, RestOfCells, confirm, discover
from tests.support.estimates.texts import drawn_tables, text_metric

REPORTS, CELLS = 80, 5
OWN, OTHER, SUPPORTED = Fraction(1), Fraction(1, 4), 2
"""A report supports two of five cells: the own one, and any other with probability 1/4."""
TRUTH = np.array([0.3, 0.2, 0.05, 0.3, 0.15])
"""The shares of two listed texts, of a named but unclear one, and of two that nobody knows of."""

NAMED, LISTED = 3, np.array([True, True, False])

PEOPLE = {"the": 40_000_000, "": 20_000_000, "don't": 20_000_000, "zebra": 10_000_000, "congratulations": 10_000_000}


def confirmation(cells: tuple[int, ...]) -> Confirmation:
    """Return what one group says without noise, if the texts have these cells."""
    supported = REPORTS * (0.25 + 0.75 * np.bincount(cells, TRUTH, CELLS))
    metric = text_metric()
    assert isinstance(metric.channel, GroupedGeometry)
    law = replace(cell_support(metric.channel), support=Support(OWN, OTHER), points=CELLS, supported=SUPPORTED)
    tables = GroupTables(np.array([REPORTS]), np.rint(supported).astype(np.int64)[np.newaxis], law)
    of_named = np.array(cells[:NAMED])[:, np.newaxis]
    received, risks = np.ones((NAMED, 1), dtype=bool), np.full(NAMED, 0.01)
    alone = Confirmation(tables, of_named, received, risks, np.zeros(NAMED, dtype=bool))
    return alone.without_cells_of(LISTED)


def hashes() -> dict[tuple[int, ...], int]:
    """Return a hash for each way in which texts can share cells, and the number of such hashes.

    Texts that share their cells alike have their cells numbered in the order of the texts.
    """
    alike = Counter(product(range(CELLS), repeat=len(TRUTH)))
    first = {cells: tuple(list(dict.fromkeys(cells)).index(cell) for cell in cells) for cells in alike}
    return Counter(first.values())


def test_shares_do_not_depend_on_the_numbers_of_the_cells() -> None:
    for cells in hashes():
        renumbered = confirmation(tuple((2 * cell + 3) % CELLS for cell in cells))
        same = confirmation(cells)
        assert renumbered.received.tolist() == same.received.tolist()
        assert renumbered.shares == pytest.approx(same.shares, abs=1e-12, nan_ok=True)


def test_shares_are_exact_on_average_over_all_hashes() -> None:
    every_hash = [(confirmation(cells), number) for cells, number in hashes().items()]
    for place, needed in enumerate((LISTED, LISTED, np.ones(NAMED, dtype=bool))):
        kept = [(each.shares[place], number) for each, number in every_hash if each.received[needed].all()]
        assert 0 < len(kept) < len(every_hash)
        shares, numbers = zip(*kept, strict=True)
        assert np.average(shares, weights=numbers) == pytest.approx(TRUTH[place], abs=1e-12)


@pytest.mark.slow
def test_if_all_texts_are_listed_nothing_is_taken_off() -> None:
    """Each cell then holds the share of its own text alone, whatever the hash."""
    metric = text_metric()
    assert isinstance(metric.kind, Text)
    truth, total = np.array(list(PEOPLE.values())), sum(PEOPLE.values())
    truth, errors, holds = truth / total, [], []
    for seed in range(20):
        tables = drawn_tables(metric, PEOPLE, seed)
        for shares in (discover(metric.kind, tables).shares, confirm(metric.kind, tables, PEOPLE).shares):
            labels = [str(label).removesuffix(CUT) for label in shares.labels]
            order = [labels.index(text[: metric.kind.max_length]) for text in PEOPLE]
            errors.append((shares.unbiased[order] - truth) / shares.standard_errors[order])
            holds.append((shares.lows[order] <= truth) & (truth <= shares.highs[order]))
    assert (np.abs(np.mean(errors, axis=0)) < 4 / np.sqrt(20)).all()
    assert np.mean(holds) >= 0.93


def test_errors_and_intervals_have_the_error_of_the_other_cells() -> None:
    in_cells, errors = np.array([0.2, 0.2, 0.2]), np.array([0.01, 0.02, 0.01])
    every = RestOfCells(np.array(10), np.array(1.0), np.array(0.0))
    rest = RestOfCells.from_cells(every, in_cells, errors, np.array([True, True, False]))
    assert rest.cells.tolist() == [9, 9, 8]
    assert rest.share == pytest.approx([0.8, 0.8, 0.6])
    weights = np.array([[9, 1, 0], [1, 9, 0], [1, 1, 8]]) / np.array([[8], [8], [7]])
    assert rest.standard_errors(errors) == pytest.approx(np.sqrt(weights**2 @ errors**2))
    lows, highs = rest.intervals(in_cells, (in_cells - 1.96 * errors, in_cells + 1.96 * errors), 1)
    distances = 1.96 * rest.standard_errors(errors)
    assert highs == pytest.approx(rest.shares(in_cells) + distances, rel=1e-4)
    assert lows == pytest.approx(rest.shares(in_cells) - distances, rel=1e-4)
