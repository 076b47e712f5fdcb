"""Measures the tables: worst variances against every unbiased channel within epsilon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders import optimal_mean
from tools.optimal_mean.linear_programme import least_variance

LEAST: Final = 0.05

GREATEST: Final = 8.0

EVEN_SCORES: Final = 61
"""The number of even scores that the linear programme may use besides the channel's own.

They reach a little beyond those.
"""


ANSWERS: Final = ((3.5, 33), (5.5, 65), (GREATEST, 101))
"""How many answers the programme bounds, up to an epsilon. The variance between them matters more
where bands are narrow.
"""

STRETCHES: Final = (LEAST, 0.18, 0.5, 1.0, 2.0, 3.5, 5.5, 7.0, GREATEST)
"""Ends of the stretches of epsilon in a summary."""


class Measured(NamedTuple):
    """Worst variances at an epsilon, on a range from -1 to 1.

    Attributes:
        epsilon: as requested.
        ours: the mechanism's.
        least: the linear programme's.

    """

    epsilon: float
    ours: float
    least: float

    @property
    def ratio(self) -> float:
        """How much more the mechanism has."""
        return self.ours / self.least


def measured(count: int, most: float = GREATEST) -> Iterator[Measured]:
    """Yield worst variances as they are known.

    Args:
        count: of epsilons from `LEAST` to `GREATEST`, in equal ratios.
        most: greater epsilons are left out; they take most of the time.

    """
    for epsilon in np.geomspace(LEAST, GREATEST, count).tolist():
        if epsilon <= most:
            yield Measured(epsilon, *variances(round(epsilon, 6)))


def summary(rows: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of a table of ratios by stretch of epsilon."""
    yield from ("| epsilon | measured at | mean ratio | worst ratio | at epsilon |", "| --- | --- | --- | --- | --- |")
    for low, high in pairwise(STRETCHES):
        within = [row for row in rows if low <= row.epsilon < high or row.epsilon == high == GREATEST]
        if within:
            mean, worst = np.mean([row.ratio for row in within]), max(within, key=lambda row: row.ratio)
            yield f"| {low:g} to {high:g} | {len(within)} | {mean:.4f} | {worst.ratio:.4f} | {worst.epsilon:.3f} |"


def variances(epsilon: float) -> tuple[float, float]:
    """Return the worst variance of the mechanism and the least one, on a range from -1 to 1."""
    channel = OptimalMean.within(RequestedEpsilon.parse(epsilon))
    decoder = optimal_mean.decoder(channel)
    ours = 4 * float((decoder.squares - np.linspace(0.0, 1.0, channel.inputs) ** 2).max())
    own = 2 * decoder.scores - 1
    even = np.linspace(-1.05, 1.05, EVEN_SCORES) * own.max()
    scores = np.unique(np.round(np.concatenate([own, -own, even]), 9))
    answers = next(answers for most, answers in ANSWERS if epsilon <= most)
    return ours, least_variance(epsilon, scores, answers)
