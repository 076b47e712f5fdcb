"""The figures of clusters of answers."""

from __future__ import annotations

from typing import Annotated

import msgspec

from client_sdk.protocol.kinds.kind import Label
from estimator.results.estimate import Estimate
from estimator.results.record import Record, says


class Cluster(Record, frozen=True, kw_only=True):
    """Answers that lie close together."""

    share: Annotated[Estimate, says("the share of devices that gave one of these answers.")]
    stability: Annotated[float, says("how well resampled tallies reproduce the cluster, from 0 to 1.")]
    values: Annotated[tuple[Label, ...], says("its answers, in the domain's order; empty for a number.")] = ()
    start: Annotated[
        float | None, says("for a number, the lower end of its answers; otherwise None. ``from`` in JSON.")
    ] = msgspec.field(name="from", default=None)
    end: Annotated[
        float | None, says("for a number, the upper end of its answers; otherwise None. ``to`` in JSON.")
    ] = msgspec.field(name="to", default=None)
    mean: Annotated[Estimate | None, says("of the answers. None if they do not lie on a line.")] = None


class Clusters(Record, frozen=True):
    """The clusters of a tally."""

    clusters: Annotated[tuple[Cluster, ...], says("ordered by their first answer.")]
    numbers: Annotated[
        tuple[float, ...],
        says("for each number of clusters, from 1, the fraction of resampled tallies with that number."),
    ]
