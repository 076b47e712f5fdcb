"""Texts are found in a tally, confirmed by groups that took no part, and never made up."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from client_sdk.protocol import Metric
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.mechanisms.grouped_geometry import CONFIRMING, GroupedGeometry
from client_sdk.protocol.text import BYTES, Text
from estimator.analyses.metric import analysis_of
from estimator.discovery.prefix_search import CandidateText, GroupTables, candidates_of
from estimator.discovery.texts import Confirmation, Texts, confirm, discover
from estimator.statistics.arrays import Counts
from tests.support.devices.cohort import SeededCoins
from tests.support.estimates.texts import LETTERS, drawn_tables, text_metric

COMMON = {"the": 30_000, "": 9_000, "don't": 20_000, "zebra": 15_000, "congratulations": 20_000}
RARE = {f"{first}{second}rare": 9 for first in "abcdefghij" for second in "klmnopqrst"}
PEOPLE = COMMON | RARE
SHOWN = {"the", "", "don't", "zebra", "congratulati…"}


def tables_of(metric: Metric, counts: Counts) -> GroupTables:
    assert isinstance(metric.channel, GroupedGeometry)
    return GroupTables.from_counts(metric.channel, counts)


def domain_of(metric: Metric) -> Text:
    assert isinstance(metric.kind, Text)
    return metric.kind


def discovered(metric: Metric, seed: int, people: dict[str, int] = PEOPLE) -> Texts:
    return discover(domain_of(metric), drawn_tables(metric, people, seed))


@pytest.fixture(scope="module")
def metric() -> Metric:
    return text_metric()


def test_common_texts_are_found_and_no_others(metric: Metric) -> None:
    for seed in range(5):
        texts = discovered(metric, seed)
        assert set(texts.shares.labels) == SHOWN
        assert list(texts.shares.unbiased) == sorted(texts.shares.unbiased, reverse=True)
        assert texts.unclear == ()


def test_reports_of_devices_are_inverted_group_by_group(metric: Metric) -> None:
    coins, domain = SeededCoins(1), domain_of(metric)
    answers = ["the"] * 3000 + ["congratulations"] * 3000
    symbols = [metric.perturb(answer, coins) for answer in answers]
    texts = discover(domain, tables_of(metric, np.bincount(symbols, minlength=metric.channel.symbols)))
    assert set(texts.shares.labels) == {"the", "congratulati…"}
    assert all(share.low < 0.5 < share.high for share in texts.shares)


def test_without_reports_nothing_is_found_and_every_named_text_is_possible(metric: Metric) -> None:
    tables = tables_of(metric, np.zeros(metric.channel.symbols, dtype=np.int64))
    assert len(discover(domain_of(metric), tables).shares) == 0
    named = confirm(domain_of(metric), tables, ["the"])
    assert (named.shares.lows[0], named.shares.highs[0]) == (0, 1)


@pytest.mark.slow
def test_of_noise_alone_nothing_is_found(metric: Metric) -> None:
    people = {f"{first}{second}{third}": 7 for first in "abcdefgh" for second in "ijklmnop" for third in "qrstuvwx"}
    assert sum(len(discovered(metric, seed, people).shares) for seed in range(10)) <= 1  # 95% of all lists are empty


@pytest.mark.slow
def test_the_shares_of_named_texts_are_unbiased_and_their_intervals_hold_them(metric: Metric) -> None:
    domain, people = domain_of(metric), {"the": 600, "zebra": 60, "": 300} | RARE
    truth = np.array([people.get(text, 0) for text in ("the", "zebra", "nobody", "congratulations")])
    truth = truth / sum(people.values())
    runs = [
        confirm(domain, drawn_tables(metric, people, seed), ["the", "zebra", "nobody", "congratulations"]).shares
        for seed in range(100)
    ]
    errors = np.array([run.unbiased - truth for run in runs])
    within = np.array([(run.lows <= truth) & (truth <= run.highs) for run in runs])
    assert (np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0) / 10).all()
    assert within.mean() >= 0.93
    assert (within.mean(axis=0) >= 0.9).all()


@pytest.mark.slow
def test_intervals_of_what_is_found_hold_the_truth() -> None:
    """Each order of the letters has hashes of its own.

    In a single one, a few common texts may share cells.
    """
    texts = [f"{first}{second}" for first, second in product(LETTERS[:26], LETTERS[:4])]
    people = {text: 10 + 9 * place for place, text in enumerate(texts)}
    total, holds = sum(people.values()), []
    for seed in range(8):
        letters = "".join(np.random.default_rng(seed).permutation(list(LETTERS)))
        shares = discovered(text_metric(letters=letters), seed, people).shares
        holds += [share.low <= people.get(str(share.value), 0) / total <= share.high for share in shares]
    assert len(holds) > 100
    assert np.mean(holds) >= 0.93


@pytest.mark.slow
def test_texts_of_any_characters_are_found_by_their_bytes() -> None:
    people = {"größe": 20_000, "日本語": 20_000, "👍": 20_000, "schöne Grüße": 20_000, "C:\\": 10_000, "": 10_000}
    texts = discovered(text_metric(letters=BYTES), 1, people)
    assert set(texts.shares.labels) == {"größe", "日本語", "👍", "schöne Grü…", "C:\\\\", ""}


def test_a_candidate_is_confirmed_only_by_groups_that_took_no_part(metric: Metric) -> None:
    domain, tables = domain_of(metric), drawn_tables(metric, PEOPLE, 1)
    candidates = candidates_of(domain, tables)
    groups = domain.groups(tables.cells)
    received = Confirmation.from_tables(domain, tables, candidates).received
    for (number, found_by, _), of_candidate in zip(candidates, received, strict=True):
        text = domain.text_of(number)
        for place, group in enumerate(groups):
            receives_all = group.bits >= min(domain.bits, 5 * (len(text) + 1))
            assert of_candidate[place] == (place >= found_by and receives_all)
        assert of_candidate[-CONFIRMING:].all()


def test_noise_in_the_levels_confirms_nothing(metric: Metric) -> None:
    """A server that makes up what levels say gains nothing if the confirming groups are honest."""
    domain, tables = domain_of(metric), drawn_tables(metric, {"the": 50_000, "": 50_000}, 3)
    cells = domain.cells_of(domain.number_of("forged"), tables.cells)
    supported = tables.supported.copy()
    taking_part = range(len(cells) - CONFIRMING)
    supported[taking_part, [cells[place] for place in taking_part]] = tables.reports[list(taking_part)]
    texts = discover(domain, replace(tables, supported=supported))
    assert "forged" not in texts.shares.labels


def test_a_text_about_which_groups_disagree_is_unclear(metric: Metric) -> None:
    domain, tables = domain_of(metric), drawn_tables(metric, {"the": 50_000, "": 50_000}, 3)
    cells = domain.cells_of(domain.number_of("the"), tables.cells)
    supported = tables.supported.copy()
    supported[-1, cells[-1]] = supported[-2, cells[-2]] // 2
    forged = replace(tables, supported=supported)
    assert discover(domain, forged).unclear == ("the",)
    assert confirm(domain, forged, ["the", "", "zebra"]).unclear == ("the",)


@pytest.mark.slow
def test_of_two_candidates_in_one_cell_the_group_says_nothing(metric: Metric) -> None:
    domain, tables = domain_of(metric), drawn_tables(metric, PEOPLE, 1)
    texts = ["".join(letters) for letters in product(LETTERS[:20], repeat=3)]
    cells = {text: domain.cells_of(domain.number_of(text), tables.cells)[-1] for text in texts}
    first, second = next(pair for pair in combinations(texts, 2) if cells[pair[0]] == cells[pair[1]])
    pair = [domain.number_of(text) for text in (first, second)]
    both = Confirmation.from_tables(domain, tables, [CandidateText(number, 0, 0.01) for number in pair])
    assert both.received[:, -1].all()
    assert not both.without_cells_of(np.array([True, True])).received[:, -1].any()
    assert both.without_cells_of(np.array([True, False])).received[:, -1].tolist() == [True, False]


def test_named_texts_are_cut_and_counted_once(metric: Metric) -> None:
    tables = drawn_tables(metric, PEOPLE, 1)
    named = confirm(domain_of(metric), tables, ["congratulations", "congratulation", "the", "the"])
    assert named.shares.labels == ("congratulati…", "the")
    with pytest.raises(DomainError):
        confirm(domain_of(metric), tables, ["größer"])


def test_of_sets_shares_are_those_of_devices() -> None:
    metric = text_metric(max_items=4)
    shares = confirm(domain_of(metric), drawn_tables(metric, {"the": 25_000, "": 75_000}, 2), ["the"]).shares
    assert shares.lows[0] < 1 <= shares.highs[0]


def test_of_sets_the_empty_text_has_no_share_because_it_fills_free_places() -> None:
    metric = text_metric(max_items=3)
    texts = discover(domain_of(metric), drawn_tables(metric, {"the": 30_000, "": 60_000}, 2))
    assert (texts.shares.labels, texts.certain) == (("the",), 1)
    assert analysis_of(metric).fitting(["", "the"]) == ["the"]
    assert analysis_of(text_metric()).fitting(["", "the"]) == ["", "the"]


def test_without_levels_nothing_is_found_but_named_texts_have_smaller_intervals() -> None:
    levels, plain = text_metric(), text_metric(discover=False)
    named = [
        confirm(domain_of(metric), drawn_tables(metric, PEOPLE, 1), ["zebra"]).shares for metric in (levels, plain)
    ]
    assert named[1].standard_errors[0] < named[0].standard_errors[0]
    assert len(discover(domain_of(plain), drawn_tables(plain, PEOPLE, 1)).shares) == 0


@pytest.mark.slow
def test_many_named_texts_take_half_a_kilobyte_each(metric: Metric) -> None:
    """A list may have a million texts; figures of all in all groups would take gigabytes."""
    domain, tables = domain_of(metric), drawn_tables(metric, PEOPLE, 1)
    texts = ["".join(letters) for letters in product(LETTERS[:20], repeat=3)]
    confirm(domain, tables, texts[:1])
    tracemalloc.start()
    confirm(domain, tables, texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / len(texts) < 600
