"""What is said before, about texts that will be found, and about made-up ones, holds in draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from client_sdk.protocol import Metric
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.discovery.power import OFTEN, Power, made_up_by_group, made_up_reports
from estimator.discovery.texts import confirm, discover
from tests.support.estimates.texts import drawn_tables, tables_of_lists, text_metric

REPORTS = 200_000
OF_LISTS = 60_000
"""Reports of lists are drawn one by one."""

WORDS = {6: "zebras", 12: "abcdefghijkl"}
DRAWS = 10


@pytest.fixture(scope="module")
def metric() -> Metric:
    return text_metric(cells=2**14)


def parts(metric: Metric) -> tuple[Text, GroupedGeometry]:
    assert isinstance(metric.kind, Text)
    assert isinstance(metric.channel, GroupedGeometry)
    return metric.kind, metric.channel


def people(word: str, share: float, reports: int = REPORTS) -> dict[str, int]:
    """Return a population in which many others have rare words."""
    having = round(reports * share)
    others = [f"{first}{second}{third}" for first in "abcdefghij" for second in "klmnopqrst" for third in "uvwxyz"]
    return {word: having} | dict.fromkeys(others, (reports - having) // len(others))


def detection_rate(metric: Metric, letters: int, share: float) -> float:
    """Return how often a word is found."""
    domain, word = parts(metric)[0], WORDS[letters]
    label = domain.label_of(domain.number_of(word))
    runs = [discover(domain, drawn_tables(metric, people(word, share), seed)) for seed in range(DRAWS)]
    return sum(label in run.shares.labels for run in runs) / DRAWS


@pytest.mark.slow
@pytest.mark.parametrize("letters", WORDS)
def test_the_least_share_is_found_nine_times_in_ten_and_half_of_it_seldom(metric: Metric, letters: int) -> None:
    least = Power(*parts(metric)).least_share(letters, REPORTS)
    assert least is not None
    assert detection_rate(metric, letters, least) >= 0.7  # 9 in 10 of 10 draws, less two standard errors
    assert detection_rate(metric, letters, least / 2) <= 0.5


@pytest.mark.slow
def test_the_least_share_of_lists_is_found_nine_times_in_ten_and_half_of_it_seldom() -> None:
    metric = text_metric(cells=2**14, max_items=3)
    domain, channel = parts(metric)
    least = Power(domain, channel).least_share(6, OF_LISTS)
    assert least is not None
    rates = []
    for share in (least, least / 2):
        others = [text for text in people("", share, OF_LISTS) if text]
        lists = list(zip(*[iter(others[:999])] * 3, strict=True))
        having = round(OF_LISTS * share)
        answers = {("zebras",): having} | dict.fromkeys(lists, (OF_LISTS - having) // len(lists))
        runs = [discover(domain, tables_of_lists(metric, answers, seed)) for seed in range(DRAWS)]
        rates.append(sum("zebras" in run.shares.labels for run in runs) / DRAWS)
    assert rates[0] >= 0.7  # 9 in 10 of 10 draws, less two standard errors
    assert rates[1] <= 0.5


@pytest.mark.slow
def test_a_named_text_is_seen_as_often_as_planned() -> None:
    metric = text_metric()  # two texts do not need many cells
    domain, channel = parts(metric)
    reports = Power(domain, channel).reports_to_see(0.01, 6)
    assert reports is not None
    rest = reports - round(0.01 * reports)
    lows = [
        confirm(domain, drawn_tables(metric, {"zebras": reports - rest, "": rest}, seed), ["zebras"]).shares.lows[0]
        for seed in range(40)
    ]
    assert 0.8 <= np.mean(np.array(lows) > 0) <= 0.97


def test_naming_a_text_takes_far_fewer_devices_than_finding_it() -> None:
    power = Power(*parts(text_metric("2", 16, cells=2**17)))
    named, to_find = power.reports_to_see(0.01, 6), power.reports_to_find(0.01, 6)
    assert named is not None
    assert to_find is not None
    assert 7 <= to_find / named <= 14


def test_chances_rise_with_the_share_and_the_reports(metric: Metric) -> None:
    power = Power(*parts(metric))
    chances = [power.chance_to_find(share, 6, REPORTS) for share in (0.001, 0.005, 0.02)]
    assert chances == sorted(chances)
    assert power.chance_to_find(0.005, 6, 10 * REPORTS) > chances[1]
    assert power.chance_to_find(0.005, 12, REPORTS) < chances[1]
    least = power.least_share(6, REPORTS)
    assert least is not None
    assert power.chance_to_find(least, 6, REPORTS) == pytest.approx(OFTEN)
    assert power.least_share(6, 10) is None


@pytest.mark.slow
def test_so_many_made_up_reports_list_a_text_and_fewer_do_not(metric: Metric) -> None:
    domain, _ = parts(metric)
    cells, word = domain.cells_of(domain.number_of("forger"), metric.channel.inputs), "forger"
    listed = {0.6: 0, 1.5: 0}
    for seed in range(10):
        tables = drawn_tables(metric, people("zebras", 0.01), seed)
        needed = made_up_by_group(domain, tables)
        assert made_up_reports(domain, tables) == int(np.ceil(needed.sum()))
        for part in listed:
            added = np.rint(part * needed).astype(np.int64)
            supported = tables.supported.copy()
            supported[np.arange(len(added)), cells] += added
            forged = replace(tables, reports=tables.reports + added, supported=supported)
            listed[part] += word in discover(domain, forged).shares.labels
    assert listed[0.6] <= 2
    assert listed[1.5] >= 8
