"""Whether groups differ: p-values that agree with their intervals, how often they are wrong, and
what they detect.
"""

from __future__ import annotations

import math
from itertools import count
from statistics import NormalDist

import numpy as np
import pytest
from msgspec.structs import replace

from estimator.analyses.ratios import SETTLED, Ratios, Sample
from estimator.decoders.inversions import inverse_of
from estimator.formats.json_documents import document_of
from estimator.formats.tables import to_pandas
from estimator.render.html.tables import verdict_on
from estimator.render.rounding import PERCENT
from estimator.render.text.report import as_table
from estimator.report.conclusions import (
    Conclusion,
    clearest_first,
    comparisons,
    conclusion,
    corrected_differences,
    differences_of,
)
from estimator.report.report import make_report
from estimator.results.estimate import Figure, FigureLabel, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.statistics.confidence import holm
from estimator.tallies import Tally
from tests.support.estimates.documents import listed
from tests.support.estimates.group_differences import (
    CASES,
    LEVEL,
    WINDOW,
    drawn,
    estimates,
    false_alarms,
    nothing,
    registry_of,
    sizes,
)
from tests.support.laws.sampling import accepts_each

REGISTRY = registry_of("3")
OFTEN = 0.2
"""A wrong level that must not pass as 5%; without a correction every other report would hold a
false alarm.
"""


def differences_in(estimated: MetricEstimate) -> FigureGroup:
    differences = differences_of(estimated)
    assert differences is not None
    return differences


def comparisons_in(estimated: MetricEstimate) -> list[tuple[Figure, ...]]:
    return comparisons(differences_in(estimated))


def named(difference: Figure) -> tuple[FigureLabel, FigureLabel, FigureLabel]:
    """Return the answer whose shares are compared, and the two groups."""
    assert isinstance(difference.value, tuple)
    answer, first, second = difference.value
    return answer, first, second


def with_p_values(estimated: MetricEstimate, p_values: list[float | None]) -> MetricEstimate:
    """Return an estimate whose comparisons have the given p-values."""
    differences = differences_in(estimated)
    paired = zip(comparisons(differences), p_values, strict=True)
    figures = Figures.from_rows(replace(each, p_value=p_value) for same, p_value in paired for each in same)
    given = replace(differences, figures=figures)
    return replace(estimated, groups=tuple(given if group is differences else group for group in estimated.groups))


def corrected(estimated: MetricEstimate) -> list[float | None]:
    return [comparison[0].p_value_corrected for comparison in comparisons_in(estimated)]


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "reports"), CASES)
def test_a_p_value_is_at_most_5_percent_just_where_the_interval_does_not_hold_0(epsilon: str, reports: int) -> None:
    registry, generator = registry_of(epsilon), np.random.default_rng(8)
    seen = set()
    for _ in range(60):
        for estimated in estimates(registry, reports, generator):
            for each in differences_in(estimated).figures:
                holds = each.low <= 0 <= each.high
                assert (each.p_value is None) == (each.estimate is None)
                assert holds == (each.p_value is None or each.p_value > LEVEL)
                seen.add(holds)
    assert seen == {True, False}


@pytest.mark.parametrize("name", ["pair_0", "pair_3"])
def test_a_p_value_is_the_level_at_which_the_interval_ends_at_0(name: str) -> None:
    metric, generator = REGISTRY.metric(name), np.random.default_rng(9)
    inverse, (groups, answers) = inverse_of(metric.channel), sizes(REGISTRY, name)
    counts = generator.multinomial(3000, np.full(metric.channel.symbols, 1 / metric.channel.symbols))
    reports = int(counts.sum())
    shares, covariance = inverse.shares(counts, reports), Sample.from_counts(inverse, counts).covariance(inverse)
    table = Ratios.from_shares(shares, covariance, groups, answers)
    places = [(a, b, j) for a in range(groups) for b in range(a) for j in range(answers)]
    for place, p_value in zip(places, table.p_values(*np.array(places).T), strict=True):
        interval = table.difference(*place, -NormalDist().inv_cdf(p_value / 2))
        end = interval.low if (interval.estimate or 0) > 0 else interval.high
        assert abs(end) <= 16 * SETTLED * (interval.high - interval.low), (
            "a few of the steps at which the search for it ends"
        )


def test_two_groups_that_are_just_alike_have_the_p_value_1() -> None:
    table = Ratios.from_shares(np.full(4, 0.25), np.diag(np.full(4, 1e-4)), 2, 2)
    places = np.array([0]), np.array([1]), np.array([0])
    assert table.p_values(*places) == [pytest.approx(1.0)]


def test_a_difference_that_only_an_empty_group_could_explain_has_a_p_value() -> None:
    generator = np.random.default_rng(6)
    # for some the search ends where a group could be empty, and its interval has no ends
    for _ in range(60):
        truth = generator.dirichlet(np.ones(12)).reshape(4, 3)
        compared = comparisons_in(drawn(REGISTRY, "pair_3", 100, truth, generator))
        assert all(0 < first.p_value <= 1 for first, *_ in compared if first.p_value is not None)


def test_of_two_answers_both_have_the_p_value_of_the_first_and_count_once() -> None:
    two_answers = drawn(REGISTRY, "pair_1", 5000, np.full((3, 2), 1 / 6), np.random.default_rng(1))
    of_two = comparisons_in(two_answers)
    assert [len(comparison) for comparison in of_two] == [2, 2, 2]
    assert all(first.p_value == second.p_value for first, second in of_two)
    three_answers = drawn(REGISTRY, "pair_3", 5000, np.full((4, 3), 1 / 12), np.random.default_rng(1))
    assert [len(comparison) for comparison in comparisons_in(three_answers)] == [1] * math.comb(4, 2) * 3


def test_every_metric_weighs_the_same_however_many_differences_it_has() -> None:
    few, many = estimates(REGISTRY, 5000, np.random.default_rng(2)), estimates(REGISTRY, 5000, np.random.default_rng(3))
    small, large = next(few), [*many][-1]
    size = len(comparisons_in(large))
    metrics = corrected_differences([with_p_values(small, [0.01]), with_p_values(large, [0.5] * size)])
    assert corrected(metrics[0]) == [pytest.approx(0.02)]
    metrics = corrected_differences([with_p_values(small, [0.5]), with_p_values(large, [0.001] * size)])
    assert corrected(metrics[1]) == pytest.approx([2 * size * 0.001] * size)


def test_differences_with_too_few_reports_are_left_out() -> None:
    (_, estimated, *_) = estimates(REGISTRY, 5000, np.random.default_rng(2))
    (metric,) = corrected_differences([with_p_values(estimated, [0.01, None, 0.2])])
    first, last = holm([0.01, 0.2], [1.0, 1.0])
    assert corrected(metric) == [pytest.approx(first), None, pytest.approx(last)]
    silent = drawn(REGISTRY, "pair_1", 49, np.full((3, 2), 1 / 6), np.random.default_rng(1))
    (metric,) = corrected_differences([silent])
    assert {conclusion(each) for each in differences_in(metric).figures} == {Conclusion.TOO_FEW}


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "reports"), [CASES[0], CASES[-1]])
def test_groups_that_are_alike_are_said_to_differ_in_at_most_one_of_twenty_reports(epsilon: str, reports: int) -> None:
    alarms = (np.array([either]) for either in false_alarms(epsilon, reports))
    is_corrected_right, is_uncorrected_right = accepts_each(alarms, LEVEL, OFTEN)
    assert is_corrected_right
    assert not is_uncorrected_right, "without a correction it is more often"


def test_groups_that_differ_are_seen_among_others_that_do_not() -> None:
    """One answer is more common by .1 in the first of three groups, among four pairs of questions
    of 20,000 reports.
    """
    generator = np.random.default_rng(5)
    groups, answers = nothing(3, 2)
    within = np.array([answers, answers, answers]) + np.array([[0.1, -0.1], [0, 0], [0, 0]])

    def is_seen() -> bool:
        others = [differing for differing in estimates(REGISTRY, 20_000, generator) if differing.metric != "pair_1"]
        differing = drawn(REGISTRY, "pair_1", 20_000, groups[:, None] * within, generator)
        differences = differences_in(corrected_differences([differing, *others])[0]).figures
        return all(conclusion(each) == Conclusion.DIFFER for each in differences if named(each)[1] == "part_1_0 0")

    assert accepts_each((np.array([is_seen()]) for _ in count()), 0.9, 0.6)


def report_of(counts: tuple[int, ...], name: str = "pair_1") -> tuple[Tally, ...]:
    return (Tally(name, REGISTRY.metric(name).edition, WINDOW, closed=True, reports=sum(counts), counts=counts),)


def test_every_form_has_the_p_values_and_says_in_words_what_they_mean() -> None:
    report = make_report(REGISTRY, report_of((5000, 1000, 3000, 3000, 3000, 3100)))
    (estimated,) = report.metrics
    clearest = clearest_first(differences_in(estimated))
    assert conclusion(clearest[0]) == Conclusion.DIFFER
    assert conclusion(clearest[-1]) in {Conclusion.MAY_DIFFER, Conclusion.NO_DIFFERENCE}
    table = as_table(report)
    assert "differences between groups, of 3: 2 differ" in table
    assert "differ, p < 0.001" in table
    entries = listed(document_of(report)["metrics"][0], "difference")
    assert [each["p_value_corrected"] for each in entries] == [
        each.p_value_corrected for each in differences_in(estimated).figures
    ]
    frame = to_pandas(report)
    rows = frame[frame.statistic == "difference"]
    assert rows.p_value.tolist() == [each["p_value"] for each in entries]
    assert rows.p_value_corrected.tolist() == [each["p_value_corrected"] for each in entries]
    assert frame[frame.statistic != "difference"].p_value.isna().all()


@pytest.mark.parametrize(
    ("p_values", "code", "words"),
    [
        ([0.001, 0.5, 0.5], "changed", "Groups differ: "),
        ([0.02, 0.5, 0.5], "perhaps", "Groups may differ: "),
        ([0.3, 0.5, None], "same", "No difference between groups was detected; the clearest is that "),
        ([None] * 3, "unknown", "Too few reports to say whether groups differ."),
    ],
)
def test_a_sentence_says_whether_groups_differ(p_values: list[float | None], code: str, words: str) -> None:
    (_, estimated, *_) = estimates(REGISTRY, 5000, np.random.default_rng(2))
    (metric,) = corrected_differences([with_p_values(estimated, p_values)])
    verdict = verdict_on(("os", "theme"), clearest_first(differences_in(metric)), PERCENT)
    assert verdict.code == code
    assert verdict.words.startswith(words)
    assert ("For 1 of 3 comparisons, there are too few reports to say." in verdict.words) == (p_values.count(None) == 1)


def test_a_comparison_starts_from_the_group_in_which_the_answer_is_more_common() -> None:
    for estimated in estimates(REGISTRY, 5000, np.random.default_rng(2)):
        differences = differences_in(estimated)
        by_groups = {named(each): each for each in differences.figures}
        for difference in clearest_first(differences):
            assert (difference.estimate or 0) >= 0
            answer, first, second = named(difference)
            same = by_groups.get((answer, first, second))
            other = by_groups.get((answer, second, first))
            assert same == difference or (
                other is not None
                and (other.low, other.high) == (-difference.high, -difference.low)
                and other.standard_error == difference.standard_error
            )
