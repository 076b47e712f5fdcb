"""The walk of all paths against the tests' own: small draws value by value, large ones range by
range.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import lcm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import COIN_SCALE, Channel, Coins
from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.audit import answers
from estimator.audit.answers import LEAST_INPUTS, MOST_PATHS, inputs_of
from estimator.audit.compare import integer
from estimator.audit.paths import MOST_VALUES, Chances, law_of
from estimator.audit.proof import least_delta, least_ratio
from estimator.audit.prove import IdealFunction
from estimator.errors import AuditError
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import exact_law, walk
from tests.support.laws.delta_checks import hockey_stick
from tests.support.laws.utilities import ASYMMETRIC
from tests.support.mutants.audited import RIGHT_CHANNELS, WRONG_CHANNELS

STEPS: dict[str, Callable[[int, int], object]] = {
    "add": lambda value, other: value + other,
    "add to": lambda value, other: other + value,
    "subtract": lambda value, other: value - other,
    "subtract from": lambda value, other: other - value,
    "multiply": lambda value, other: value * other,
    "multiply by": lambda value, other: other * value,
    "quotient": lambda value, other: value // (other or 1),
    "quotient of": lambda value, other: other // (value or 1),
    "remainder": lambda value, other: value % (other or 1),
    "remainder of": lambda value, other: other % (value or 1),
    "parts": lambda value, other: sum(divmod(value, other or 1)),
    "below": lambda value, other: value + 1 if value < other else other,
    "at most": lambda value, other: value + 1 if value <= other else other,
    "above": lambda value, other: value + 1 if value > other else other,
    "at least": lambda value, other: other if value >= other else value + 1,
    "equal": lambda value, other: 7 if value == other else value,
    "unequal": lambda value, other: 7 if value != other else value,
    "not zero": lambda value, other: value or other,
    "size": lambda value, _: abs(value),
    "negative": lambda value, _: -value,
    "look up": lambda value, other: (3, 1, 4, 1, 5)[value % 5] + other,
    "least": min,
    "label": lambda value, _: int(f"{value}"),
    "member": lambda value, other: value if value in {1, 3, other} else 0,
}
"""The operations that code may use on a drawn integer and a known one."""

Program = list[tuple[str, int]]

programs = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(-7, 30)), min_size=1, max_size=4)


def run(program: Program, bound: int, coins: Coins) -> int:
    """Do some steps with a draw; now and then take another draw or a coin."""
    value: object = coins.below(bound)
    for name, other in program:
        assert value is not None
        value = STEPS[name](value, other)  # type: ignore[arg-type] # an integer or a draw
        if other % 5 == 0:
            value = value if coins.bernoulli(COIN_SCALE // 3) else coins.below(3) + integer(value)
    return value  # type: ignore[return-value] # an integer or a draw


@settings(derandomize=True, max_examples=120, deadline=None)
@given(programs, st.integers(1, 24))
def test_whatever_is_done_with_a_draw_the_law_is_that_of_all_values_one_by_one(program: Program, bound: int) -> None:
    law = law_of(partial(run, program, bound), integer)
    one_by_one = walk(lambda coins: int(run(program, bound, coins)))
    assert law.chances == one_by_one.chances
    assert law.coins == one_by_one.coins
    assert law.paths <= one_by_one.paths


def test_a_draw_that_is_not_used_has_one_path() -> None:
    law = law_of(lambda coins: coins.below(COIN_SCALE) and 1 if coins.bernoulli(1) else coins.below(2) * 0 + 5, integer)
    assert law.paths == 4
    assert law_of(lambda coins: (coins.below(COIN_SCALE), 3)[1], integer).paths == 1


def range_law(channel: Channel, value: int) -> Chances[int]:
    """Return a law whose one draw has an outcome on as many ranges as the declared law has
    symbols.
    """
    declared = {symbol: channel.probability(symbol, value) for symbol in range(channel.symbols)}
    return {symbol: chance for symbol, chance in declared.items() if chance}


GREAT: list[Channel] = [
    SquareWave.within(request("1")),
    Laplace.within(request("1")),
    Gaussian.within(request("2"), Fraction(1, 1000)),
    Exponential.within(request("1"), ASYMMETRIC),
]


@pytest.mark.parametrize("channel", GREAT, ids=lambda channel: channel.name)
def test_a_draw_of_2_to_the_64_is_walked_by_as_many_ranges_as_there_are_symbols(channel: Channel) -> None:
    for value in {0, 1, channel.inputs // 2, channel.inputs - 1}:
        law = law_of(partial(channel.perturb, value), integer)
        assert law.chances == range_law(channel, value)
        assert law.paths <= 3 * channel.symbols
        assert law.lengths == {1}


@for_each("name", [*RIGHT_CHANNELS, *WRONG_CHANNELS])
def test_every_right_and_wrong_mechanism_has_the_law_that_the_tests_enumerate(name: str) -> None:
    channel = (RIGHT_CHANNELS | WRONG_CHANNELS)[name]
    for value in sorted({0, 1, channel.inputs // 2, channel.inputs - 1}):
        walked = law_of(partial(channel.perturb, value), integer)
        assert walked.chances == exact_law(partial(channel.perturb, value))


@pytest.mark.parametrize("name", ["pairs", "blocks", "geometry"])
def test_what_a_design_draws_and_does_not_use_makes_no_path(name: str) -> None:
    """A kept report and a lie take the same steps, each with its own draw; otherwise 1,024 values
    would take hours.
    """
    channel = RIGHT_CHANNELS[name]
    for value in range(channel.inputs):
        assert law_of(partial(channel.perturb, value), integer).paths == channel.symbols


def test_a_tree_takes_as_many_coins_as_the_level_that_its_symbol_shows() -> None:
    channel = Hierarchical.within(request("2"))
    for value in (0, channel.inputs - 1):
        law = law_of(partial(channel.perturb, value), integer)
        assert law.chances == range_law(channel, value)
        assert law.paths == channel.symbols
        for level in channel.levels:
            symbols = range(level.first, level.first + level.channel.symbols)
            coins = 1 + (2 if isinstance(level.channel, KAryRandomizedResponse) else 4)
            assert {law.coins[symbol] for symbol in symbols} == {frozenset({coins})}
        assert law.lengths == {3, 5}


def unsteady() -> Callable[[Coins], int]:
    """Return a procedure that tosses other coins on each run."""
    bounds = iter(range(2, 100))
    return lambda coins: integer(coins.below(next(bounds)))


class TossesLate:
    """An outcome that tosses coins when it is read."""

    def __init__(self, coins: Coins, toss: Callable[[Coins], int]) -> None:
        self.coins, self.toss = coins, toss

    def __index__(self) -> int:
        return self.toss(self.coins)


def forgetful() -> Callable[[Coins], int]:
    """Return a procedure that tosses one coin less on each run."""
    turns = iter((3, 2, 1))
    return lambda coins: sum(coins.bernoulli(1) for _ in range(next(turns)))


@pytest.mark.parametrize(
    ("procedure", "said"),
    [
        (unsteady(), "it behaves differently with the same coins"),
        (forgetful(), "it behaves differently with the same coins"),
        (lambda coins: coins.below(COIN_SCALE), f"distinct outcomes; at most {MOST_VALUES}"),
        (lambda coins: coins.below(COIN_SCALE) % 3, f"distinct outcomes; at most {MOST_VALUES}"),
        (lambda coins: coins.below(0), "the SDK draws an integer below 0"),
        (lambda coins: coins.below(COIN_SCALE + 1), "a bound must be from 1 to 2"),
        (lambda coins: coins.bernoulli(-1), "impossible probability [(]-1 in 2"),
        (lambda coins: coins.below(2) ** 2, "it raised TypeError"),
        (lambda coins: float(coins.below(2)), "it raised TypeError"),
        (lambda coins: 1 // coins.below(2), "it raised ZeroDivisionError"),
        (lambda _: "a", "it raised TypeError"),
        (
            lambda coins: TossesLate(coins, lambda late: int(late.bernoulli(2**63))),
            "tosses coins after it has returned",
        ),
        (lambda coins: TossesLate(coins, lambda late: int(late.below(2))), "tosses coins after it has returned"),
    ],
)
def test_what_cannot_be_walked_is_said_and_never_guessed(procedure: Callable[[Coins], int], said: str) -> None:
    with pytest.raises(AuditError, match=said):
        law_of(procedure, integer)


@pytest.mark.parametrize("laws", [[], [{}]])
def test_laws_without_an_outcome_differ_by_nothing(laws: list[dict[int, Fraction]]) -> None:
    assert least_ratio(laws, Fraction(0)) == 1


def test_an_ideal_function_gives_the_same_for_the_same_labels_and_couples_coins_of_one_word() -> None:
    def tossed(coins: Coins) -> tuple[object, ...]:
        function = IdealFunction(coins)
        low, high = COIN_SCALE // 4, COIN_SCALE // 2
        first = function("a").bernoulli(low), function("a").bernoulli(high)
        again = function("a").bernoulli(low)
        other = function("b").bernoulli(low)
        return (*first, again, other)

    law = law_of(tossed, tuple).chances  # type: ignore[arg-type,var-annotated] # a tuple
    quarter, rest = Fraction(1, 4), Fraction(3, 4)
    assert law == {
        (first, second, first, other): chance * (quarter if other else rest)
        for (first, second), chance in {
            (True, True): quarter,
            (False, True): quarter,
            (False, False): 2 * quarter,
        }.items()
        for other in (False, True)
    }


def test_one_pseudo_random_word_for_two_things_cannot_be_walked() -> None:
    def mixed(coins: Coins) -> int:
        function = IdealFunction(coins)
        return function("a").bernoulli(1) + function("a").below(3)

    with pytest.raises(AuditError, match="one pseudo-random word for two purposes"):
        law_of(mixed, integer)


@for_each("name", RIGHT_CHANNELS)
def test_ratio_and_delta_of_laws_are_those_that_the_tests_compute(name: str) -> None:
    channel = RIGHT_CHANNELS[name]
    laws = [exact_law(partial(channel.perturb, value)) for value in range(channel.inputs)]
    assert least_ratio(laws, channel.delta) == channel.worst_ratio
    total = lcm(*(chance.denominator for law in laws for chance in law.values()))
    rows = [[int(law.get(symbol, Fraction(0)) * total) for symbol in range(channel.symbols)] for law in laws]
    for odds in (Fraction(1), Fraction(3, 2), channel.worst_ratio, channel.worst_ratio * 2):
        delta = hockey_stick(rows, total, odds)
        assert least_delta(laws, odds) == delta
        if delta and odds < channel.worst_ratio:
            assert least_ratio(laws, delta) == odds


def test_laws_have_no_ratio_without_a_delta_if_one_excludes_a_symbol() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    laws = [{0: half, 1: half}, {0: third, 1: third, 2: third}]
    assert least_ratio(laws, Fraction(0)) is None
    assert least_ratio(laws, Fraction(1, 4)) is None
    assert least_ratio(laws, third) == 1
    assert least_delta(laws, Fraction(100)) == third


@pytest.mark.parametrize("name", RIGHT_CHANNELS)
def test_a_sample_of_inputs_holds_a_pair_that_no_other_exceeds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All inputs of small channels can be walked, and so can a sample as small as that of the
    largest channels.
    """
    monkeypatch.setattr(answers, "MOST_PATHS", 1)
    channel = RIGHT_CHANNELS[name]
    laws = [exact_law(partial(channel.perturb, value)) for value in inputs_of(channel, all_inputs=False)]
    assert len(laws) == min(LEAST_INPUTS, channel.inputs)
    assert least_ratio(laws, channel.delta) == channel.worst_ratio
    assert least_delta(laws, channel.worst_ratio) == channel.delta


def test_a_sample_is_as_large_as_it_may_be_and_the_same_each_time() -> None:
    wave = SquareWave.within(request("1"), 1025)
    inputs = inputs_of(wave, all_inputs=False)
    assert inputs == inputs_of(wave, all_inputs=False)
    assert list(inputs) == sorted(set(inputs))
    assert {0, 1, wave.inputs // 2, wave.inputs - 2, wave.inputs - 1} <= set(inputs)
    assert MOST_PATHS - 6 * wave.symbols < len(inputs) * wave.symbols <= MOST_PATHS
