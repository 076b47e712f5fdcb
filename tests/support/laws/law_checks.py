"""The properties of every mechanism, as functions: the same code checks right mechanisms and
mutants.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from client_sdk.protocol import COIN_SCALE, Channel
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.epsilon import NANOS
from tests.support.laws.coins import Law, exact_law, walk
from tests.support.laws.series import ln_bounds
from tests.support.mutants.rounding import Rounding

LEAST_USE_OF_EPSILON = Fraction(999, 1000)
"""The minimum fraction of e**epsilon that a mechanism must use: using less wastes accuracy."""


@dataclass(frozen=True)
class Subject:
    """A mechanism under test.

    Attributes:
        channel: what is checked; hashable, so that its paths are walked once.
        odds: the requested e**epsilon.

    """

    channel: Channel
    odds: Fraction


Check = Callable[[Subject], None]


@cache
def walked(channel: Channel, value: int) -> Law[int]:
    """Return the exact law of a channel's perturbation of an input. Channels are frozen, so each is
    walked once.
    """
    return walk(partial(channel.perturb, value))


def law(channel: Channel, value: int) -> dict[int, Fraction]:
    """Return the probabilities of the symbols of an input."""
    return walked(channel, value).chances


def law_is_as_declared(subject: Subject) -> None:
    channel = subject.channel
    for value in range(channel.inputs):
        enumerated = law(channel, value)
        declared = {symbol: channel.probability(symbol, value) for symbol in range(channel.symbols)}
        assert sum(declared.values()) == 1
        assert enumerated == {symbol: weight for symbol, weight in declared.items() if weight}


def worst_ratio_equals_enumeration(subject: Subject) -> None:
    channel = subject.channel
    laws = [law(channel, value) for value in range(channel.inputs)]
    worst = Fraction(0)
    for symbol in range(channel.symbols):
        column = [weights.get(symbol, Fraction(0)) for weights in laws]
        assert min(column) > 0, "a symbol that some inputs never give tells them apart"
        worst = max(worst, max(column) / min(column))
    assert worst == channel.worst_ratio


def declared_epsilon_covers_the_exact_epsilon(subject: Subject) -> None:
    """The charge is the exact epsilon rounded up to a billionth, and at most the request rounded
    up.
    """
    declared = epsilon_nanos(subject.channel)
    exact_low, exact_high = ln_bounds(subject.channel.worst_ratio)
    assert exact_low * NANOS <= declared < exact_high * NANOS + 1
    _, requested_high = ln_bounds(subject.odds)
    assert declared < requested_high * NANOS + 1


def noise_is_within_the_request_and_not_wasted(subject: Subject) -> None:
    assert LEAST_USE_OF_EPSILON * subject.odds <= subject.channel.worst_ratio <= subject.odds


def coins_are_as_many_on_every_path_to_a_symbol(subject: Subject) -> None:
    channel = subject.channel
    counts = defaultdict[int, set[int]](set)
    for value in range(channel.inputs):
        for symbol, lengths in walked(channel, value).coins.items():
            counts[symbol] |= lengths
    assert {len(lengths) for lengths in counts.values()} == {1}, f"the number of coins tells something: {counts}"


CHANNEL_CHECKS: tuple[Check, ...] = (
    law_is_as_declared,
    worst_ratio_equals_enumeration,
    declared_epsilon_covers_the_exact_epsilon,
    noise_is_within_the_request_and_not_wasted,
    coins_are_as_many_on_every_path_to_a_symbol,
)

RoundingCheck = Callable[[Rounding, int], None]


def positions(points: int) -> list[Fraction]:
    """Return the positions at which a rounding is checked: points, halves, and places that 2**64
    does not divide.
    """
    steps = points - 1
    inside = [Fraction(steps * part, 21) for part in range(22)]
    return [*inside, *(Fraction(point) for point in range(points)), Fraction(1, 2), Fraction(1, 3 * COIN_SCALE)]


def rounding_is_unbiased(rounding: Rounding, points: int) -> None:
    """The expected point is the position, to one part in 2**64 of a step, and never above it."""
    for position in positions(points):
        rounded = exact_law(partial(rounding, position, points))
        expected = sum((point * weight for point, weight in rounded.items()), Fraction(0))
        assert 0 <= position - expected < Fraction(1, COIN_SCALE)


def rounding_gives_an_enclosing_point(rounding: Rounding, points: int) -> None:
    for position in positions(points):
        rounded = exact_law(partial(rounding, position, points))
        assert all(0 <= point < points and abs(point - position) <= 1 for point in rounded)


def rounding_is_certain_at_the_points(rounding: Rounding, points: int) -> None:
    for point in range(points):
        assert exact_law(partial(rounding, Fraction(point), points)) == {point: 1}


def rounding_tosses_one_coin(rounding: Rounding, points: int) -> None:
    for position in positions(points):
        assert walk(partial(rounding, position, points)).lengths == {1}


ROUNDING_CHECKS: tuple[RoundingCheck, ...] = (
    rounding_is_unbiased,
    rounding_gives_an_enclosing_point,
    rounding_is_certain_at_the_points,
    rounding_tosses_one_coin,
)


def refuses(check: Callable[[], None]) -> bool:
    """Whether a check fails, for any reason."""
    try:
        check()
    except AssertionError:
        return True
    return False
