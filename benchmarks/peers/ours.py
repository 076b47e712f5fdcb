"""The parts of this project that are compared with other libraries (peers)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from benchmarks.peers.worker import rate, values_of
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.mechanisms import AUTO, channel_for
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.analyses.shrinkage import shrunken_shares
from estimator.decoders.decoder import Inverse
from estimator.statistics.arrays import Counts, Floats

DEVICES = 100_000


def chosen(inputs: int, epsilon: float) -> Channel:
    """Return the channel that ``auto`` chooses for a metric with this number of values."""
    return channel_for(kind_of(inputs), RequestedEpsilon.parse(Decimal(str(epsilon))), AUTO)


def kind_of(inputs: int) -> Kind:
    """Return a category with this many values, or a boolean for two."""
    return Boolean() if inputs == 2 else Category(tuple(map(str, range(inputs))))


def report_rate(kind: Kind, channel: Channel, seconds: float) -> float:
    """Measure reports per second in a Python loop, from an answer to its symbol.

    Answers are uniformly distributed. Numbers are floats.
    """
    inputs, coins = channel.inputs, SystemCoins()
    samples = [float(each) if isinstance(each, Fraction) else each for each in kind.samples()]
    calls = [(samples[at % len(samples)],) for at in values_of(len(samples))]
    return rate(lambda answer: channel.perturb(kind.encode(answer, inputs, coins), coins), calls, seconds)


def post_processed(inverse: Inverse, counts: Counts) -> Floats:
    """Return the shares with the smallest expected squared error, at least 0 and with sum 1."""
    reports = int(counts.sum())
    return shrunken_shares(inverse.shares(counts, reports), inverse.standard_errors(counts, reports))


def zipf(inputs: int, devices: int = DEVICES) -> Counts:
    """Return the number of devices with each value, drawn from Zipf(1.1) with a fixed seed."""
    weights = 1 / np.arange(1, inputs + 1) ** 1.1
    return np.random.default_rng(inputs).multinomial(devices, weights / weights.sum())
