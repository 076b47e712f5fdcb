"""A rounded tally says no more of the number of reports than its two digits, and loses little."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from client_sdk.protocol.window import Window
from estimator.report.publishing import LEAST_REPORTS, rounded_down, rounded_tally
from estimator.tallies import Tally

DAY = Window.parse("2026-11-20")


def tally(counts: tuple[int, ...], symbols: tuple[int, ...] | None = None) -> Tally:
    return Tally("m", "0" * 12, DAY, closed=True, reports=sum(counts), counts=counts, symbols=symbols)


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all counts of so many symbols that add up to a total."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in compositions(total - first, parts - 1))


@pytest.mark.parametrize("symbols", [2, 3])
def test_every_number_of_reports_that_is_rounded_alike_can_give_every_rounded_tally(symbols: int) -> None:
    everything = set(compositions(LEAST_REPORTS, symbols))
    rounded_alike = [count for count in range(LEAST_REPORTS, 120) if rounded_down(count) == LEAST_REPORTS]
    assert len(rounded_alike) > 1
    for reports in rounded_alike:
        published = {tuple(rounded_tally(tally(counts)).counts) for counts in compositions(reports, symbols)}
        assert published == everything


@pytest.mark.parametrize("reports", [119, 1099, 98_765, 2**53 - 1])
@pytest.mark.parametrize("symbols", [2, 7, 1000])
def test_a_rounded_tally_has_the_same_frequencies_to_less_than_a_report(reports: int, symbols: int) -> None:
    cuts = sorted((place * place * 7919) % (reports + 1) for place in range(symbols - 1))
    counts = tuple(end - start for start, end in pairwise((0, *cuts, reports)))
    rounded = rounded_tally(tally(counts))
    assert rounded.reports == sum(rounded.counts) == rounded_down(reports)
    for before, after in zip(counts, rounded.counts, strict=True):
        assert abs(after * reports - before * rounded.reports) < reports
    assert rounded_tally(rounded) == rounded


def test_a_sparse_tally_is_rounded_as_the_dense_one_is_and_names_no_symbol_without_reports() -> None:
    counts = (1,) * 119
    sparse = rounded_tally(tally(counts, tuple(range(0, 238, 2))))
    dense = rounded_tally(tally(counts))
    assert list(sparse.counts) == [count for count in dense.counts if count]
    assert sparse.reports == 110 == len(sparse.symbols or ())


@pytest.mark.parametrize(("count", "rounded"), [(0, 0), (9, 9), (99, 99), (100, 100), (119, 110), (98_999, 98_000)])
def test_counts_are_rounded_down_to_two_digits(count: int, rounded: int) -> None:
    assert rounded_down(count) == rounded == rounded_down(rounded)
