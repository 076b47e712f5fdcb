"""How many draws decide between a probability and a wrong one, and the line between them."""

from __future__ import annotations

import math
from typing import NamedTuple

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


def _divergence(frequency: float, probability: float) -> float:
    """Return the Kullback-Leibler divergence of two Bernoulli variables in nats."""
    other = (1 - frequency) * math.log((1 - frequency) / (1 - probability))
    return frequency * math.log(frequency / probability) + other
