"""Means of numbers: mean squared error, ours and opendp's Laplace noise on every value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from benchmarks.peers.accuracy import EPSILONS, Errors, judged
from benchmarks.peers.environments import Peer
from benchmarks.peers.ours import DEVICES
from benchmarks.results import NONE, table
from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import AUTO, channel_for
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.analyses.means import mean_of
from estimator.decoders.inversions import decoder_of, inverse_of, sampler_of
from estimator.statistics.arrays import Counts, Floats

OUR_RUNS = 1000
PEERS_RUNS = 30
SECONDS = 10.0
QUOTED = {0.5: "1.7e-4", 1.0: "3.6e-5", 2.0: "7.6e-6", 4.0: "1.4e-6"}
"""The least error once measured of any mechanism (piecewise), with one script for all: quoted, not
measured here.
"""


def means_section(peers: Sequence[Peer]) -> str:
    """Return the part on means."""
    values = np.random.default_rng(12).uniform(-1, 1, DEVICES)
    truth = np.array([values.mean()])
    rows = []
    for epsilon in EPSILONS:
        channel = channel_for(Number(Fraction(-1), Fraction(1), "mean"), _requested(epsilon), AUTO)
        ours = Errors.of(_ours(channel, values), truth)
        drawn = Errors.of(_laplace(values, epsilon), truth)
        opendp = [
            Errors.of([[mean] for mean in answer], truth)
            for peer in peers
            if peer.name == "opendp"
            for answer in [peer.ask("mean", epsilon=epsilon, values=values.tolist(), runs=PEERS_RUNS, seconds=SECONDS)]
        ]
        ratio = ours.mean / drawn.mean
        error = ratio * math.hypot(ours.deviation, drawn.deviation)
        rows.append(
            [
                *(f"{epsilon:g}", channel.name, str(ours), *(map(str, opendp) if opendp else [NONE]), str(drawn)),
                *(f"{ratio:.2f} ± {error:.2f}", judged(ratio, error), QUOTED[epsilon]),
            ]
        )
    heading = ("epsilon", "auto takes", "ours", "opendp, Laplace", "the same noise by numpy", "ours over numpy's")
    return (
        "### Accuracy of means\n\n"
        f"Mean squared error of the mean of {DEVICES:,} numbers from -1 to 1, drawn once and uniformly; mean ± its\n"
        "standard error over runs (their number). opendp draws exactly and slowly, so that the ratio is to noise of\n"
        "the same law from numpy. pure-ldp and multi-freq-ldpy have no mean. The last column is quoted, not run.\n\n"
        + table((*heading, "at most the peer's?", "least of any mechanism (quoted)"), rows)
    )


def _requested(epsilon: float) -> RequestedEpsilon:
    return RequestedEpsilon.parse(Decimal(str(epsilon)))


def _ours(channel: Channel, values: Floats) -> list[Floats]:
    """Return the means of a number of runs; in each, every device rounds its number to the grid by
    its own coin.
    """
    generator, sampler = np.random.default_rng(13), sampler_of(channel)
    positions = (values + 1) / 2 * (channel.inputs - 1)
    points = np.minimum(positions.astype(np.int64), channel.inputs - 2)
    means = []
    for _ in range(OUR_RUNS):
        rounded = points + (generator.random(values.size) < positions - points)
        tally = sampler(np.bincount(rounded, minlength=channel.inputs), generator)
        means.append(np.array([2 * _mean(channel, tally) - 1]))
    return means


def _mean(channel: Channel, tally: Counts) -> float:
    decoder = decoder_of(channel)
    if decoder is None:
        return float(inverse_of(channel).shares(tally, DEVICES)[1])
    mean = mean_of(decoder, tally, DEVICES).unbiased
    assert mean is not None
    return mean


def _laplace(values: Floats, epsilon: float) -> list[Floats]:
    generator = np.random.default_rng(14)
    return [np.array([values.mean() + generator.laplace(0, 2 / epsilon, DEVICES).mean()]) for _ in range(OUR_RUNS)]
