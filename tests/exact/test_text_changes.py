"""Changes of named texts: planted changes are found and dated, and false alarms are rare.

All tallies are drawn from the laws of the real channels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

import numpy as np
import pytest
from msgspec.structs import replace

from client_sdk.protocol import Metric, Registry, Window
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.analyses.metric import analysis_of
from estimator.analyses.texts import sampled_texts
from estimator.discovery.tails import TextTails
from estimator.formats.json_documents import as_json, decode
from estimator.formats.tables import rows_of
from estimator.render.html.page import as_html
from estimator.render.text.report import as_table
from estimator.render.text.summary import as_summary
from estimator.report.changes import changes_of, compared, correct
from estimator.report.report import make_report
from estimator.report.same_people import FARTHEST_FAMILY, Windows
from estimator.report.text_changes import text_shares, with_tested_texts
from estimator.results.metric import MetricEstimate
from estimator.results.report import ChangeVerdict, EstimateReport, Request, Selection
from estimator.statistics.confidence import SIGNIFICANT, binomial_chance, binomial_tail, tail_of, z_of
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, TEXT, registry_text
from tests.support.estimates.texts import sharing_pair

NAMED_ONLY: Final = TEXT | {"window": "week", "discover": False}
REGISTRY: Final = Registry.parse(
    registry_text(
        word=TEXT | {"window": "week"},
        noisy=NAMED_ONLY | {"epsilon": 2},
        sharp=NAMED_ONLY | {"epsilon": 8},
        words=NAMED_ONLY | {"max_items": 2},
        dark=BOOLEAN | {"window": "week"},
    )
)
WEEKS: Final = [Window.parse(f"2026-W{week}") for week in range(40, 48)]
STEP: Final = 4
"""The first week in which more people have the text "zebra"."""

NAMED: Final = ("the", "zebra", "nobody")


def law_of(metric: Metric) -> tuple[Text, GroupedGeometry]:
    assert isinstance(metric.kind, Text)
    assert isinstance(metric.channel, GroupedGeometry)
    return metric.kind, metric.channel


def tally_of(metric: Metric, window: Window, people: Mapping[str, int], generator: np.random.Generator) -> Tally:
    kind, channel = law_of(metric)
    devices = {
        tuple(kind.numbers(text if kind.max_items == 1 else [text])): count for text, count in people.items() if count
    }
    counts = sampled_texts(kind, channel, devices, generator)
    return Tally(metric.name, metric.edition, window, closed=True, reports=int(counts.sum()), counts=counts.tolist())


@cache
def planted_tallies(name: str) -> tuple[Tally, ...]:
    metric, generator = REGISTRY.metric(name), np.random.default_rng(40)
    zebras = [3000 if week < STEP else 4500 for week in range(len(WEEKS))]
    of_weeks = [{"the": 9000, "zebra": each, "rest": 12_000 - each} for each in zebras]
    return tuple(tally_of(metric, *each, generator) for each in zip(WEEKS, of_weeks, strict=True))


@cache
def planted(name: str) -> EstimateReport:
    return make_report(REGISTRY, planted_tallies(name), Selection(), Request(candidates=NAMED))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["word", "noisy", "sharp"])
def test_a_named_text_is_said_in_every_form_to_be_more_common_since_a_week(name: str) -> None:
    report = planted(name)
    (changes,) = report.changes
    (found,) = changes.found
    told = (found.statistic, found.value, found.verdict, found.since)
    assert told == ("named_text", "zebra", ChangeVerdict.HIGHER_SINCE, WEEKS[STEP].text)
    assert found.low <= 1500 / 21_000 <= found.high
    assert "named_text" not in changes.untested
    page = as_html(report, REGISTRY).partition('<script type="application/json"')[0]
    for text in (page, as_summary(report), as_table(report)):
        assert f"higher than before {WEEKS[STEP].text}" in " ".join(text.split())
    value = f"zebra: higher since {WEEKS[STEP].text}"
    assert any((row.statistic, row.value) == ("found_change", value) for row in rows_of(report))


def test_found_texts_are_not_tested_and_every_form_says_so() -> None:
    assert make_report(REGISTRY, planted_tallies("word")).changes == ()
    assert planted("word").changes[0].untested == ("found_text",)
    for text in (as_summary(planted("word")), as_table(planted("word"))):
        assert "changes in found texts are not tested" in " ".join(text.split())


def test_archived_windows_show_the_same_changes() -> None:
    report = planted("word")
    windows = decode(json.loads(as_json(report))).metrics
    assert changes_of(windows, REGISTRY.metrics) == report.changes


@pytest.mark.slow
def test_verdicts_do_not_depend_on_the_metrics_that_a_report_shows() -> None:
    metric = REGISTRY.metric("dark")
    counts = np.array([[600, 400], [500, 500]])
    yes_or_no = [
        Tally(metric.name, metric.edition, window, closed=True, reports=1000, counts=of_window.tolist())
        for window, of_window in zip(WEEKS, counts, strict=False)
    ]
    tallies, request = [*planted_tallies("word")[:3], *yes_or_no], Request(candidates=NAMED)
    every = {each.metric: each for each in make_report(REGISTRY, tallies, Selection(), request).changes}
    for name in ("word", "dark"):
        assert make_report(REGISTRY, tallies, Selection(names=(name,)), request).changes == (every[name],)


def test_texts_that_share_a_cell_are_not_tested_whatever_people_report() -> None:
    first, second = sharing_pair(REGISTRY.metric("sharp"))
    metric, generator = REGISTRY.metric("sharp"), np.random.default_rng(7)
    for people in ({"zebra": 3000}, {first: 3000}, {first: 1000, second: 2000}):
        tallies = [tally_of(metric, window, people, generator) for window in WEEKS[:2]]
        request = Request(candidates=("zebra", first, second, "nobody"))
        report = make_report(REGISTRY, tallies, Selection(), request)
        (changes,) = report.changes
        assert list(changes.figures("named_text").labels) == ["zebra", "nobody"]
        for text in (as_summary(report), as_table(report)):
            assert "Changes of 2 named texts are not tested, because texts with the same hash" in " ".join(text.split())


def test_only_texts_that_every_window_has_are_tested() -> None:
    first, second = (
        make_report(REGISTRY, [tally], Selection(), Request(candidates=texts)).metrics[0]
        for tally, texts in zip(planted_tallies("sharp"), (("the", "zebra", "rest"), ("zebra", "the")), strict=False)
    )
    (changes,) = changes_of([first, second], REGISTRY.metrics)
    assert list(changes.figures("named_text").labels) == ["the", "zebra"]
    (other,) = make_report(REGISTRY, planted_tallies("sharp")[2:3], Selection(), Request(candidates=("rest",))).metrics
    assert changes_of([second, other], REGISTRY.metrics) == ()


def test_a_text_on_which_groups_contradict_each_other_has_not_changed() -> None:
    *others, last = planted("sharp").metrics
    assert last.texts is not None
    unclear = replace(last, texts=replace(last.texts, unclear=("zebra",)))
    (changes,) = changes_of([*others, unclear], REGISTRY.metrics)
    assert changes.found == ()
    assert changes.tests == len(NAMED)
    assert changes.figures("named_text").p_values[1] == 1.0


def test_a_set_counts_once_for_each_text() -> None:
    metric, generator = REGISTRY.metric("words"), np.random.default_rng(8)
    tallies = [tally_of(metric, window, {"the": 8000}, generator) for window in WEEKS[:2]]
    report = make_report(REGISTRY, tallies, Selection(), Request(candidates=("the",)))
    shares = text_shares(with_tested_texts(report.metrics), metric, "named_text")
    assert shares.reports[:, 0] == pytest.approx(8000, rel=0.001)
    assert shares.lasting[:, 0] == pytest.approx(0.0, abs=0.001)


@pytest.mark.parametrize("name", ["word", "noisy", "sharp"])
@pytest.mark.parametrize("reports", [60, 1000, 30_000])
def test_an_error_far_from_zero_is_as_rare_as_a_normal_one(name: str, reports: int) -> None:
    """Without the widening, an error is more frequent."""
    tails = analysis_of(REGISTRY.metric(name)).text_tails
    assert tails is not None
    family = 1000 * FARTHEST_FAMILY
    widening = float(tails.widenings(np.array([float(reports)]), family)[0])
    assert max(excess(tails, reports, each, widening) for each in (100, 10_000, family)) <= 1
    assert excess(tails, reports, family, 1.0) > 1


def excess(tails: TextTails, reports: int, family: int, widening: float) -> float:
    """Return how much more often an interval misses the truth, on either side, than a normal one.

    The interval of each count is ``family`` simultaneous normal intervals' width times the
    widening. The result is the worst one over all frequencies of support.
    """
    other, own = float(tails.support.other), float(tails.support.own)
    frequency = np.arange(reports + 1) / reports
    clipped = np.clip(frequency, other, own)
    reach = widening * z_of(family) * np.sqrt(clipped * (1 - clipped) / reports)
    worst = 0.0
    for truth in np.linspace(other, own, 24):
        below = int((np.flatnonzero(frequency + reach < truth) + 1).max(initial=0))
        above = int(np.flatnonzero(frequency - reach > truth).min(initial=reports + 1))
        misses = [(reports - below + 1, 1 - truth)] if below else []
        misses += [(above, truth)] if above <= reports else []
        for count, chance in misses:
            worst = max(worst, float(binomial_tail(np.array([count]), np.array([reports]), chance)[0]))
    return worst / tail_of(family)


PEOPLE: Final = 3000
TURN: Final = 4
"""From this window on, there are other people, or the same people give opposite answers."""

OTHERS, SAME, REPLACED, OPPOSITE = "other people", "the same", "all leave once", "opposite"
WHO: Final = (OTHERS, SAME, REPLACED, OPPOSITE)
ROUNDS: Final = 100
COMMON: Final = {"a": 0.3, "b": 0.3, "c": 0.1, "d": 0.1, "e": 0.05, "f": 0.05, "g": 0.005, "h": 0.005, "": 0.09}
"""The shares of texts in the population. Opposite people turn each text into its neighbor."""

NEIGHBORS: Final = dict(zip("abcdefgh", "badcfehg", strict=True)) | {"": ""}
LISTED: Final = (*COMMON, "nobody", "no one", "none")


def people_of(who: str, generator: np.random.Generator) -> Iterator[dict[str, int]]:
    """Yield the number of people with each text in each window."""

    def people() -> dict[str, int]:
        return dict(zip(COMMON, generator.multinomial(PEOPLE, [*COMMON.values()]).tolist(), strict=True))

    population = people()
    for place in range(len(WEEKS)):
        if who == OTHERS or (who == REPLACED and place == TURN):
            population = people()
        is_turned = who == OPPOSITE and place >= TURN
        yield {NEIGHBORS[text] if is_turned else text: count for text, count in population.items()}


@cache
def unchanged(name: str, who: str) -> list[tuple[MetricEstimate, ...]]:
    """Return rounds of windows in which no population changes."""
    metric, generator, rounds = REGISTRY.metric(name), np.random.default_rng([WHO.index(who), len(name)]), []
    for _ in range(ROUNDS):
        of_weeks = people_of(who, generator)
        tallies = [tally_of(metric, *each, generator) for each in zip(WEEKS, of_weeks, strict=True)]
        rounds.append(tuple(analysis_of(metric).estimates(tallies, Request(candidates=LISTED))))
    return rounds


def alarms(name: str, who: str) -> int:
    corrected = [correct([compared(each, REGISTRY.metric(name))], [1.0])[0] for each in unchanged(name, who)]
    return sum(bool((p_values <= SIGNIFICANT).any()) for p_values in corrected)


MOST: Final = 0.06
"""More than the promised 5%, by what 2,000 rounds leave open."""


@pytest.mark.long
def test_false_alarms_are_as_rare_as_promised_for_any_people_who_answer_again() -> None:
    """Without the lasting part of the error, there are too many."""
    number = {(name, who): alarms(name, who) for name in ("noisy", "sharp") for who in WHO}
    rounds = ROUNDS * len(number)
    alarm_rate = 1 - float(binomial_chance(np.array([rounds - sum(number.values())]), np.array([rounds]), 0.05)[0])
    assert alarm_rate <= MOST
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Windows, "with_lasting", lambda self, _: self)
        assert alarms("sharp", OPPOSITE) > MOST * ROUNDS
