"""What changed: differences, p-values by the normal law, and a correction against every closed
subset of tests.
"""

from __future__ import annotations

import json
import math
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from estimator.estimates.metric import estimate
from estimator.formats.to_json import document_of
from estimator.report.changes import changes_of
from estimator.report.report import make_report
from estimator.results.metric import MetricEstimate
from estimator.results.request import Request
from estimator.statistics.holm import holm
from estimator.tallies.tally import Tally
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, ORDINAL, Field, registry_text

P_VALUES = (0.001, 0.012, 0.012, 0.03, 0.2, 0.9)
WEIGHTS = (1.0, 0.25, 1.0, 0.5, 0.25, 1.0)


def registry_of(**metrics: dict[str, Field]) -> Registry:
    return Registry.parse(registry_text(**metrics))


def tally(registry: Registry, name: str, counts: tuple[int, ...], day: int, *, closed: bool = True) -> Tally:
    metric = registry.metric(name)
    return Tally(name, metric.edition, Window.parse(f"2026-11-{day:02}"), closed, sum(counts), counts)


def estimates(registry: Registry, tallies: list[Tally]) -> list[MetricEstimate]:
    return [estimate(registry.metric(tally.metric), tally) for tally in tallies]


@pytest.mark.parametrize("index", range(len(P_VALUES)))
def test_a_corrected_p_value_is_the_largest_of_all_sets_of_tests_that_it_belongs_to(index: int) -> None:
    """Closed testing (Marcus, Peritz & Gabriel 1976) tests each set by Bonferroni with the
    weights.
    """
    others = [other for other in range(len(P_VALUES)) if other != index]
    largest = 0.0
    for size in range(len(P_VALUES)):
        for subset in combinations(others, size):
            tests = (index, *subset)
            weight = math.fsum(WEIGHTS[test] for test in tests)
            largest = max(largest, min(1.0, *(weight * P_VALUES[test] / WEIGHTS[test] for test in tests)))
    assert holm(P_VALUES, WEIGHTS)[index] == pytest.approx(largest)


def test_a_difference_has_the_error_of_both_windows_and_the_p_value_of_the_normal_law() -> None:
    registry = registry_of(yes=BOOLEAN)
    before, after = estimates(registry, [tally(registry, "yes", (600, 400), 1), tally(registry, "yes", (550, 450), 9)])
    (changed,) = changes_of([before, after])
    assert (changed.first, changed.last) == ("2026-11-01", "2026-11-09")
    assert before.estimates is not None
    assert after.estimates is not None
    for position, change in enumerate(changed.estimates):
        first, last = before.estimates[position], after.estimates[position]
        assert change.estimate == pytest.approx((last.estimate or 0) - (first.estimate or 0))
        assert change.standard_error == pytest.approx(math.hypot(first.standard_error or 0, last.standard_error or 0))
        z = abs(change.estimate or 0) / (change.standard_error or 1)
        assert change.p_value == pytest.approx(2 * NormalDist().cdf(-z))
        assert (
            change.p_value_corrected == changed.estimates[0].p_value
        )  # the changes of yes and no are equal: that is one comparison


def test_a_question_of_many_values_weighs_no_more_than_another() -> None:
    registry = registry_of(yes=BOOLEAN, letters=CATEGORY)
    size = registry.metric("letters").channel.symbols
    tallies = [tally(registry, "yes", counts, day) for counts, day in (((600, 400), 1), ((550, 450), 2))]
    tallies += [tally(registry, "letters", (500,) * size, day) for day in (1, 2)]
    of_yes, of_letters = changes_of(estimates(registry, tallies))
    of_value = of_yes.estimates[0]
    assert of_yes.p_value_corrected == of_value.p_value_corrected == pytest.approx(2 * (of_value.p_value or 0))
    assert [change.p_value_corrected for change in of_letters.estimates] == [1.0] * 3


def test_too_few_reports_and_open_windows_say_nothing_of_a_change() -> None:
    registry = registry_of(yes=BOOLEAN, level=ORDINAL, size=NUMBER)
    few = [tally(registry, "yes", counts, day) for counts, day in (((30, 19), 1), ((900, 100), 2))]
    (changed,) = changes_of(estimates(registry, few))
    assert [(change.p_value, change.p_value_corrected) for change in changed.estimates] == [(None, None)] * 2
    assert (changed.p_value_corrected, changed.estimates[0].low) == (None, -1.0)
    last_is_open = [tally(registry, "yes", (500, 500), 1), tally(registry, "yes", (900, 100), 2, closed=False)]
    assert changes_of(estimates(registry, last_is_open)) == ()
    assert (
        changes_of(estimates(registry, [tally(registry, "yes", (0, 0), 1), tally(registry, "yes", (900, 100), 2)]))
        == ()
    )


def test_windows_of_too_few_reports_are_passed_over_where_two_others_are_left() -> None:
    registry = registry_of(yes=BOOLEAN)
    counts = ((20, 10), (600, 400), (10, 20), (550, 450), (3, 4))
    windows = estimates(registry, [tally(registry, "yes", tallied, day) for day, tallied in enumerate(counts, start=1)])
    (changed,) = changes_of(windows)
    assert (changed.first, changed.last) == ("2026-11-02", "2026-11-04")
    (too_few,) = changes_of(windows[:3])
    assert (too_few.first, too_few.last, too_few.p_value_corrected) == ("2026-11-01", "2026-11-03", None)


def test_the_chance_of_a_false_alarm_is_kept_for_all_questions_together() -> None:
    """Among reports of pure noise at most 5 % hold an alarm, but for six standard deviations."""
    generator, rounds, questions = np.random.default_rng(11), 2000, 20
    p_values = generator.random((rounds, questions))
    alarms = sum(min(holm(batch.tolist(), [1.0] * questions)) <= 0.05 for batch in p_values)
    assert alarms / rounds <= 0.05 + 6 * math.sqrt(0.05 * 0.95 / rounds)
    assert (p_values.min(axis=1) <= 0.05).mean() > 0.5, "without a correction more than every other one would"


def test_json_holds_the_changes_where_windows_are_pooled() -> None:
    registry = registry_of(yes=BOOLEAN, size=NUMBER)
    symbols = registry.metric("size").channel.symbols
    tallies = [tally(registry, "yes", (600, 400), day) for day in (1, 2)]
    tallies += [tally(registry, "size", (100,) * symbols, day) for day in (1, 2)]
    (of_yes, of_size) = document_of(make_report(registry, tallies, request=Request(pool=True)))["changes"]
    assert (of_yes["metric"], of_yes["first"], of_yes["last"]) == ("yes", "2026-11-01", "2026-11-02")
    assert [change["value"] for change in of_yes["estimates"]] == [False, True]
    assert of_size["mean"]["p_value_corrected"] == of_size["mean"]["p_value"] == 1.0
    json.dumps([of_yes, of_size], allow_nan=False)
