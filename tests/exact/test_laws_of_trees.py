"""The law of a hierarchical histogram: small trees path by path, the real ones level by level."""

from __future__ import annotations

from fractions import Fraction

import pytest

from client_sdk.protocol.kinds.number import Count, Number
from client_sdk.protocol.mechanisms import channel_for, designs
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.hierarchical import POINTS, Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.law_checks import CHANNEL_CHECKS, LEAST_USE_OF_EPSILON, Check, Subject, refuses
from tests.support.mutants.trees import hierarchical

EPSILONS = ("0.01", "0.5", "1", "2", "4", "8", "20")
SMALL = (2, 3, 4, 5, 6, 8)
RIGHT = Hierarchical.within(request("1"), 5)
MUTANTS = hierarchical(RIGHT)


@for_each("check", CHANNEL_CHECKS)
@for_each("epsilon", EPSILONS)
def test_a_small_tree_obeys_every_law(epsilon: str, check: Check) -> None:
    for points in SMALL:
        check(Subject(Hierarchical.within(request(epsilon), points), request(epsilon).odds))


@for_each("name", MUTANTS)
def test_a_wrong_tree_is_refused(name: str) -> None:
    subject = Subject(MUTANTS[name], request("1").odds)
    killers = {check.__name__ for check in CHANNEL_CHECKS if refuses(lambda: check(subject))}  # noqa: B023 called at once
    assert bool(killers) == (name != "none")
    if "extra coin" in name:
        assert killers == {"coins_are_as_many_on_every_path_to_a_symbol"}


@for_each("epsilon", EPSILONS)
def test_the_probabilities_of_a_real_tree_add_up_to_1_on_every_level_alike(epsilon: str) -> None:
    channel = Hierarchical.within(request(epsilon))
    for value in (0, 100, 255):
        for level in channel.levels:
            symbols = range(level.first, level.first + level.channel.symbols)
            assert sum(channel.probability(symbol, value) for symbol in symbols) == Fraction(1, len(channel.levels))


@for_each("epsilon", EPSILONS)
def test_the_first_and_the_last_answer_are_as_far_apart_as_the_declared_epsilon(epsilon: str) -> None:
    channel, odds = Hierarchical.within(request(epsilon)), request(epsilon).odds
    ratios = [channel.probability(y, 0) / channel.probability(y, 255) for y in range(channel.symbols)]
    assert max(*ratios, *(1 / ratio for ratio in ratios)) == channel.worst_ratio
    assert LEAST_USE_OF_EPSILON * odds <= channel.worst_ratio <= odds


@for_each("points", [2, 3, 5, 33, 100, POINTS])
def test_levels_halve_from_two_nodes_down_to_single_points(points: int) -> None:
    levels = Hierarchical.within(request("1"), points).levels
    assert levels[0].channel.inputs == 2
    assert (levels[-1].span, levels[-1].channel.inputs) == (1, points)
    assert [upper.span for upper in levels[:-1]] == [2 * lower.span for lower in levels[1:]]
    for level in levels:
        assert (points - 1) // level.span == level.channel.inputs - 1
    assert [level.first for level in levels[1:]] == [level.first + level.channel.symbols for level in levels[:-1]]


def test_a_level_is_asked_like_so_many_values_by_the_best_design_of_few_symbols() -> None:
    for epsilon in EPSILONS:
        for level in Hierarchical.within(request(epsilon)).levels:
            channel = level.channel
            assert channel.symbols <= designs.MAX_LEVEL_SYMBOLS
            if isinstance(channel, CyclicDesign):
                design = (channel.block_size, channel.base_blocks)
                assert channel == CyclicDesign.within(request(epsilon), channel.inputs, *design)
                assert designs.subset_variance(channel.inputs, channel.block_size, request(epsilon).odds) < (
                    designs.subset_variance(channel.inputs, 1, request(epsilon).odds)
                )
            else:
                assert channel == KAryRandomizedResponse.within(request(epsilon), channel.inputs)


def test_auto_takes_a_tree_for_quantiles_and_never_for_a_distribution() -> None:
    for epsilon in EPSILONS:
        quantiles, distribution = (
            channel_for(Number(Fraction(0), Fraction(9), statistic), request(epsilon))
            for statistic in ("quantiles", "distribution")
        )
        assert quantiles == Hierarchical.within(request(epsilon))
        assert distribution.name == "square-wave"


@pytest.mark.parametrize(("most", "inputs"), [(32, 33), (100, 101), (255, 256), (256, 256), (10**9, 256)])
def test_a_count_has_a_point_of_its_own_where_there_are_enough(most: int, inputs: int) -> None:
    channel = channel_for(Count(Fraction(most), "quantiles"), request("1"))
    assert (channel.name, channel.inputs) == ("hierarchical", inputs)
