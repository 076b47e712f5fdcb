"""What changed: differences, p-values by the normal law, and a correction against every closed
subset of tests.
"""

from __future__ import annotations

import json
import math
from itertools import combinations, count
from statistics import NormalDist

import numpy as np
import pytest

from client_sdk.protocol import Registry, Window
from estimator.analyses.metric import estimate
from estimator.decoders.inversions import sampler_of
from estimator.formats.json_documents import document_of
from estimator.report.changes import changes_of, compare
from estimator.report.report import make_report
from estimator.results.metric import MetricEstimate
from estimator.results.report import Request
from estimator.statistics.confidence import CONFIDENCE, Z, holm
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, ORDINAL, Field, registry_text
from tests.support.estimates.coverage import PROMISED, check_held
from tests.support.estimates.documents import listed, only

P_VALUES = (0.001, 0.012, 0.012, 0.03, 0.2, 0.9)
WEIGHTS = (1.0, 0.25, 1.0, 0.5, 0.25, 1.0)


def registry_of(**metrics: dict[str, Field]) -> Registry:
    return Registry.parse(registry_text(**metrics))


def tally(registry: Registry, name: str, counts: tuple[int, ...], day: int, *, closed: bool = True) -> Tally:
    metric = registry.metric(name)
    return Tally(name, metric.edition, Window.parse(f"2026-11-{day:02}"), closed, sum(counts), counts)


def estimates(registry: Registry, tallies: list[Tally]) -> list[MetricEstimate]:
    return [estimate(registry.metric(tally.metric), tally) for tally in tallies]


@for_each("index", range(len(P_VALUES)))
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


def correlated(distance: float, other_distance: float, opposed: float) -> float:
    """Return the length of the sum of two vectors whose angle has this cosine."""
    return abs(distance + other_distance * complex(opposed, math.sqrt(1 - opposed**2)))


def test_a_difference_has_the_error_of_both_windows_and_the_p_value_of_its_interval() -> None:
    registry = registry_of(yes=BOOLEAN)
    before, after = estimates(registry, [tally(registry, "yes", (600, 400), 1), tally(registry, "yes", (550, 450), 9)])
    (changed,) = changes_of([before, after], registry.metrics)
    assert (changed.first, changed.last) == ("2026-11-01", "2026-11-09")
    assert before.estimates is not None
    assert after.estimates is not None
    assert changed.estimates is not None
    for position, change in enumerate(changed.estimates):
        first, last = before.estimates[position], after.estimates[position]
        assert change.estimate == pytest.approx((last.estimate or 0) - (first.estimate or 0))
        errors = first.standard_error or 0, last.standard_error or 0
        shares = first.estimate or 0, last.estimate or 0
        opposed = min(math.prod(shares), math.prod(1 - share for share in shares)) / 1000 / math.prod(errors)
        assert change.standard_error == pytest.approx(correlated(*errors, opposed))
        ends = (first.estimate or 0) - first.low, first.high - (first.estimate or 0)
        last_ends = (last.estimate or 0) - last.low, last.high - (last.estimate or 0)
        normal = [Z * (each.standard_error or 0) for each in (first, last)]
        down = correlated(max(last_ends[0], normal[1]), max(ends[1], normal[0]), opposed)
        up = correlated(max(last_ends[1], normal[1]), max(ends[0], normal[0]), opposed)
        assert change.low == pytest.approx((change.estimate or 0) - down)
        assert change.high == pytest.approx((change.estimate or 0) + up)
        reach = down if (change.estimate or 0) > 0 else up
        assert change.p_value == pytest.approx(2 * NormalDist().cdf(-Z * abs(change.estimate or 0) / reach))
        assert change.p_value is not None
        assert (change.p_value <= 1 - CONFIDENCE) == (not change.low <= 0 <= change.high)
        assert (
            change.p_value_corrected == changed.estimates[0].p_value
        )  # the changes of yes and no are equal: that is one comparison


@pytest.mark.long
@pytest.mark.parametrize("fields", [BOOLEAN | {"epsilon": 6}, NUMBER | {"epsilon": 8}], ids=["share", "mean"])
@pytest.mark.parametrize("rare", [0.02, 0.05])
def test_a_rare_answer_that_a_small_window_lacks_is_no_change(fields: dict[str, Field], rare: float) -> None:
    """The error of the small window does not show what it lacks.

    By it the interval holds "no change" in 68%.
    """
    registry, generator = registry_of(m=fields), np.random.default_rng(6)
    sampler, ends = sampler_of(registry.metric("m").channel), np.zeros(registry.metric("m").channel.inputs)
    ends[0], ends[-1] = 1 - rare, rare

    def holds() -> tuple[bool, bool]:
        drawn = [sampler(generator.multinomial(reports, ends), generator) for reports in (60, 5000)]
        tallies = [tally(registry, "m", tuple(counts.tolist()), day) for day, counts in enumerate(drawn, start=1)]
        (((_, change), *_),) = changes_of(estimates(registry, tallies), registry.metrics)
        assert change.p_value is not None
        return change.low <= 0 <= change.high, change.p_value > 1 - CONFIDENCE

    check_held((np.array([holds()]) for _ in count()), PROMISED)


SAME, OPPOSITE, OTHERS = "the same people", "the same people, the other way round", "other people"

PERMANENT: dict[str, Field] = {"permanent_epsilon": 4}

METRICS = {
    "share at 1": BOOLEAN,
    "share at 4": BOOLEAN | {"epsilon": 4},
    "share at 6": BOOLEAN | {"epsilon": 6},
    "permanent share": BOOLEAN | PERMANENT | {"epsilon": 3},
    "shares of three": CATEGORY | {"epsilon": 8},
    "mean at 4": NUMBER | {"epsilon": 4},
    "mean at 8": NUMBER | {"epsilon": 8},
    "geometric mean at 8": NUMBER | {"epsilon": 8, "scale": "log"},
}


@pytest.mark.long
@for_each("who", [SAME, OPPOSITE, OTHERS])
@for_each("name", METRICS)
def test_no_change_is_covered_as_often_as_promised_for_any_people_who_answer_again(name: str, who: str) -> None:
    """Half of the people are at either end.

    If the windows were taken for independent, people who answer the other way round would be held
    in 80 to 91%.
    """
    registry, generator = registry_of(m=METRICS[name]), np.random.default_rng(12)
    metric = registry.metric("m")
    sampler, ends = sampler_of(metric.channel), np.zeros(metric.channel.inputs)
    ends[0], ends[-1] = 0.5, 0.5

    def holds() -> list[bool]:
        people = generator.multinomial(2000, ends)
        again = {SAME: people, OPPOSITE: people[::-1], OTHERS: generator.multinomial(2000, ends)}[who]
        drawn = [sampler(inputs, generator) for inputs in (people, again)]
        tallies = [tally(registry, "m", tuple(counts.tolist()), day) for day, counts in enumerate(drawn, start=1)]
        (changed,) = changes_of(estimates(registry, tallies), registry.metrics)
        changes = [change for _, change in changed]
        assert all((change.p_value or 0) > 1 - CONFIDENCE or not change.low <= 0 <= change.high for change in changes)
        return [change.low <= 0 <= change.high for change in changes]

    check_held((np.array([holds()]) for _ in count()), PROMISED)


def widened(fields: dict[str, Field], counts: tuple[int, ...]) -> float:
    """Return the width of a change of the last figure, over that between other people."""
    registry = registry_of(m=fields)
    before, after = windows = estimates(registry, [tally(registry, "m", counts, day) for day in (1, 2)])
    ((*_, (_, of_same)),) = changes_of(windows, registry.metrics)
    compared = compare(before, after)
    of_others = compared.differences(compared.p_values)[-1].figures[-1]
    errors = [window.compared[-1].figures[-1].standard_error or 0.0 for window in windows]
    assert of_others.standard_error == pytest.approx(math.hypot(*errors))
    return (of_same.high - of_same.low) / (of_others.high - of_others.low)


def test_a_change_is_no_wider_than_answers_of_the_same_people_can_make_it() -> None:
    """What noise covers hardly widens it, and rare answers can hardly be opposed."""
    assert widened(BOOLEAN | {"epsilon": 0.1}, (1000, 1000)) < 1.01
    assert widened(BOOLEAN | {"epsilon": 12}, (1000, 1000)) == pytest.approx(math.sqrt(2), rel=1e-3)
    assert widened(BOOLEAN | {"epsilon": 12}, (1960, 40)) < 1.02


def test_people_who_all_say_the_same_number_are_little_reason_to_widen_a_change_of_a_mean() -> None:
    """The noise of an optimal mean is up to 6% less at some answers than at others."""
    mean = NUMBER | {"mechanism": "optimal-mean", "epsilon": 2}
    registry, generator = registry_of(m=mean), np.random.default_rng(13)
    inputs = np.zeros(registry.metric("m").channel.inputs, dtype=np.int64)
    inputs[inputs.size // 2] = 10**6
    counts = sampler_of(registry.metric("m").channel)(inputs, generator)
    assert widened(mean, tuple(counts.tolist())) < 1.03


def test_a_metric_of_many_values_weighs_no_more_than_another() -> None:
    registry = registry_of(yes=BOOLEAN, letters=CATEGORY)
    size = registry.metric("letters").channel.symbols
    tallies = [tally(registry, "yes", counts, day) for counts, day in (((600, 400), 1), ((550, 450), 2))]
    tallies += [tally(registry, "letters", (500,) * size, day) for day in (1, 2)]
    of_yes, of_letters = changes_of(estimates(registry, tallies), registry.metrics)
    of_value = of_yes.figures("share")[0]
    assert of_yes.p_value_corrected == of_value.p_value_corrected == pytest.approx(2 * (of_value.p_value or 0))
    assert [change.p_value_corrected for change in of_letters.figures("share")] == [1.0] * 3


def test_too_few_reports_and_open_windows_say_nothing_of_a_change() -> None:
    registry = registry_of(yes=BOOLEAN, level=ORDINAL, size=NUMBER)
    few = [tally(registry, "yes", counts, day) for counts, day in (((30, 19), 1), ((900, 100), 2))]
    (changed,) = changes_of(estimates(registry, few), registry.metrics)
    assert [(change.p_value, change.p_value_corrected) for change in changed.figures("share")] == [(None, None)] * 2
    assert (changed.p_value_corrected, changed.figures("share")[0].low) == (None, -1.0)
    last_is_open = [tally(registry, "yes", (500, 500), 1), tally(registry, "yes", (900, 100), 2, closed=False)]
    assert changes_of(estimates(registry, last_is_open), registry.metrics) == ()
    one_is_empty = [tally(registry, "yes", (0, 0), 1), tally(registry, "yes", (900, 100), 2)]
    assert changes_of(estimates(registry, one_is_empty), registry.metrics) == ()


def test_windows_of_too_few_reports_are_passed_over_where_two_others_are_left() -> None:
    registry = registry_of(yes=BOOLEAN)
    counts = ((20, 10), (600, 400), (10, 20), (550, 450), (3, 4))
    windows = estimates(registry, [tally(registry, "yes", tallied, day) for day, tallied in enumerate(counts, start=1)])
    (changed,) = changes_of(windows, registry.metrics)
    assert (changed.first, changed.last) == ("2026-11-02", "2026-11-04")
    (too_few,) = changes_of(windows[:3], registry.metrics)
    assert (too_few.first, too_few.last, too_few.p_value_corrected) == ("2026-11-01", "2026-11-03", None)


def test_the_chance_of_a_false_alarm_is_kept_for_all_metrics_together() -> None:
    """Among reports of pure noise at most 5% hold an alarm, but for six standard deviations."""
    generator, rounds, metrics = np.random.default_rng(11), 2000, 20
    p_values = generator.random((rounds, metrics))
    alarms = sum(min(holm(batch.tolist(), [1.0] * metrics)) <= 0.05 for batch in p_values)
    assert alarms / rounds <= 0.05 + 6 * math.sqrt(0.05 * 0.95 / rounds)
    assert (p_values.min(axis=1) <= 0.05).mean() > 0.5, "without a correction more than every other one would"


def test_json_holds_the_changes_where_windows_are_pooled() -> None:
    registry = registry_of(yes=BOOLEAN, size=NUMBER)
    symbols = registry.metric("size").channel.symbols
    tallies = [tally(registry, "yes", (600, 400), day) for day in (1, 2)]
    tallies += [tally(registry, "size", (100,) * symbols, day) for day in (1, 2)]
    (of_yes, of_size) = document_of(make_report(registry, tallies, request=Request(pool=True)))["changes"]
    assert (of_yes["metric"], of_yes["first"], of_yes["last"]) == ("yes", "2026-11-01", "2026-11-02")
    assert [change["value"] for change in listed(of_yes, "share")] == [False, True]
    of_mean = only(of_size, "mean")
    assert of_mean["p_value_corrected"] == of_mean["p_value"] == 1.0
    json.dumps([of_yes, of_size], allow_nan=False)
