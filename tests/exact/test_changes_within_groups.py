"""Changes of shares within groups: planted changes are found and dated, and false alarms are rare.

All tallies are drawn from the laws of the real channels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np
import pytest

from client_sdk.protocol import Metric, Registry, Window
from estimator.analyses.metric import analysis_of
from estimator.decoders.inversions import sampler_of
from estimator.formats.json_documents import as_json, decode
from estimator.formats.tables import rows_of
from estimator.render.html.page import as_html
from estimator.render.text.report import as_table
from estimator.render.words import change_words
from estimator.report.changes import changes_of, compared, correct
from estimator.report.report import make_report
from estimator.report.same_people import Windows
from estimator.results.metric import MetricEstimate
from estimator.results.report import PLAIN, ChangeVerdict, EstimateReport
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import SIGNIFICANT, binomial_chance
from estimator.tallies import Tally
from tests.support.devices.definitions import BOOLEAN, CATEGORY, CROSS, registry_text

SHARED: Final = {"window": "week"}
REGISTRY: Final = Registry.parse(
    registry_text(
        crashed=BOOLEAN | SHARED,
        os=CATEGORY | SHARED,
        noisy=CROSS | SHARED | {"cross": ["os", "crashed"], "epsilon": 2},
        sharp=CROSS | SHARED | {"cross": ["os", "crashed"], "epsilon": 8},
    )
)
WEEKS: Final = [Window.parse(f"2026-W{week}") for week in range(40, 48)]
STEP: Final = 4
DEVICES: Final = 12_000


def tally_of(metric: Metric, window: Window, people: Counts, generator: np.random.Generator) -> Tally:
    counts = sampler_of(metric.channel)(people, generator)
    return Tally(metric.name, metric.edition, window, closed=True, reports=int(counts.sum()), counts=counts.tolist())


def pairs(of_groups: Floats, yes: Floats) -> Floats:
    """Return the share of each pair of a group and no or yes."""
    law: Floats = np.column_stack([of_groups * (1 - yes), of_groups * yes]).ravel()
    return law


@cache
def planted(name: str) -> EstimateReport:
    """Return a report of weeks in which half of group a leaves, and others of group b say yes."""
    metric, generator, tallies = REGISTRY.metric(name), np.random.default_rng(40), []
    for week, window in enumerate(WEEKS):
        law = pairs(np.array([0.4, 0.3, 0.3]), np.array([0.2, 0.4 if week < STEP else 0.6, 0.3]))
        tallies.append(tally_of(metric, window, generator.multinomial(DEVICES, law), generator))
    return make_report(REGISTRY, tallies)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["noisy", "sharp"])
def test_a_share_within_a_group_is_said_in_every_form_to_be_higher_since_a_week(name: str) -> None:
    report = planted(name)
    (changes,) = report.changes
    within = [each for each in changes.found if each.statistic == "share_within" and each.verdict.is_change]
    assert {each.value for each in within} == {("b", True)}
    higher = next(each for each in within if each.value == ("b", True))
    assert (higher.verdict, higher.since) == (ChangeVerdict.HIGHER_SINCE, WEEKS[STEP].text)
    assert higher.low <= 0.2 <= higher.high
    assert "share_within" not in changes.untested
    page = as_html(report, REGISTRY).partition('<script type="application/json"')[0]
    assert f"yes within b: higher since {WEEKS[STEP].text}" in page
    assert change_words(higher, changes).startswith("“yes” within “b” is ")
    assert "crashed within each group of os" in as_table(report)
    value = f"share_within b, yes: higher since {WEEKS[STEP].text}"
    assert any((row.statistic, row.value) == ("found_change", value) for row in rows_of(report))
    windows = decode(json.loads(as_json(report))).metrics
    assert changes_of(windows, REGISTRY.metrics) == report.changes


def test_shares_within_small_groups_are_named_as_untested() -> None:
    metric, generator = REGISTRY.metric("noisy"), np.random.default_rng(9)
    people = np.full(metric.channel.inputs, 60 // metric.channel.inputs)
    report = make_report(REGISTRY, [tally_of(metric, window, people, generator) for window in WEEKS[:2]])
    assert report.changes[0].group("share_within") is None
    assert "share_within" in report.changes[0].untested
    assert "changes in shares within groups are not tested" in " ".join(as_table(report).split())


def test_the_error_of_a_groups_share_is_that_of_the_covariance() -> None:
    report = planted("noisy")
    metric = REGISTRY.metric("noisy")
    analysis = analysis_of(metric)
    unbiased = report.metrics[0].figures("share").unbiased
    shares, errors = analysis.shares_of_groups(unbiased, DEVICES)
    assert shares == pytest.approx(unbiased.reshape(3, 2).sum(axis=1).repeat(2))
    first = shares[0]
    p, q = (float(metric.channel.probability(0, given)) for given in (0, 1))
    supported = 2 * q + (p - q) * first  # the two pairs of the group, without their common probability
    assert errors[0] == pytest.approx(np.sqrt(supported * (1 - supported) / DEVICES) / (p - q), rel=1e-6)


PEOPLE: Final = 3000
TURN: Final = 4
OTHERS, SAME, OPPOSITE, MOVED = "other people", "the same", "opposite answers", "others in each group"
WHO: Final = (OTHERS, SAME, OPPOSITE, MOVED)
ROUNDS: Final = 100
LAW: Final = pairs(np.array([0.4, 0.4, 0.2]), np.full(3, 0.5))
"""In each group, half of the people say yes, so opposite answers change no share."""

TURNED: Final = {OPPOSITE: [1, 0, 3, 2, 5, 4], MOVED: [2, 3, 0, 1, 4, 5]}
"""For each pair, the pair that the same people report from `TURN` on."""


def people_of(who: str, generator: np.random.Generator) -> Iterator[Counts]:
    """Yield the number of people with each pair in each window."""
    population = generator.multinomial(PEOPLE, LAW)
    for place in range(len(WEEKS)):
        if who == OTHERS:
            population = generator.multinomial(PEOPLE, LAW)
        yield population[TURNED[who]] if who in TURNED and place >= TURN else population


@cache
def unchanged(name: str, who: str) -> list[tuple[MetricEstimate, ...]]:
    """Return rounds of windows in which no population changes."""
    metric, generator, rounds = REGISTRY.metric(name), np.random.default_rng([WHO.index(who), len(name)]), []
    for _ in range(ROUNDS):
        of_weeks = people_of(who, generator)
        tallies = [tally_of(metric, *each, generator) for each in zip(WEEKS, of_weeks, strict=True)]
        rounds.append(tuple(analysis_of(metric).estimates(tallies, PLAIN)))
    return rounds


def alarms(name: str, who: str) -> int:
    """Return how many rounds have a false alarm on a share within a group."""
    number = 0
    for windows in unchanged(name, who):
        tested = compared(windows, REGISTRY.metric(name))
        corrected = tested.differences(correct([tested], [1.0])[0])
        within = next(each for each in corrected if each.statistic == "share_within")
        number += bool((within.figures.p_values_corrected <= SIGNIFICANT).any())
    return number


MOST: Final = 0.06
"""More than the promised 5%, by what 2,000 rounds leave open."""


@pytest.mark.long
def test_false_alarms_are_as_rare_as_promised_for_any_people_who_answer_again() -> None:
    """Without the lasting part of the error, there are too many."""
    number = sum(alarms(name, who) for name in ("noisy", "sharp") for who in WHO)
    rounds = 2 * len(WHO) * ROUNDS
    assert 1 - float(binomial_chance(np.array([rounds - number]), np.array([rounds]), SIGNIFICANT)[0]) <= MOST
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Windows, "with_lasting", lambda self, _: self)
        assert alarms("sharp", OPPOSITE) > MOST * ROUNDS
