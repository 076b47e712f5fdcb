"""A number by group: unbiased means, intervals, and groups of which too few answered.

The intervals hold as often as promised.
"""

from __future__ import annotations

from itertools import combinations, repeat

import numpy as np
import pytest

from benchmarks.coverage.group_means import METRICS, RANGE, held_by
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.mechanisms import channel_for
from estimator.analyses import group_means as of_groups
from estimator.analyses.group_means import group_means, group_shares, intervals_of_means
from estimator.analyses.ratios import Ratios
from estimator.decoders.decoder import Inverse
from estimator.decoders.inversions import inverse_of
from estimator.report.conclusions import comparisons
from estimator.results.estimate import Figures
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, SIGNIFICANT, holm
from tests.support.estimates.coverage import BATCH, PROMISED, check_held, drawn_tallies
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import POPULATIONS
from tests.support.laws.sampling import accepts_each

THREE = MeanByGroup(Category(("a", "b", "c")), RANGE, ("os", "size"))
GROUPS = np.array([0.6, 0.3, 0.1])
SEED = 3
MANY = 10**14
"""Reports of a tally whose rounding to whole reports moves no figure by a billionth."""


def rounded_metric(epsilon: str, domain: MeanByGroup = THREE) -> tuple[MeanByGroup, Inverse]:
    rounded = domain.rounded_for(requested(epsilon).odds)
    return rounded, inverse_of(channel_for(rounded, requested(epsilon), "auto"))


def law_of(inverse: Inverse, groups: Floats, within: Floats) -> Floats:
    """Return the symbols' law of people in groups, whose numbers have these shares of points."""
    law = inverse.symbol_law((groups[:, np.newaxis] * within).ravel())
    normalized: Floats = law / law.sum()
    return normalized


def figures_of(domain: MeanByGroup, inverse: Inverse, counts: Counts) -> tuple[Figures, Figures]:
    """Return the mean of each group, and the differences between groups."""
    means, differences = group_means(domain, inverse, counts, unit="")
    return means.figures, differences.figures


def estimates_of(figures: Figures) -> list[float | None]:
    return [figure.estimate for figure in figures]


def p_values_of(domain: MeanByGroup, inverse: Inverse, counts: Counts) -> list[float]:
    """Return the p-value of each comparison that has enough reports."""
    _, differences = group_means(domain, inverse, counts, unit="")
    return [first.p_value for first, *_ in comparisons(differences) if first.p_value is not None]


def check_unbiased(epsilon: str) -> None:
    """At the expected tally of a population each share and mean is the true one."""
    domain, inverse = rounded_metric(epsilon)
    within = np.random.default_rng(SEED).dirichlet(np.ones(domain.points), size=3)
    expected = np.rint(MANY * law_of(inverse, GROUPS, within)).astype(np.int64)
    means, _ = figures_of(domain, inverse, expected)
    assert estimates_of(means) == pytest.approx(list(within @ np.linspace(0, 1, domain.points)), abs=1e-9)
    (shares,) = group_shares(domain, inverse, expected[np.newaxis], np.array([[expected.sum()]]), 1)
    assert list(shares.unbiased) == pytest.approx(list(GROUPS), abs=1e-9)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3", "5", "8"])
def test_shares_and_means_of_groups_are_those_of_the_population_at_the_expected_tally(epsilon: str) -> None:
    check_unbiased(epsilon)


def test_a_wrong_worth_of_points_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = of_groups._ends
    for wrong in (lambda points: right(points)[::-1], lambda points: right(points) ** 2):
        monkeypatch.setattr(of_groups, "_ends", wrong)
        with pytest.raises(AssertionError):
            check_unbiased("3")


@pytest.fixture
def only_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute no p-values: they take most of the time, and no interval depends on them."""
    monkeypatch.setattr(Ratios, "p_values", lambda _, first, *__: np.ones(first.size))


@pytest.mark.long
@pytest.mark.usefixtures("only_intervals")
@pytest.mark.parametrize(
    ("name", "population", "epsilon", "reports", "differences"),
    [
        ("2 groups of equal size", "half at each end", "1", 300, True),
        ("2 groups of equal size", "2% at the high end, the rest at the low end", "8", 50, False),
        ("2 groups, one with 2% of the people", "half at each end", "3", 10_000, False),
        (
            "2 groups, one with 2% of the people",
            "1 person at the high end, the rest at one lower value",
            "8",
            10_000,
            False,
        ),
        ("4 groups", "uniform", "3", 10_000, True),
    ],
)
def test_means_and_their_differences_hold_the_truth_as_often_as_promised(
    name: str,
    population: str,
    epsilon: str,
    reports: int,
    differences: bool,  # noqa: FBT001 a parameter of the test
) -> None:
    generator = np.random.default_rng(SEED)
    held = held_by(*METRICS[name], POPULATIONS[population](reports), epsilon, reports, differences)
    check_held((held(BATCH, generator) for _ in repeat(None)), PROMISED)


def tally_of(epsilon: str, reports: int, groups: Floats) -> tuple[MeanByGroup, Inverse, Counts]:
    domain, inverse = rounded_metric(epsilon)
    law = law_of(inverse, groups, np.full((3, domain.points), 1 / domain.points))
    return domain, inverse, np.random.default_rng(SEED).multinomial(reports, law)


def test_a_group_whose_share_may_be_none_has_no_mean_and_no_difference() -> None:
    """The rule: the group's share is no more than 1.96 of its standard errors."""
    domain, inverse, counts = tally_of("2", 4000, np.array([0.6, 0.4, 0.0]))
    table, _ = of_groups.ratios_of(domain, inverse, counts)
    may_be_none = table.sums <= 1.96 * np.sqrt(np.einsum("gg->g", table.of_sums))
    assert list(may_be_none) == [False, False, True]
    means, differences = figures_of(domain, inverse, counts)
    known = [mean is not None for mean in estimates_of(means)]
    assert known == [True, True, False]
    unknown = means[2]
    assert (unknown.low, unknown.high, unknown.standard_error) == (0, 1, None)
    assert [difference.p_value is None for difference in differences] == [False, True, True]
    assert all(-1 <= difference.low <= difference.high <= 1 for difference in differences)


def test_the_rule_alone_decides_and_no_shown_mean_is_wild() -> None:
    """Over tallies near the rule, a group's mean is shown exactly if its share's z exceeds 1.96."""
    domain, inverse = rounded_metric("1")
    law = law_of(inverse, np.array([0.5, 0.45, 0.05]), np.full((3, domain.points), 1 / domain.points))
    shown = []
    for counts in next(drawn_tallies(law, 5000, SEED)):
        table, _ = of_groups.ratios_of(domain, inverse, counts)
        mean = figures_of(domain, inverse, counts)[0][2]
        shown.append(mean.estimate is not None)
        assert shown[-1] == (table.sums[2] > 1.959963984540054 * np.sqrt(table.of_sums[2, 2]))
        assert mean.estimate is None or mean.low <= min(max(mean.estimate, 0.0), 1.0) <= mean.high
    assert 0 < sum(shown) < len(shown)


def test_with_too_few_reports_no_group_has_a_mean() -> None:
    for reports in (1, EXACT_BELOW - 1):
        domain, inverse, counts = tally_of("8", reports, GROUPS)
        means, _ = figures_of(domain, inverse, counts)
        assert estimates_of(means) == [None] * 3
        assert p_values_of(domain, inverse, counts) == []


def test_a_p_value_says_the_same_as_its_interval() -> None:
    domain, inverse = rounded_metric("2")
    within = np.array([[0.6, 0.4], [0.5, 0.5], [0.45, 0.55]])
    law = law_of(inverse, GROUPS, within)
    decided = set()
    for counts in next(drawn_tallies(law, 20_000, SEED)):
        for difference in figures_of(domain, inverse, counts)[1]:
            if difference.p_value is not None and abs(difference.p_value - SIGNIFICANT) > 1e-6:
                excludes = difference.low > 0 or difference.high < 0
                assert excludes == (difference.p_value < SIGNIFICANT)
                decided.add(excludes)
    assert decided == {True, False}


def test_where_no_groups_differ_a_corrected_p_value_is_seldom_significant() -> None:
    domain, inverse = rounded_metric("3")
    rising = np.arange(1, domain.points + 1) / np.arange(1, domain.points + 1).sum()
    law = law_of(inverse, GROUPS, np.tile(rising, (3, 1)))

    def is_quiet(counts: Counts) -> list[bool]:
        p_values = p_values_of(domain, inverse, counts)
        return [all(p > SIGNIFICANT for p in holm(p_values, [1.0] * len(p_values)))]

    batches = (np.array([is_quiet(counts) for counts in batch]) for batch in drawn_tallies(law, 5000, SEED))
    assert accepts_each(batches, PROMISED, PROMISED - 0.07).all()


def test_the_intervals_of_a_metric_are_counted() -> None:
    assert intervals_of_means(THREE) == 3 + len(list(combinations(range(3), 2)))
