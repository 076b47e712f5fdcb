"""How many draws decide between a probability and a wrong one, and the line between them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RATE = 1e-9
"""The probability that a right procedure is refused, and that the wrong one is accepted."""


class Decision(NamedTuple):
    """A number of draws, in which a right procedure succeeds on its own side of the line."""

    draws: int
    line: float


def decision(right: float, wrong: float, rate: float = RATE) -> Decision:
    """Return the draws of a Bernoulli variable that tell two probabilities apart, and the frequency
    between them.

    A frequency falls on the wrong side of the line with a probability of at most exp(-n * D), where
    D is the divergence of the line from the probability (Chernoff 1952; Hoeffding 1963, theorem 1).
    The line has the same divergence from both.
    """
    near, far = right, wrong
    for _ in range(100):
        line = (near + far) / 2
        if _divergence(line, right) < _divergence(line, wrong):
            near = line
        else:
            far = line
    return Decision(math.ceil(-math.log(rate) / _divergence(line, right)), line)


def accepts(decided: Decision, right: float, successes: int) -> bool:
    """Whether this number of successes is on the right side of the line."""
    frequency = successes / decided.draws
    return (frequency > decided.line) == (right > decided.line)


def accepts_each(
    batches: Iterable[NDArray[np.bool_]], right: float, wrong: float, rate: float = RATE
) -> NDArray[np.bool_]:
    """Whether each column of draws succeeds with the right probability rather than the wrong one.

    Drawing ends as soon as every column is decided: its likelihood ratio is beyond 1 / rate. The
    chance that the ratio ever gets there in favor of the wrong probability is at most the rate
    (Wald 1945; Ville 1939). This takes about a fifth of the draws of `decision`. A column that is
    undecided after those draws is decided by their line, which errs as rarely.

    Args:
        batches: successes, shape (draws, columns); at least the draws of `decision` in all.
        right: the probability of a right procedure.
        wrong: the probability of a wrong one.
        rate: of either error.

    """
    fixed = decision(right, wrong, rate)
    of_success, of_failure = math.log(right / wrong), math.log((1 - right) / (1 - wrong))
    draws, successes, ratios = 0, np.zeros((), np.int64), np.zeros(())
    for batch in batches:
        draws, successes = draws + len(batch), successes + batch.sum(axis=0)
        of_now = successes * of_success + (draws - successes) * of_failure
        ratios = np.where(np.abs(ratios) < -math.log(rate), of_now, ratios)
        is_decided = np.abs(ratios) >= -math.log(rate)
        if is_decided.all() or draws >= fixed.draws:
            by_line = (successes / draws > fixed.line) == (right > fixed.line)
            return np.where(is_decided, ratios > 0, by_line)
    raise ValueError(f"{draws} draws do not decide; up to {fixed.draws} may be needed")


def _divergence(frequency: float, probability: float) -> float:
    """Return the Kullback-Leibler divergence of two Bernoulli variables in nats."""
    other = (1 - frequency) * math.log((1 - frequency) / (1 - probability))
    return frequency * math.log(frequency / probability) + other
