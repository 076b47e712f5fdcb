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

from client_sdk.protocol.domain import Activity, Category, Count, Cross, Domain, Ordinal, Subset
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.exact import exp_floor
from client_sdk.protocol.mechanisms import NAMES, channel_for
from client_sdk.protocol.mechanisms import auto as choice
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from tests.support.vectors import vectors

GOLDEN: dict[str, Any] = vectors("auto")
EPSILONS = [Fraction(text) for text in ("0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4", "5")]

Rows = list[list[Fraction]]
"""rows[x][y] = P(y|x)."""


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


@pytest.mark.parametrize("inputs", [2, 3, 4, 7, 16])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_closed_form_of_k_ary_is_the_variance_of_the_true_channel(inputs: int, epsilon: str) -> None:
    channel = KAryRandomizedResponse.within(RequestedEpsilon.parse(Decimal(epsilon)), inputs)
    rows = [[channel.probability(symbol, value) for symbol in range(inputs)] for value in range(inputs)]
    exact = average_variance(rows, [{value} for value in range(inputs)])
    assert choice.subset_variance(inputs, 1, channel.worst_ratio) == exact


@pytest.mark.parametrize(("inputs", "size"), [(inputs, size) for inputs in range(2, 8) for size in range(1, inputs)])
def test_the_closed_form_of_subset_selection_is_the_variance_of_the_true_channel(inputs: int, size: int) -> None:
    odds = Fraction(7, 3)
    assert choice.subset_variance(inputs, size, odds) == average_variance(*subset_selection(inputs, size, odds))


@pytest.mark.parametrize("prime", [2, 3, 5])
def test_the_closed_form_of_projective_geometry_is_the_variance_of_the_true_channel(prime: int) -> None:
    odds = Fraction(7, 3)
    points, block, common, dimension = choice._geometry(prime, prime * prime)
    assert (points, block, common, dimension) == (prime**2 + prime + 1, prime + 1, 1, 3)
    exact = average_variance(*projective_plane(prime, odds))
    assert choice.design_variance(points, points, block, common, odds) == exact


def test_a_geometry_grows_to_hold_all_values() -> None:
    for prime, inputs in ((2, 8), (3, 1000), (7, 57), (7, 58)):
        points, block, common, dimension = choice._geometry(prime, inputs)
        assert points == (prime**dimension - 1) // (prime - 1)
        assert (points - 1) // prime == block
        assert (block - 1) // prime == common
        assert points >= inputs
        assert block < inputs or points == prime**2 + prime + 1


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_best_subset_size_is_the_minimum_over_all_sizes(epsilon: Fraction) -> None:
    odds = exp_floor(epsilon)
    for inputs in range(2, 65):
        variances = {size: choice.subset_variance(inputs, size, odds) for size in range(1, inputs)}
        assert variances[choice.best_subset_size(inputs, odds)] == min(variances.values())


@pytest.mark.parametrize("row", GOLDEN["category"], ids=str)
def test_the_choice_for_categories_never_changes(row: list[Any]) -> None:
    inputs, epsilon, mechanism = row
    assert choice.category_mechanism(inputs, RequestedEpsilon.parse(_raw(epsilon)).odds) == mechanism


@pytest.mark.parametrize("row", GOLDEN["number"], ids=str)
def test_the_choice_for_numbers_never_changes(row: list[str]) -> None:
    statistic, epsilon, mechanism = row
    assert choice.number_mechanism(statistic, None, RequestedEpsilon.parse(_raw(epsilon)).odds) == mechanism


def domain_of(kind: str, sizes: list[Any]) -> Domain:
    def values(size: int) -> tuple[str, ...]:
        return tuple(f"v{index}" for index in range(size))

    builders: dict[str, Callable[..., Domain]] = {
        "count": Count.up_to,
        "activity": Activity.of_last,
        "ordinal": lambda size: Ordinal(values(size)),
        "set": lambda size, most: Subset(values(size), most),
        "cross": lambda first, second: Cross(Category(values(first)), Ordinal(values(second))),
    }
    return builders[kind](*sizes)


@pytest.mark.parametrize("kind", ["count", "activity", "ordinal", "set", "cross"])
def test_the_choice_for_the_other_kinds_never_changes(kind: str) -> None:
    for *sizes, epsilon, mechanism in GOLDEN[kind]:
        channel = channel_for(domain_of(kind, sizes), RequestedEpsilon.parse(_raw(epsilon)))
        assert (sizes, epsilon, channel.name) == (sizes, epsilon, mechanism)


def test_few_counts_are_asked_like_values_and_many_like_numbers() -> None:
    odds = exp_floor(Fraction(1))
    for statistic in ("mean", "distribution", "quantiles"):
        assert choice.number_mechanism(statistic, choice.FEW_COUNTS, odds) == choice.category_mechanism(32, odds)
    assert choice.number_mechanism("distribution", choice.FEW_COUNTS + 1, odds) == "square-wave"
    assert choice.number_mechanism("quantiles", choice.FEW_COUNTS + 1, odds) == "hierarchical"
    assert choice.number_mechanism("mean", None, odds) == "hybrid"


def test_the_golden_table_names_mechanisms_of_the_schema_and_every_kind_of_choice() -> None:
    assert set(GOLDEN) == {"category", "number", "count", "activity", "ordinal", "set", "cross", "number_of_schema_2"}
    chosen = {row[-1] for rows in GOLDEN.values() for row in rows}
    assert chosen <= set(NAMES)
    assert chosen >= {
        choice.K_ARY,
        choice.CYCLIC,
        choice.PROJECTIVE,
        "one-bit",
        "hybrid",
        "square-wave",
        "hierarchical",
    }


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "ln 3", "2", "4", "8", "20"])
def test_two_and_three_categories_stay_with_k_ary_where_it_is_the_optimum(epsilon: str) -> None:
    odds = RequestedEpsilon.parse(_raw(epsilon)).odds
    assert choice.category_mechanism(2, odds) == choice.K_ARY
    for inputs in range(3, 12):
        if choice.best_subset_size(inputs, odds) == 1:
            assert choice.category_mechanism(inputs, odds) == choice.K_ARY


def test_the_chosen_mechanism_is_within_two_percent_of_the_least_variance_on_offer() -> None:
    for inputs, epsilon in itertools.product((2, 5, 12, 48, 200, 1024), EPSILONS):
        odds = exp_floor(epsilon)
        on_offer = list(choice._candidates(inputs, odds))
        name = choice.category_mechanism(inputs, odds)
        best_of_the_name = min(candidate.variance for candidate in on_offer if candidate.name == name)
        assert best_of_the_name <= Fraction(102, 100) * min(candidate.variance for candidate in on_offer)


def _raw(epsilon: str) -> object:
    return epsilon if epsilon.startswith("ln") else Decimal(epsilon)
