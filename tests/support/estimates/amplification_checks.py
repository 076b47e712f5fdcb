"""The properties of a correct bound on shuffled tallies, by enumeration. Each check raises
AssertionError for a wrong bound.

The laws here are summed term by term from their definitions, without thresholds, tails or buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product
from math import comb, lcm

from client_sdk.protocol import Channel
from client_sdk.protocol.epsilon import float_ceiling, ln_ceiling
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.plan.amplification import shuffled_law
from estimator.plan.blanket import Blanket

DIGITS = 60
"""Decimal digits of the enumeration: its error is far below the last digit of a float."""

Law = dict[tuple[int, ...], int]
"""The probability of each tally, in parts of their sum. These are integers: many are added."""

EPSILON = RequestedEpsilon.parse(1)
CHANNELS: dict[str, Channel] = {
    "randomized response": RandomizedResponse.within(EPSILON),
    "three values": KAryRandomizedResponse.within(EPSILON, 3),
    "geometry": ProjectiveGeometry.within(EPSILON, 7, 2, 3),
    "cyclic design": CyclicDesign.within(EPSILON, 5, 2, 2),
    "drawn blocks": CyclicDesign.within(EPSILON, 6, 3, 1),
    "balanced design": BalancedDesign.within(EPSILON, 4, 5, 2, 2),
    "square wave": SquareWave(4, 2, 1, 3),
    "wide bands": OptimalMean((1, 2), 3, 2, 5),
    "narrow bands": OptimalMean((1, 2, 1), 2, 2, 5),
    "tree": Hierarchical.within(EPSILON, 4),
    "weights": Exponential(((2**59, 2**58, 2**58), (2**58, 2**58, 2**59), (2**58 + 2**57, 2**58, 2**58 + 2**57))),
}
"""In a geometry, two answers may prefer the same symbol while a third avoids it."""

LOCAL = (0.01, 0.5, 1.0, 3.0, 8.0)
PARTS = (0.0, 0.01, 0.3, 0.77, 0.999)
"""The epsilons that are tried, as parts of the local epsilon."""


@cache
def exact_delta(reports: int, local_epsilon: float, epsilon: float) -> Fraction:
    """Return the divergence of the worst channel of an epsilon, by the blanket's formula."""
    with localcontext() as context:
        context.prec = DIGITS
        odds, factor = Decimal(local_epsilon).exp(), Decimal(epsilon).exp()
        chance, total = 2 / (odds + 1), Decimal(0)
        for apart in range(reports + 1):
            weight = comb(reports, apart) * chance**apart * (1 - chance) ** (reports - apart)
            for kind in range(apart + 1):
                excess = kind * (odds - factor) + (apart - kind) * (1 - factor * odds)
                total += weight * comb(apart, kind) / Decimal(2) ** apart * max(Decimal(0), excess)
        return Fraction(total / reports)


def blanket_divergence(reports: int, symbols: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Return E max(0, W_1 + ... + W_n) / n, in integers: in parts of common denominators.

    Args:
        reports: n.
        symbols: of the blanket, each with its probability and its W; what is left of 1 adds 0.

    """
    whole, unit = (lcm(*(number.denominator for number in numbers)) for numbers in zip(*symbols, strict=True))
    single = [(int(weight * whole), int(value * unit)) for weight, value in symbols]
    single.append((whole - sum(weight for weight, _ in single), 0))
    law = {0: 1}
    for _ in range(reports):
        longer: dict[int, int] = {}
        for total, chance in law.items():
            for weight, value in single:
                longer[total + value] = longer.get(total + value, 0) + chance * weight
        law = longer
    return Fraction(sum(total * chance for total, chance in law.items() if total > 0), unit * whole**reports * reports)


def pair_divergence(channel: Channel, reports: int, epsilon: float, pair: tuple[int, int]) -> Fraction:
    """Return the privacy loss of a pair of answers, by the blanket of all symbols of a channel."""
    factor, rows = exp(epsilon).limit_denominator(10**12), parts(channel)
    whole, (first, second) = sum(rows[0]), pair
    merged: dict[Fraction, Fraction] = {}
    for symbol, least in enumerate(map(min, zip(*rows, strict=True))):
        value = (rows[first][symbol] - factor * rows[second][symbol]) / least
        merged[value] = merged.get(value, Fraction(0)) + Fraction(least, whole)
    return blanket_divergence(reports, [(weight, value) for value, weight in merged.items()])


def check_exact(reports: int, local_epsilon: float) -> None:
    """The bound is not below the enumeration, and exceeds it only by rounding.

    Rounding up adds at most 2^-39 of each of the two terms that cancel; the term that is subtracted
    is below e^epsilon - 1.
    """
    for part in PARTS:
        epsilon = part * local_epsilon
        bound = Fraction(shuffled_law(reports, Blanket.of_epsilon(local_epsilon)).delta(epsilon))
        exact = exact_delta(reports, local_epsilon, epsilon)
        taken_away = exp(epsilon) - 1
        assert exact <= bound <= min(Fraction(1), exact + (exact + taken_away) / 2**39)


def check_tails(reports: int, local_epsilon: float) -> None:
    """Whichever tails are cut off, the bound is not below the enumeration, nor above it by more
    than the tails' mass.
    """
    for part in PARTS[:-1]:
        epsilon = part * local_epsilon
        exact = exact_delta(reports, local_epsilon, epsilon)
        for tail in (0.5, 0.25, 2.0**-6):
            bound = Fraction(shuffled_law(reports, Blanket.of_epsilon(local_epsilon), tail=tail).delta(epsilon))
            assert exact <= bound <= exact + 2 * Fraction(tail) + Fraction(1, 2**39)


@cache
def exp(epsilon: float) -> Fraction:
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction(Decimal(epsilon).exp())


def local_epsilon_of(channel: Channel) -> float:
    return float_ceiling(ln_ceiling(channel.worst_ratio))


@cache
def parts(channel: Channel) -> list[list[int]]:
    """Return the law of a channel in parts of their common denominator."""
    inputs, symbols = range(channel.inputs), range(channel.symbols)
    whole = lcm(*(channel.probability(symbol, given=answer).denominator for answer in inputs for symbol in symbols))
    return [[int(channel.probability(symbol, given=answer) * whole) for symbol in symbols] for answer in inputs]


@cache
def tally_law(channel: Channel, answers: tuple[int, ...]) -> Law:
    """Return the law of the tally of the reports of some devices.

    It is cached, because answers in another order, or of one more device, begin with the same ones.
    """
    if not answers:
        return {(0,) * channel.symbols: 1}
    if list(answers) != sorted(answers):
        return tally_law(channel, tuple(sorted(answers)))
    *others, answer = answers
    row = parts(channel)[answer]
    law: Law = {}
    for tally, weight in tally_law(channel, tuple(others)).items():
        for symbol in range(channel.symbols):
            counted = (*tally[:symbol], tally[symbol] + 1, *tally[symbol + 1 :])
            law[counted] = law.get(counted, 0) + weight * row[symbol]
    return law


def divergence(first: Law, second: Law, epsilon: float) -> Fraction:
    """Return the hockey-stick divergence of two laws."""
    factor = exp(epsilon)
    odds, unit, of_second = factor.numerator, factor.denominator, second.get
    excess = (unit * weight - odds * of_second(tally, 0) for tally, weight in first.items())
    return Fraction(sum(part for part in excess if part > 0), unit * sum(first.values()))


def neighbors(channel: Channel, reports: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all answers of a number of devices, paired with those in which one device answers
    differently.
    """
    for others in combinations_with_replacement(range(channel.inputs), reports - 1):
        for first, second in product(range(channel.inputs), repeat=2):
            if first != second:
                yield (first, *others), (second, *others)


@cache
def worst_divergence(channel: Channel, reports: int, epsilon: float) -> Fraction:
    """Return the largest divergence of the tallies of neighbors."""
    pairs = neighbors(channel, reports)
    return max(divergence(tally_law(channel, first), tally_law(channel, second), epsilon) for first, second in pairs)


def check_channel(channel: Channel, reports: int) -> None:
    """No tally of real reports reveals more than the bound states."""
    local, blanket = local_epsilon_of(channel), Blanket.of_channel(channel)
    for part in PARTS:
        assert worst_divergence(channel, reports, part * local) <= shuffled_law(reports, blanket).delta(part * local)


def check_pairs(channel: Channel, reports: int) -> None:
    """No pair of answers reveals more than the bound states, if all but the blanket is known."""
    blanket = Blanket.of_channel(channel)
    for part in PARTS[:-1]:
        epsilon = part * blanket.local_epsilon
        bound = shuffled_law(reports, blanket).delta(epsilon) * (1 + 2**-39) + 2**-39  # the factor is rounded
        for pair in permutations(range(channel.inputs), 2):
            assert pair_divergence(channel, reports, epsilon, pair) <= bound


def check_corners(blanket: Blanket, reports: int) -> None:
    """The bound is not below the sum over all kinds of symbols."""
    odds = exp(blanket.local_epsilon).limit_denominator(10**12)
    for part in PARTS[:-1]:
        factor = exp(part * blanket.local_epsilon).limit_denominator(10**12)
        kinds = [
            (blanket.apart, odds - factor),
            (blanket.apart, 1 - odds * factor),
            (blanket.both, odds - odds * factor),
            (blanket.neither, 1 - factor),
        ]
        exact = blanket_divergence(reports, [(Fraction(weight), value) for weight, value in kinds])
        bound = shuffled_law(reports, blanket).delta(part * blanket.local_epsilon)
        assert exact <= bound * (1 + 2**-39) + 2**-39  # the odds are rounded


def sampled_law(channel: Channel, answers: Sequence[int], taking_part: int) -> Law:
    """Return the law of the tally of a random subset of a size."""
    mixed: Law = {}
    for subset in combinations(answers, taking_part):
        for tally, weight in tally_law(channel, subset).items():
            mixed[tally] = mixed.get(tally, 0) + weight
    return mixed


def check_everything() -> None:
    """Apply all checks, as a mutant meets them."""
    for local in LOCAL:
        for reports in (1, 2, 5, 12):
            check_exact(reports, local)
    check_tails(60, 1.0)
    check_tails(60, 3.0)
    for name in ("randomized response", "three values", "geometry"):
        check_channel(CHANNELS[name], 2)
    for name in ("three values", "geometry", "narrow bands"):
        check_pairs(CHANNELS[name], 3)
