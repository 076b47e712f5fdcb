"""What ``auto`` chooses: closed forms against enumerated channels, and a golden table that never
changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from client_sdk.protocol import Metric, WindowKind
from client_sdk.protocol.epsilon import exp_floor
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.kinds.number import Activity, Count
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import NAMES, catalogue, channel_for, designs
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.analyses.metric import analysis_of
from tests.support.core.tables import for_each
from tests.support.vectors import vectors

GOLDEN: dict[str, Any] = vectors("auto")
EPSILONS = [Fraction(text) for text in ("0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4", "5")]

Rows = list[list[Fraction]]
"""rows[x][y] = P(y|x)."""


def requested(text: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(text if text.startswith("ln") else Decimal(text))


def average_variance(rows: Rows, supports: list[set[int]]) -> Fraction:
    """Return n times the variance of a share, averaged over values, of the unbiased estimate from
    support counts.

    ``supports[v]`` are the symbols that support value v. The population is uniform; its answers are
    fixed.
    """
    size = len(rows)
    hits = [[sum((row[symbol] for symbol in support), Fraction(0)) for support in supports] for row in rows]
    supported, unsupported = hits[0][0], hits[1][0]
    # all p and all q must be equal, else the estimate is biased
    for given, value in itertools.product(range(size), repeat=2):
        assert hits[given][value] == (supported if given == value else unsupported)
    variances = [hit * (1 - hit) / (supported - unsupported) ** 2 for row in hits for hit in row]
    return sum(variances, Fraction(0)) / size**2


def subset_selection(inputs: int, size: int, odds: Fraction) -> tuple[Rows, list[set[int]]]:
    """Return the channel whose symbols are all subsets of a size, and the supports of the
    values.
    """
    subsets = list(itertools.combinations(range(inputs), size))
    weights = [[odds if value in subset else Fraction(1) for subset in subsets] for value in range(inputs)]
    rows = [[weight / sum(row) for weight in row] for row in weights]
    return rows, [{index for index, subset in enumerate(subsets) if value in subset} for value in range(inputs)]


def projective_plane(prime: int, odds: Fraction) -> tuple[Rows, list[set[int]]]:
    """Return the channel of the points of PG(2, prime), and the hyperplane that supports each."""
    vectors = itertools.product(range(prime), repeat=3)
    points = [vector for vector in vectors if next((part for part in vector if part), 0) == 1]
    on_plane = [[sum(a * b for a, b in zip(u, v, strict=True)) % prime == 0 for u in points] for v in points]
    weights = [[odds if on else Fraction(1) for on in row] for row in on_plane]
    rows = [[weight / sum(row) for weight in row] for row in weights]
    return rows, [{index for index, on in enumerate(row) if on} for row in on_plane]


@for_each("inputs", [2, 3, 4, 7, 16])
@for_each("epsilon", ["0.1", "1", "3"])
def test_the_closed_form_of_k_ary_is_the_variance_of_the_true_channel(inputs: int, epsilon: str) -> None:
    channel = KAryRandomizedResponse.within(RequestedEpsilon.parse(Decimal(epsilon)), inputs)
    rows = [[channel.probability(symbol, value) for symbol in range(inputs)] for value in range(inputs)]
    exact = average_variance(rows, [{value} for value in range(inputs)])
    assert designs.subset_variance(inputs, 1, channel.worst_ratio) == exact


@pytest.mark.parametrize(("inputs", "size"), [(inputs, size) for inputs in range(2, 8) for size in range(1, inputs)])
def test_the_closed_form_of_subset_selection_is_the_variance_of_the_true_channel(inputs: int, size: int) -> None:
    odds = Fraction(7, 3)
    assert designs.subset_variance(inputs, size, odds) == average_variance(*subset_selection(inputs, size, odds))


@pytest.mark.parametrize("prime", [2, 3, 5])
def test_the_closed_form_of_projective_geometry_is_the_variance_of_the_true_channel(prime: int) -> None:
    odds = Fraction(7, 3)
    points, block, common, dimension = designs._geometry(prime, prime * prime)
    assert (points, block, common, dimension) == (prime**2 + prime + 1, prime + 1, 1, 3)
    exact = average_variance(*projective_plane(prime, odds))
    assert designs.design_variance(points, points, block, common, odds) == exact


def test_a_geometry_grows_to_hold_all_values() -> None:
    for prime, inputs in ((2, 8), (3, 1000), (7, 57), (7, 58)):
        points, block, common, dimension = designs._geometry(prime, inputs)
        assert points == (prime**dimension - 1) // (prime - 1)
        assert (points - 1) // prime == block
        assert (block - 1) // prime == common
        assert points >= inputs
        assert block < inputs or points == prime**2 + prime + 1


@for_each("epsilon", EPSILONS)
def test_the_best_subset_size_is_the_minimum_over_all_sizes(epsilon: Fraction) -> None:
    odds = exp_floor(epsilon)
    for inputs in (*range(2, 21), 33, 47, 64):
        variances = {size: designs.subset_variance(inputs, size, odds) for size in range(1, inputs)}
        assert variances[designs.best_subset_size(inputs, odds)] == min(variances.values())


@for_each("inputs", sorted({row[0] for row in GOLDEN["category"]}))
def test_the_choice_for_categories_never_changes(inputs: int) -> None:
    for _, epsilon, mechanism in (row for row in GOLDEN["category"] if row[0] == inputs):
        assert catalogue.category_mechanism(inputs, requested(epsilon).odds) == mechanism, epsilon


@for_each("row", GOLDEN["number"])
def test_the_choice_for_numbers_never_changes(row: list[str]) -> None:
    statistic, epsilon, mechanism = row
    assert catalogue.number_mechanism(statistic, None, requested(epsilon).odds) == mechanism


def domain_of(kind: str, sizes: list[Any]) -> Kind:
    def values(size: int) -> tuple[str, ...]:
        return tuple(f"v{index}" for index in range(size))

    builders: dict[str, Callable[..., Kind]] = {
        "count": lambda most, statistic: Count(Fraction(most), statistic),
        "activity": lambda days, statistic: Activity(Fraction(days), statistic),
        "ordinal": lambda size: Ordinal(values(size)),
        "set": lambda size, most: Subset(values(size), most),
        "cross": lambda first, second: Cross(Category(values(first)), Ordinal(values(second))),
    }
    return builders[kind](*sizes)


@pytest.mark.parametrize("kind", ["count", "activity", "ordinal", "set", "cross"])
def test_the_choice_for_the_other_kinds_never_changes(kind: str) -> None:
    for *sizes, epsilon, mechanism in GOLDEN[kind]:
        channel = channel_for(domain_of(kind, sizes), requested(epsilon))
        assert (sizes, epsilon, channel.name) == (sizes, epsilon, mechanism)


def test_few_counts_are_asked_like_values_and_many_like_numbers() -> None:
    odds = exp_floor(Fraction(1))
    for statistic in ("distribution", "quantiles"):
        few = catalogue.number_mechanism(statistic, catalogue.FEW_COUNTS, odds)
        assert few == catalogue.category_mechanism(32, odds)
    assert catalogue.number_mechanism("distribution", catalogue.FEW_COUNTS + 1, odds) == "square-wave"
    assert catalogue.number_mechanism("quantiles", catalogue.FEW_COUNTS + 1, odds) == "hierarchical"
    for answers in (None, 2, 33):
        assert catalogue.number_mechanism("mean", answers, odds) == "optimal-mean"


def test_the_golden_table_names_mechanisms_of_the_schema_and_every_kind_of_choice() -> None:
    assert set(GOLDEN) == {"category", "number", "count", "activity", "ordinal", "set", "cross"}
    chosen = {row[-1] for rows in GOLDEN.values() for row in rows}
    assert chosen <= set(NAMES)
    assert chosen >= {
        designs.K_ARY,
        designs.CYCLIC,
        designs.PROJECTIVE,
        "balanced-design",
        "optimal-mean",
        "square-wave",
        "hierarchical",
    }


@for_each("epsilon", ["0.1", "0.5", "1", "ln 3", "2", "4", "8", "20"])
def test_two_and_three_categories_stay_with_k_ary_where_it_is_the_optimum(epsilon: str) -> None:
    odds = requested(epsilon).odds
    assert catalogue.category_mechanism(2, odds) == designs.K_ARY
    for inputs in range(3, 12):
        if designs.best_subset_size(inputs, odds) == 1:
            assert catalogue.category_mechanism(inputs, odds) == designs.K_ARY


VALUES = tuple(f"v{index}" for index in range(24))


@pytest.mark.parametrize(
    "domain",
    [
        Category(VALUES),
        Ordinal(VALUES),
        Subset(VALUES[:23], 1),
        Cross(Category(VALUES[:4]), Category(VALUES[:6])),
        Count(Fraction(23), "distribution"),
    ],
    ids=lambda domain: str(domain.name),
)
def test_everything_with_24_shares_gets_the_balanced_design_that_its_name_gives(domain: Kind) -> None:
    epsilon = requested("1")
    channel = channel_for(domain, epsilon)
    assert channel.name == "balanced-design"
    assert channel == channel_for(domain, epsilon, "balanced-design")


@pytest.mark.parametrize("values", [2, 3, 4, 7, 20, 60])
def test_a_set_has_the_mechanism_of_least_variance_of_a_rare_member(values: int) -> None:
    def variance(kind: Subset, epsilon: RequestedEpsilon, mechanism: str) -> float:
        metric = Metric("m", "?", kind, channel_for(kind, epsilon, mechanism), WindowKind.DAY)
        analysis = analysis_of(metric)
        assert analysis.squares is not None
        return analysis.squares.variance(0.0) * analysis.factor**2

    chosen = set()
    for most, epsilon in itertools.product(sorted({1, 2, 3, 5, values} & {*range(1, values + 1)}), ("0.5", "1", "2")):
        kind, asked = Subset(tuple(map(str, range(values))), most), requested(epsilon)
        names = {catalogue.ONE_OF, designs.K_ARY, catalogue.category_mechanism(values + 1, asked.odds)}
        names |= {catalogue.PAIRS} if most > 1 else set()
        least = min(variance(kind, asked, name) for name in names)
        assert variance(kind, asked, catalogue.AUTO) <= least * catalogue.GOOD_ENOUGH * designs.GOOD_ENOUGH
        chosen.add(channel_for(kind, asked).name)
    assert len(chosen) > 1 or values == 2


def test_what_is_chosen_has_the_fewest_symbols_of_all_that_are_good_enough() -> None:
    for inputs in (12, 29, 64, 100):
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
            odds = exp_floor(epsilon)
            names = {candidate.name: candidate for candidate in designs.by_name(inputs, odds)}
            chosen = catalogue.category_mechanism(inputs, odds)
            size = designs.best_subset_size(inputs, odds)
            worst = designs.subset_variance(inputs, size, odds) * catalogue.GOOD_ENOUGH
            if chosen in names:
                assert names[chosen].variance <= worst * (1 + Fraction(1, 1000))
            smaller = [each for each in names.values() if each.variance <= worst]
            built = channel_for(Category(tuple(map(str, range(inputs)))), requested(str(float(epsilon))), chosen)
            assert all(built.symbols <= each.symbols for each in smaller)
