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
from tests.support.estimates.texts import LETTERS, drawn_tables, tables_of_lists, text_metric

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
        for seed in range(50)
    ]
    errors = np.array([run.unbiased - truth for run in runs])
    within = np.array([(run.lows <= truth) & (truth <= run.highs) for run in runs])
    assert (np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0) / np.sqrt(50)).all()
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
    groups = domain.groups(tables.law.points)
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
    cells = domain.cells_of(domain.number_of("forged"), tables.law.points)
    supported = tables.supported.copy()
    taking_part = range(len(cells) - CONFIRMING)
    supported[taking_part, [cells[place] for place in taking_part]] = tables.reports[list(taking_part)]
    texts = discover(domain, replace(tables, supported=supported))
    assert "forged" not in texts.shares.labels


def test_a_text_about_which_groups_disagree_is_unclear(metric: Metric) -> None:
    domain, tables = domain_of(metric), drawn_tables(metric, {"the": 50_000, "": 50_000}, 3)
    cells = domain.cells_of(domain.number_of("the"), tables.law.points)
    supported = tables.supported.copy()
    supported[-1, cells[-1]] = supported[-2, cells[-2]] // 2
    forged = replace(tables, supported=supported)
    assert discover(domain, forged).unclear == ("the",)
    assert confirm(domain, forged, ["the", "", "zebra"]).unclear == ("the",)


@pytest.mark.slow
def test_of_two_candidates_in_one_cell_the_group_says_nothing(metric: Metric) -> None:
    domain, tables = domain_of(metric), drawn_tables(metric, PEOPLE, 1)
    texts = ["".join(letters) for letters in product(LETTERS[:20], repeat=3)]
    cells = {text: domain.cells_of(domain.number_of(text), tables.law.points)[-1] for text in texts}
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


PAIR = ("the", "zebra")
LISTS = {PAIR: 24_000, ("don't",): 6_000, ("", "congratulations", "zebra"): 6_000, (): 12_000} | {
    (f"{first}{second}rare", f"{second}{first}"): 120 for first in "abcdefghij" for second in "klmnopqrst"
}
"""Of the people, 40% have the same two texts, and 20% none."""


def share_in_lists(text: str) -> float:
    return sum(count for texts, count in LISTS.items() if text in texts) / sum(LISTS.values())


def test_of_lists_common_texts_are_found_and_the_empty_one_is_a_text() -> None:
    metric = text_metric(max_items=3)
    texts = discover(domain_of(metric), tables_of_lists(metric, LISTS, 1))
    assert set(texts.shares.labels) == {"the", "zebra", "don't", "congratulati…", ""}
    assert texts.unclear == ()
    assert analysis_of(metric).fitting(["", "the"]) == ["", "the"]


def test_without_reports_every_text_of_a_list_is_possible() -> None:
    metric = text_metric(max_items=3)
    named = confirm(domain_of(metric), tables_of(metric, np.zeros(metric.channel.symbols, dtype=np.int64)), ["the"])
    assert (named.shares.lows[0], named.shares.highs[0]) == (0, 1)


def test_reports_of_devices_with_lists_are_inverted_group_by_group() -> None:
    """The same as from drawn tallies: the share of devices whose list has the text."""
    metric, coins = text_metric(max_items=3), SeededCoins(1)
    answers = [["the", "zebra", "a"]] * 2000 + [["the"]] * 2000 + [[]] * 1000
    symbols = [metric.perturb(answer, coins) for answer in answers]
    tables = tables_of(metric, np.bincount(symbols, minlength=metric.channel.symbols))
    shares = confirm(domain_of(metric), tables, ["the", "zebra", "nobody"]).shares
    truth = np.array([0.8, 0.4, 0.0])
    assert (np.abs(shares.unbiased - truth) < 4 * shares.standard_errors).all()
    assert (shares.standard_errors < 0.05).all()


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 5])
def test_shares_of_lists_are_unbiased_and_their_intervals_hold_them(most: int) -> None:
    """Each order of the letters has hashes of its own, which decide what is on a line."""
    named = ["the", "zebra", "don't", "", "nobody", "aarare", "congratulations"]
    truth, errors, within = np.array([share_in_lists(text) for text in named]), [], []
    for seed in range(30):
        letters = "".join(np.random.default_rng(seed).permutation(list(LETTERS)))
        metric = text_metric(letters=letters, max_items=most, discover=False)
        shares = confirm(domain_of(metric), tables_of_lists(metric, LISTS, seed), named).shares
        errors.append((shares.unbiased - truth) / shares.standard_errors)
        within.append((shares.lows <= truth) & (truth <= shares.highs))
    assert (np.abs(np.mean(errors, axis=0)) < 4 / np.sqrt(30)).all()
    assert np.mean(within) >= 0.93
    assert (np.mean(within, axis=0) >= 0.85).all()


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
