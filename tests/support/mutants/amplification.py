"""Named wrong bounds on shuffled tallies: each replaces one part of `estimator.plan.blanket`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from client_sdk.protocol import Channel
from estimator.decoders.inversions import extreme_of
from estimator.plan import blanket
from estimator.plan.blanket import Blanket, Shuffled
from estimator.statistics.arrays import Floats

RIGHT_DELTA = Shuffled.delta
RIGHT_LEAST = blanket.least_positive
RIGHT_LAW = Shuffled.among
RIGHT_WEIGHT = blanket.blanket_weight
RIGHT_DRAG = blanket.drag


def _too_wide(channel: Channel) -> Fraction | None:
    weight = RIGHT_WEIGHT(channel)
    return None if weight is None else (1 + weight) / 2


def _moved(by: int) -> Callable[[Floats, Floats, float], Floats]:
    def least(coins: Floats, loss: Floats, swing: float) -> Floats:
        return (RIGHT_LEAST(coins, loss, swing) + by).clip(1, coins + 1)

    return least


def _exchange(name: str, part: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(blanket, name, part)


def _own_report_twice(honest: int, of_each: Blanket, tail: float) -> Shuffled:
    return RIGHT_LAW(honest + 1, of_each, tail)


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a blanket that weighs too much": _exchange("blanket_weight", _too_wide),
    "a pair of answers that is not the worst": _exchange("extreme_of", lambda channel: extreme_of(channel) / 2),
    "rounded down": _exchange("FIXED_ERROR", -blanket.FIXED_ERROR),
    "a result rounded down": _exchange("ROUNDING", 1 - 2.0**-40),
    "what all reports say alike counted twice": _exchange("drag", lambda *drawn: 2 * RIGHT_DRAG(*drawn)),
    "tails forgotten": _exchange("omitted", lambda _, *, below, above: 0.0 * (below + above)),
    "threshold one too high": _exchange("least_positive", _moved(1)),
    "threshold one too low": _exchange("least_positive", _moved(-1)),
    "delta halved": lambda patch: patch.setattr(Shuffled, "delta", lambda self, eps: RIGHT_DELTA(self, eps) / 2),
    "own report counted twice": lambda patch: patch.setattr(Shuffled, "among", _own_report_twice),
}
