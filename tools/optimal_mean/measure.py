"""Measures the tables: worst variances against every unbiased channel within epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from estimator.decoders import optimal_mean
from tools.optimal_mean.linear_programme import least_variance

LEAST: Final = 0.05

GREATEST: Final = 8.0

EVEN_SCORES: Final = 61
"""Besides the channel's own scores the linear programme may use as many even ones, a little beyond."""


ANSWERS: Final = ((3.5, 33), (5.5, 65), (GREATEST, 101))
"""How many answers the programme bounds, up to an epsilon. The variance between them matters more where
bands are narrow."""


def measured(count: int) -> Iterator[str]:
    """Yield the lines of a table of worst variances as they are known; at last the worst ratio to the programme's."""
    yield from ("| epsilon | optimal-mean | programme | ratio |", "| --- | --- | --- | --- |")
    ratios = []
    for epsilon in np.geomspace(LEAST, GREATEST, count).tolist():
        ours, least = variances(round(epsilon, 6))
        ratios.append(ours / least)
        yield f"| {epsilon:.4f} | {ours:.6g} | {least:.6g} | {ratios[-1]:.4f} |"
    yield f"\nworst ratio of {count} epsilons: {max(ratios):.4f}; mean {np.mean(ratios):.4f}"


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
