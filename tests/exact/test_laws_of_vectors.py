"""The law of rotated axes: small dimensions path by path, against a rotation as a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from hashlib import shake_256
from itertools import product
from math import erf, erfc, exp, expm1, lgamma, log, pi, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq

from client_sdk.protocol import COIN_SCALE, Coins
from client_sdk.protocol.epsilon import ln_ceiling
from client_sdk.protocol.mechanisms.rotated_axes import _SHARES, RotatedAxes, hadamard, rotated, signs
from client_sdk.protocol.vector import UNIT, lifted
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import ScriptedCoins, exact_law, walk

D = 8
VECTORS = [lifted(shape, D) for shape in ([0], [UNIT], [-UNIT], [1, 2, 3], [UNIT // 2] * 4, [-5, UNIT // 3, 7])]
SMALL = [RotatedAxes.within(request(epsilon), D, 2, s) for epsilon, s in product(("0.5", "4"), (1, 3, D))]
Law = dict[int, Fraction]


WINDOW = "2026-W48"


def matrix(dimension: int, rotation: int, window: str = "") -> np.ndarray:
    places = range(dimension)
    transform = np.array([[(-1) ** (row & column).bit_count() for column in places] for row in places])
    product = np.eye(dimension, dtype=np.int64)
    for step in range(3):
        stream = shake_256(f"hearsay rotation 1 {window} {dimension} {rotation} {step}".encode()).digest(dimension // 8)
        flips = [1 - 2 * (stream[place // 8] >> place % 8 & 1) for place in places]
        product = transform @ np.diag(flips) @ product
    return product


def moved(rotation: int) -> np.ndarray:
    stream = shake_256(f"hearsay offset 1  {D} {rotation}".encode()).digest(D)
    return np.array([(byte - 127.5) / 2048 * UNIT * D for byte in stream])


def declared(channel: RotatedAxes, vector: Sequence[int]) -> Law:
    """The law by its definition: the rotation as a matrix, and magnitudes compared one by one."""
    keep, law = Fraction(channel.keep_numerator, COIN_SCALE), {}
    for rotation in range(channel.rotations):
        turned = [int(value) for value in matrix(D, rotation) @ np.array(vector) + moved(rotation)]
        ranks = [sum((abs(b), -k) > (abs(a), -j) for k, b in enumerate(turned)) for j, a in enumerate(turned)]
        for place, negative in product(range(D), (False, True)):
            favoured = ranks[place] < channel.favoured and (turned[place] < 0) == negative
            share = keep / channel.favoured if favoured else (1 - keep) / (2 * D - channel.favoured)
            law[2 * D * rotation + 2 * place + negative] = share / channel.rotations
    return law


@for_each("channel", SMALL)
def test_every_path_obeys_the_declared_law_and_the_ratio_is_exactly_e_to_epsilon(channel: RotatedAxes) -> None:
    laws = [exact_law(partial(channel.perturb, vector)) for vector in VECTORS]
    assert laws == [declared(channel, vector) for vector in VECTORS]
    symbols = range(channel.symbols)
    assert laws == [{symbol: channel.probability(symbol, vector) for symbol in symbols} for vector in VECTORS]
    assert [sum(law.values()) for law in laws] == [1] * len(laws)
    assert max(law[symbol] / other[symbol] for law in laws for other in laws for symbol in law) == channel.worst_ratio


@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "1", "2", "4", "8"])
@pytest.mark.parametrize(("dimension", "favoured"), [(128, 1), (128, 88), (1024, 66), (4096, 4096)])
def test_the_integers_use_epsilon_and_stay_within_it(epsilon: str, dimension: int, favoured: int) -> None:
    ratio = RotatedAxes.within(request(epsilon), dimension, 64, favoured).worst_ratio
    assert ratio <= request(epsilon).odds
    assert ln_ceiling(ratio) > Fraction(epsilon) * Fraction(999_999, 1_000_000)


@for_each("channel", SMALL)
def test_every_vector_takes_the_same_coins(channel: RotatedAxes) -> None:
    expected = [("below", 2), ("bernoulli", channel.keep_numerator), ("below", channel.favoured)]
    expected.append(("below", 2 * D - channel.favoured))
    for vector, keep in product(VECTORS, (True, False)):
        with ScriptedCoins([1, keep, 0, 0]) as coins:
            channel.perturb(vector, coins)
        assert coins.requests == expected
    assert walk(partial(channel.perturb, VECTORS[0])).lengths == {4}


class ByValue(RotatedAxes):
    def favoured_axes(self, turned: Sequence[int]) -> list[int]:
        largest = sorted(range(self.dimension), key=lambda place: -turned[place])[: self.favoured]
        return sorted(2 * place + (turned[place] < 0) for place in largest)


class WithoutSigns(RotatedAxes):
    def favoured_axes(self, turned: Sequence[int]) -> list[int]:
        return [axis & ~1 for axis in RotatedAxes.favoured_axes(self, turned)]


class FirstRotationOnly(RotatedAxes):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        return RotatedAxes.perturb(self, value, coins) % (2 * self.dimension)


class OtherMayBeFavoured(RotatedAxes):
    def _others(self, favoured: list[int]) -> list[int]:
        return list(range(2 * self.dimension - len(favoured)))


@pytest.mark.parametrize("wrong", [ByValue, WithoutSigns, FirstRotationOnly, OtherMayBeFavoured])
def test_a_wrong_mechanism_is_refused(wrong: type[RotatedAxes]) -> None:
    mutant = wrong.within(request("1"), D, 2, 3)
    laws = [exact_law(partial(mutant.perturb, vector)) for vector in VECTORS]
    assert laws != [declared(mutant, vector) for vector in VECTORS]


def best_share(epsilon: int) -> float:
    """The share of favored axes of least variance (Isik et al. 2023); a half if epsilon is 0."""
    if epsilon == 0:
        return 0.5
    return beyond(brentq(lambda t: exp(-t * t / 2) / sqrt(2 * pi) / t - beyond(t) - 1 / expm1(epsilon), 1e-9, 99))


def beyond(limit: float) -> float:
    """Return the chance that a normal number is above a limit."""
    return erfc(limit / sqrt(2)) / 2


def test_the_shares_of_favored_axes_are_those_of_least_variance() -> None:
    best = tuple((epsilon, round(10**6 * best_share(epsilon))) for epsilon, _ in _SHARES)
    assert best == _SHARES


@pytest.mark.parametrize("dimension", [8, 128])
def test_the_integer_transform_is_the_matrix(dimension: int) -> None:
    vector = lifted([3, -UNIT // 2, 11, UNIT // 5, -1], dimension)
    for rotation in (0, 1, 4095):
        for window in ("", WINDOW):
            of_matrix = (matrix(dimension, rotation, window) @ np.array(vector)).tolist()
            assert rotated(vector, rotation, window) == of_matrix
    assert rotated(vector, 0, WINDOW) != rotated(vector, 0, "")


def largest_of_a_random_direction(dimension: int) -> float:
    """The expected largest magnitude of a uniform unit vector, by quadrature."""
    grid = np.linspace(0, 12, 24_001)
    largest = np.trapezoid([1 - erf(x / sqrt(2)) ** dimension for x in grid], grid)
    return float(largest / np.exp(log(2) / 2 + lgamma((dimension + 1) / 2) - lgamma(dimension / 2)))


def is_like_a_random_direction(shape: list[int], turn: Callable[[list[int], int], list[int]]) -> bool:
    vector = list(lifted(shape, 128))
    turned = np.array([turn(vector, rotation) for rotation in range(800)], dtype=float)
    largest = np.abs(turned).max(axis=1) / np.linalg.norm(turned, axis=1)
    bias = largest.mean() - largest_of_a_random_direction(128)
    return bool(abs(bias) < 4 * largest.std() / sqrt(800) + 1e-12)


def few_rounds(rounds: int) -> Callable[[list[int], int], list[int]]:
    def turn(vector: list[int], rotation: int) -> list[int]:
        for step in range(rounds):
            vector = hadamard(
                [sign * value for sign, value in zip(signs(128, rotation, step, WINDOW), vector, strict=True)]
            )
        return vector

    return turn


SHAPES = {"axis": [UNIT], "two": [741_455, 741_455], "flat": [92_000] * 127}


@pytest.mark.parametrize("name", SHAPES)
def test_three_rounds_turn_every_shape_into_a_random_direction(name: str) -> None:
    assert is_like_a_random_direction(SHAPES[name], partial(rotated, window=WINDOW))


@pytest.mark.parametrize(("name", "rounds"), [("axis", 1), ("two", 1), ("two", 2)])
def test_fewer_rounds_are_refused(name: str, rounds: int) -> None:
    assert not is_like_a_random_direction(SHAPES[name], few_rounds(rounds))


@pytest.mark.parametrize("coordinates", [[UNIT, 1], [1] * D])
def test_a_vector_beyond_its_norm_or_dimension_is_refused(coordinates: list[int]) -> None:
    with pytest.raises(ValueError, match="clip it first"):
        lifted(coordinates, D)
