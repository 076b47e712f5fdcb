"""A rehearsal's tallies have the law of devices that report individually: by enumeration, for every
mechanism.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential, by_distance
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.one_of import OneOf
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders import sampling as tally_sampler
from estimator.decoders.inversions import blocks_of, sampler_of
from estimator.decoders.sampling import Blocks, Sampler
from estimator.statistics.arrays import Counts
from tests.support.core.tables import for_each
from tests.support.laws.generators import Law, exact_law_of_counts
from tests.support.laws.sampling import accepts, decision

EPSILON_1 = RequestedEpsilon.parse(1)
TWO_COINS = channel_for(Boolean(), RequestedEpsilon.parse("ln 3"), "randomized-response")
THREE_VALUES = channel_for(Category(("a", "b", "c")), EPSILON_1, "k-ary-randomized-response")


@dataclass(frozen=True, slots=True)
class Table(Channel):
    """A channel without structure."""

    name = "table"
    inputs = 2
    symbols = 3
    worst_ratio = Fraction(4)
    delta = Fraction(0)

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        return {}

    def probability(self, symbol: int, given: int) -> Fraction:
        return Fraction(((1, 2, 4), (4, 2, 1))[given][symbol], 7)

    def perturb(self, value: int, coins: object) -> int:
        raise NotImplementedError


SMALL: dict[str, tuple[Channel, list[int]]] = {
    "two coins": (TWO_COINS, [2, 1]),
    "one-bit": (channel_for(Number(Fraction(0), Fraction(1), "mean"), EPSILON_1, "one-bit"), [1, 3]),
    "three values": (THREE_VALUES, [2, 0, 1]),
    "cyclic pairs": (CyclicDesign.within(EPSILON_1, 4, 2, 1), [3, 0, 1, 0]),
    "balanced blocks": (BalancedDesign.within(EPSILON_1, 4, 7, 3, 3), [1, 0, 1, 1]),
    "weighted blocks": (BalancedDesign.within(EPSILON_1, 6, 6, 3, 1), [1, 0, 0, 0, 0, 1]),
    "projective plane": (ProjectiveGeometry.within(EPSILON_1, 5, 2, 3), [0, 0, 1, 0, 3]),
    "square wave": (SquareWave.within(EPSILON_1, 4), [0, 3, 0, 1]),
    "optimal mean": (OptimalMean.of_total((2, 1), 1, EPSILON_1.odds), [1, 1, 0, 1]),
    "a tree": (Hierarchical.within(EPSILON_1, 3), [1, 0, 1]),
    "a table": (Table(), [2, 1]),
    "laplace": (Laplace.within(EPSILON_1, 4), [1, 0, 2, 0]),
    "gaussian": (Gaussian(2, 2, (4, 2, 1), Fraction(4)), [1, 2]),
    "exponential": (Exponential.within(EPSILON_1, by_distance(3)), [1, 0, 2]),
    "a set": (channel_for(Subset(("a", "b", "c"), 2), EPSILON_1, "auto").last_step, [1, 0, 1, 1, 0]),
    "a cross": (channel_for(Cross(Boolean(), Boolean()), EPSILON_1, "k-ary-randomized-response"), [1, 0, 1, 1]),
}
LARGER: dict[str, Channel] = {
    "a hundred values": channel_for(Category(tuple(map(str, range(100)))), EPSILON_1, "k-ary-randomized-response"),
    "cyclic pairs": CyclicDesign.within(EPSILON_1, 12, 2, 5),
    "cyclic blocks": CyclicDesign.within(EPSILON_1, 31, 8, 7),
    "balanced blocks": BalancedDesign.within(EPSILON_1, 28, 31, 9, 3),
    "weighted blocks": BalancedDesign.within(EPSILON_1, 14, 14, 4, 1),
    "projective plane": ProjectiveGeometry.within(EPSILON_1, 31, 5, 3),
    "projective space": ProjectiveGeometry.within(EPSILON_1, 40, 3, 4),
    "five dimensions": ProjectiveGeometry.within(EPSILON_1, 31, 2, 5),
    "square wave": SquareWave.within(EPSILON_1, 33),
}


def law_of_devices(channel: Channel, inputs: list[int]) -> Law:
    """Return the law of the tally of devices that report individually."""
    law: Law = {(0,) * channel.symbols: Fraction(1)}
    for given in (given for given, devices in enumerate(inputs) for _ in range(devices)):
        after: Law = defaultdict(Fraction)
        for tally, weight in law.items():
            for symbol in (symbol for symbol in range(channel.symbols) if channel.probability(symbol, given)):
                next_tally = tuple(count + (place == symbol) for place, count in enumerate(tally))
                after[next_tally] += weight * channel.probability(symbol, given)
        law = dict(after)
    return law


def check_sampler(sampler: Sampler, channel: Channel, inputs: list[int]) -> None:
    """The law of the sampled tally is that of devices that report individually."""
    counts = np.array(inputs, dtype=np.int64)
    sampled = exact_law_of_counts(lambda generator: sampler(counts, generator))
    expected = law_of_devices(channel, inputs)
    # each factor of a path is a float with a few roundings, and numpy's last probability has those
    # of all others
    tolerance = 8 * channel.symbols * sum(inputs) * sys.float_info.epsilon
    assert sampled.keys() == expected.keys()
    for tally, weight in expected.items():
        assert abs(sampled[tally] - weight) <= tolerance * float(weight)


@for_each("name", SMALL)
def test_a_tally_is_drawn_by_the_law_of_its_devices(name: str) -> None:
    channel, inputs = SMALL[name]
    check_sampler(sampler_of(channel), channel, inputs)


def test_a_tally_of_one_of_several_metrics_is_that_of_each_as_if_it_were_the_only_one() -> None:
    check_sampler(sampler_of(OneOf.within(EPSILON_1, 1)), RandomizedResponse.within(EPSILON_1), [1, 2])
    draw, generator = sampler_of(OneOf.within(EPSILON_1, 3)), np.random.default_rng(1)
    tally = draw(np.array([0, 5, 3, 0, 2, 9]), generator)
    assert tally.reshape(3, 2).sum(axis=1).tolist() == [5, 3, 11]


def test_pieces_and_forgotten_tables_change_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_sampler, "DRAWN_AT_ONCE", 1)
    monkeypatch.setattr(tally_sampler, "MAX_KEPT_PROBABILITIES", 0)
    for name in ("cyclic pairs", "a table"):
        channel, inputs = SMALL[name]
        check_sampler(sampler_of(channel), channel, inputs)


def _own_and_rest(own: float, channel: Channel, rest: list[float]) -> Sampler:
    def sample(inputs: Counts, generator: np.random.Generator) -> Counts:
        kept = generator.binomial(inputs, own)
        tally: Counts = kept + generator.multinomial(inputs.sum() - kept.sum(), np.array(rest))
        return tally

    assert channel.symbols == len(rest)
    return sample


def _average_law(inputs: Counts, generator: np.random.Generator) -> Counts:
    shares = inputs / inputs.sum()
    law = [sum(share * float(THREE_VALUES.probability(y, x)) for x, share in enumerate(shares)) for y in range(3)]
    return generator.multinomial(inputs.sum(), np.array(law))


KEEP, LIE = (float(THREE_VALUES.probability(0, given)) for given in (0, 1))
ALIKE = [1 / 3] * 3
MUTANTS: dict[str, Sampler] = {
    "p instead of p - q": _own_and_rest(KEEP, THREE_VALUES, ALIKE),
    "keep and lie swapped": _own_and_rest(1 - (KEEP - LIE), THREE_VALUES, ALIKE),
    "forgotten keep": _own_and_rest(0.0, THREE_VALUES, ALIKE),
    "one percent less": _own_and_rest(0.99 * (KEEP - LIE), THREE_VALUES, ALIKE),
    "rest not alike": _own_and_rest(KEEP - LIE, THREE_VALUES, [0.3, 0.3, 0.4]),
    "every device of the average law": _average_law,
}


@for_each("name", MUTANTS)
def test_a_wrong_sampler_is_refused(name: str) -> None:
    with pytest.raises(AssertionError):
        check_sampler(MUTANTS[name], THREE_VALUES, [2, 0, 1])


def test_the_mutants_differ_from_a_right_sampler_only_by_their_mistake() -> None:
    check_sampler(_own_and_rest(KEEP - LIE, THREE_VALUES, ALIKE), THREE_VALUES, [2, 0, 1])


def check_blocks(blocks: Blocks, channel: Channel) -> None:
    """All symbols of an input's block have one probability, all others a smaller one; both are the
    same for all inputs, apart from the weights of symbols.
    """

    def chance(symbol: int, given: int) -> Fraction:
        block = symbol * len(blocks.weights) // channel.symbols
        return channel.probability(symbol, given) / blocks.weights[block]

    pairs = set()
    for given in range(channel.inputs):
        block = blocks.symbol_of(np.array([given]), np.arange(blocks.size)).tolist()
        assert len(set(np.broadcast_to(block, blocks.size).tolist())) == blocks.size
        inside = {chance(symbol, given) for symbol in block}
        outside = {chance(symbol, given) for symbol in set(range(channel.symbols)) - set(block)}
        assert max(inside) > max(outside)
        pairs.add((*inside, *outside))
    assert [len(pair) for pair in pairs] == [2]


@for_each("name", LARGER)
def test_blocks_are_the_likelier_symbols(name: str) -> None:
    blocks = blocks_of(LARGER[name])
    assert blocks is not None
    check_blocks(blocks, LARGER[name])


def _moved(symbol_of: Callable[[Counts, Counts], Counts], symbols: int) -> Callable[[Counts, Counts], Counts]:
    return lambda given, place: (symbol_of(given, place) + 1) % symbols


@for_each("name", LARGER)
def test_wrong_blocks_are_refused(name: str) -> None:
    channel = LARGER[name]
    blocks = blocks_of(channel)
    assert blocks is not None
    with pytest.raises(AssertionError):
        check_blocks(Blocks(blocks.size, _moved(blocks.symbol_of, channel.symbols)), channel)


@for_each("name", LARGER)
@for_each("seed", range(3))
def test_numpys_own_draws_report_the_block_as_often_as_the_law_says(name: str, seed: int) -> None:
    channel = LARGER[name]
    blocks = blocks_of(channel)
    assert blocks is not None
    given = channel.inputs // 2
    block = np.broadcast_to(blocks.symbol_of(np.array([given]), np.arange(blocks.size)), blocks.size)
    right = float(sum(channel.probability(symbol, given) for symbol in block.tolist()))
    for wrong in (0.99 * right, 1.01 * right):
        decided = decision(right, wrong)
        inputs = np.zeros(channel.inputs, dtype=np.int64)
        inputs[given] = decided.draws
        tally = sampler_of(channel)(inputs, np.random.default_rng(seed))
        assert tally.sum() == decided.draws
        assert accepts(decided, right, int(tally[block].sum()))
        shifted = int(np.random.default_rng(seed).binomial(decided.draws, wrong))
        assert not accepts(decided, right, shifted)
