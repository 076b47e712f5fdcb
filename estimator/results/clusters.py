"""The figures of clusters of sets."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol import Label
from estimator.results.distribution import Resampled


@dataclass(frozen=True, slots=True)
class Cluster:
    """Answers that lie together.

    Attributes:
        values: its answers, in the domain's order; of a number none.
        span: of a number, between which ends its answers lie; else none.
        share: of the people whose answers these are.
        mean: of the answers, where they lie on a line; else none.
        stability: how much of it is found again in resampled tallies, from 0 to 1.

    """

    values: tuple[Label, ...]
    span: tuple[float, float] | None
    share: Resampled
    mean: Resampled | None
    stability: float


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of a tally.

    Attributes:
        clusters: by the first answer that is in them.
        numbers: for each number of clusters from 1 the part of the resampled tallies in which so many were found.

    """

    clusters: tuple[Cluster, ...]
    numbers: tuple[float, ...]
