"""Named wrong ways to add noise, and wrong tables of the exponential mechanism; the checks must
refuse all of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import accumulate

from client_sdk.protocol import Channel, Coins
from client_sdk.protocol.mechanisms import exponential
from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.laplace import Laplace
from tests.support.laws.declared_law import DeclaresOtherwise, PerturbsOtherwise

Noise = Laplace | Gaussian


Way = Callable[[Noise, int, Coins], int]
"""How an input becomes a symbol."""


def _drawn(right: Noise, coins: Coins) -> int:
    return right.noise(coins.below(right.total))


def _right(right: Noise, value: int, coins: Coins) -> int:
    return right.shifted(value, _drawn(right, coins))


def _off_by_one(right: Noise, value: int, coins: Coins) -> int:
    return right.shifted(value, _drawn(right, coins) + 1)


def _one_sided(right: Noise, value: int, coins: Coins) -> int:
    return right.shifted(value, abs(_drawn(right, coins)))


def _size_tells_the_sign(right: Noise, value: int, coins: Coins) -> int:
    size = abs(_drawn(right, coins))  # its last bit is used again
    return right.shifted(value, size if size % 2 else -size)


def _sign_of_no_noise(right: Noise, value: int, coins: Coins) -> int:
    sums = list(accumulate(right.weights))
    drawn = coins.below(2 * sums[-1])  # zero has both signs, and is drawn twice as often
    size = bisect_right(sums, drawn // 2)
    return right.shifted(value, size if drawn % 2 else -size)


def _first_symbol_never(right: Noise, value: int, coins: Coins) -> int:
    return max(_right(right, value, coins), 1)


def _last_symbol_never(right: Noise, value: int, coins: Coins) -> int:
    return min(_right(right, value, coins), right.symbols - 2)


def _tail_kept_as_truth(right: Noise, value: int, coins: Coins) -> int:
    added = _drawn(right, coins)
    return right.shifted(value, 0 if added == 1 - len(right.weights) else added)


def _truth_below_a_draw(right: Noise, value: int, coins: Coins) -> int:
    drawn = coins.below(right.total)
    return right.shifted(value, 0 if drawn < right.total // 2 else right.noise(drawn))


def _half_of_the_draws(right: Noise, value: int, coins: Coins) -> int:
    return right.shifted(value, right.noise(coins.below(right.total) // 2))


def _last_draw_never(right: Noise, value: int, coins: Coins) -> int:
    return right.shifted(value, right.noise(coins.below(right.total - 1)))


def _first_input_never_noised(right: Noise, value: int, coins: Coins) -> int:
    added = _drawn(right, coins)
    return right.shifted(value, added if value else 0)


def _extra_coin(right: Noise, value: int, coins: Coins) -> int:
    if value == 0:
        coins.below(2)
    return _right(right, value, coins)


def _not_clamped(right: Noise, value: int, coins: Coins) -> int:
    return value + right.reach + _drawn(right, coins)


def _wrapped(right: Noise, value: int, coins: Coins) -> int:
    return _not_clamped(right, value, coins) % right.symbols


NOISE_MUTANTS: dict[str, Way] = {
    "none": _right,
    "noise off by one": _off_by_one,
    "noise on one side only": _one_sided,
    "a bit of the size used again as the sign": _size_tells_the_sign,
    "a sign of no noise": _sign_of_no_noise,
    "first symbol never reached": _first_symbol_never,
    "last symbol never reached": _last_symbol_never,
    "a tail told as the truth": _tail_kept_as_truth,
    "truth told below a draw": _truth_below_a_draw,
    "half of the draws never used": _half_of_the_draws,
    "last draw never used": _last_draw_never,
    "first input never noised": _first_input_never_noised,
    "an extra coin for one input": _extra_coin,
}
"""Wrong ways for any added noise, and the right one."""

CLAMPING_MUTANTS: dict[str, Way] = {"noise not clamped": _not_clamped, "noise wrapped around": _wrapped}
"""Wrong ways for noise that reaches beyond the symbols."""


def _perturbing(right: Noise, ways: dict[str, Way]) -> dict[str, Channel]:
    return {name: PerturbsOtherwise(right, partial(way, right)) for name, way in ways.items()}


def of_laplace(right: Laplace) -> dict[str, Channel]:
    """Return wrong channels beside a right one that is cut at the ends of the range."""
    ratio = 1 + (right.worst_ratio - 1) * 99 / 100
    lost = Laplace(right.inputs, 0, (*right.weights[:-1], 0))
    return {
        **_perturbing(right, NOISE_MUTANTS | CLAMPING_MUTANTS),
        "the farther noise lost": lost,
        "epsilon declared too low": DeclaresOtherwise(right, ratio=ratio),
    }


def of_gaussian(right: Gaussian) -> dict[str, Channel]:
    """Return wrong channels beside a right one whose symbols are all places of the noise."""
    return {
        **_perturbing(right, NOISE_MUTANTS),
        "delta declared too low": DeclaresOtherwise(right, other_delta=right.delta * 99 / 100),
        "no delta declared": DeclaresOtherwise(right, other_delta=Fraction(0)),
        "epsilon declared too low": DeclaresOtherwise(right, ratio=right.odds * 99 / 100),
    }


def of_tables(right: Exponential) -> dict[str, Channel]:
    """Return wrong samplers beside a right table whose draws can be replayed."""
    total, rows = exponential.TOTAL, right.weights
    sums = [tuple(accumulate(row)) for row in rows]

    def picks(way: Callable[[int, int], int]) -> Channel:
        return PerturbsOtherwise(right, lambda value, coins: way(value, coins.below(total)))

    def extra_coin(value: int, coins: Coins) -> int:
        if value == 0:
            coins.below(2)
        return right.perturb(value, coins)

    def column(value: int, drawn: int) -> int:
        turned = list(accumulate(row[value] for row in rows))
        return bisect_right(turned, drawn * turned[-1] // total)

    return {
        "none": picks(lambda value, drawn: bisect_right(sums[value], drawn)),
        "off by one draw": picks(lambda value, drawn: bisect_left(sums[value], drawn)),
        "columns taken for rows": picks(column),
        "row of the next value": picks(lambda value, drawn: bisect_right(sums[(value + 1) % len(rows)], drawn)),
        "truth told below a draw": picks(
            lambda value, drawn: value if drawn < total // 9 else bisect_right(sums[value], drawn)
        ),
        "last symbol never reached": picks(lambda value, drawn: min(bisect_right(sums[value], drawn), len(rows) - 2)),
        "half of the draws never used": picks(lambda value, drawn: bisect_right(sums[value], drawn // 2)),
        "an extra coin for one input": PerturbsOtherwise(right, extra_coin),
        "rows not normalized": Exponential((tuple(2 * weight for weight in rows[0]), *rows[1:])),
        "epsilon declared too low": DeclaresOtherwise(right, ratio=1 + (right.worst_ratio - 1) * 99 / 100),
    }
