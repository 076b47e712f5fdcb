"""Named wrong bounds on shuffled tallies: each replaces one part of `estimator.privacy.clones`."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from estimator.privacy import clones
from estimator.privacy.clones import Clones
from estimator.statistics.arrays import Floats

RIGHT_DELTA = Clones.delta
RIGHT_LEAST = clones.least_favouring
RIGHT_LAW = Clones.of


def _clone_one_percent_too_often(local_epsilon: float) -> tuple[float, float]:
    clone = math.exp(-local_epsilon) * 0.99 + 0.01
    return clone, 1 - clone


def _clone_of_k_ary_randomized_response(local_epsilon: float) -> tuple[float, float]:
    clone = 2 / (math.exp(local_epsilon) + 1)
    return clone, 1 - clone


def _moved(by: int) -> Callable[[Floats, float, float], Floats]:
    def least(counts: Floats, local_epsilon: float, epsilon: float) -> Floats:
        return (RIGHT_LEAST(counts, local_epsilon, epsilon) + by).clip(1, counts + 1)

    return least


def _exchange(name: str, part: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(clones, name, part)


def _own_report_as_its_own_clone(honest: int, local_epsilon: float, tail: float) -> Clones:
    return RIGHT_LAW(honest + 1, local_epsilon, tail)


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a clone one percent too often": _exchange("clone_probability", _clone_one_percent_too_often),
    "clones of another channel": _exchange("clone_probability", _clone_of_k_ary_randomized_response),
    "tails forgotten": _exchange("omitted", lambda _, *, below, above: 0.0 * (below + above)),
    "threshold one too high": _exchange("least_favouring", _moved(1)),
    "threshold one too low": _exchange("least_favouring", _moved(-1)),
    "delta halved": lambda patch: patch.setattr(Clones, "delta", lambda self, eps: RIGHT_DELTA(self, eps) / 2),
    "own report as its own clone": lambda patch: patch.setattr(Clones, "of", _own_report_as_its_own_clone),
}
