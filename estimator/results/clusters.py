"""The figures of clusters of answers."""

from __future__ import annotations

import msgspec

from client_sdk.protocol.kinds.kind import Label
from estimator.results.distribution import Figure
from estimator.results.record import Record


class Cluster(Record, frozen=True, kw_only=True):
    """Answers that lie close together.

    Attributes:
        share: the share of devices that gave one of these answers.
        stability: how well resampled tallies reproduce the cluster, from 0 to 1.
        values: its answers, in the domain's order; empty for a number.
        start: for a number, the lower end of its answers; otherwise None. ``from`` in JSON.
        end: for a number, the upper end of its answers; otherwise None. ``to`` in JSON.
        mean: of the answers. None if they do not lie on a line.

    """

    share: Figure
    stability: float
    values: tuple[Label, ...] = ()
    start: float | None = msgspec.field(name="from", default=None)
    end: float | None = msgspec.field(name="to", default=None)
    mean: Figure | None = None


class Clusters(Record, frozen=True):
    """The clusters of a tally.

    Attributes:
        clusters: ordered by their first answer.
        numbers: for each number of clusters, from 1, the fraction of resampled tallies with that
            number.

    """

    clusters: tuple[Cluster, ...]
    numbers: tuple[float, ...]
