"""Runs multi-freq-ldpy 0.2.5 in a separate environment.

Command: `python -m benchmarks.peers.in_multi_freq_ldpy`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.worker import enough, rate, repeated, serve, values_of

Floats = NDArray[np.float64]

IBU_RUNS = {False: 20, True: 3}
"""The number of runs of IBU (iterative Bayesian update), with few and with many values.

With the library's default settings, a run with 1,024 values takes 6 s.
"""

MANY = 64

MODULES = {"GRR": "GRR", "OUE": "UE", "SS": "SS", "OLH": "LH"}


def oracle(channel: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the library's client and server functions for a channel.

    The functions have the same arguments for all channels.
    """
    name = MODULES[channel]
    module = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{name}")
    return getattr(module, f"{name}_Client"), getattr(module, f"{name}_Aggregator_MI")


def probabilities(channel: str, inputs: int, epsilon: float) -> tuple[float, float]:
    """Return two probabilities: that a report supports the device's value, and any other value.

    The library's functions for the server compute the probabilities in the same way.
    """
    odds = math.exp(epsilon)
    if channel == "OUE":
        return 0.5, 1 / (odds + 1)
    size = 1 if channel == "GRR" else int(max(1, np.rint(inputs / (odds + 1))))
    total = size * odds + inputs - size
    return size * odds / total, ((size - 1) * size * odds + (inputs - size) * size) / ((inputs - 1) * total)


def hello() -> str:
    for channel in MODULES:
        oracle(channel)
    return version("multi-freq-ldpy")


def client(channel: str, inputs: int, epsilon: float, seconds: float) -> float:
    return rate(oracle(channel)[0], [(value, inputs, epsilon) for value in values_of(inputs)], seconds)


def server(channel: str, inputs: int, epsilon: float, reports: int, drawn: int) -> dict[str, float]:
    perturb, aggregate = oracle(channel)
    many = repeated([perturb(index % inputs, inputs, epsilon) for index in range(drawn)], reports)
    arguments = (epsilon,) if channel == "OUE" else (inputs, epsilon)
    started = time.perf_counter()
    aggregate(many, *arguments)
    return {"seconds": time.perf_counter() - started, "start": 0.0}


def support_counts(channel: str, values: list[int], inputs: int, epsilon: float) -> Floats:
    """Perturb every value, and return the number of reports that support each value.

    The counts equal the library's counts. This computation in numpy is faster than the library's.
    Reports are added up in batches, because the library stores each bit in 64 bits. A million bits
    take 8 MB.
    """
    perturb, _ = oracle(channel)
    counts = np.zeros(inputs)
    for first in range(0, len(values), 2000):
        reports = [perturb(value, inputs, epsilon) for value in values[first : first + 2000]]
        if channel == "OUE":
            counts += np.sum(reports, axis=0)
        else:
            counts += np.bincount(np.asarray(reports).ravel(), minlength=inputs)
    return counts


def accuracy(channel: str, epsilon: float, counts: list[int], runs: int, seconds: float) -> dict[str, Any]:
    """Return the estimates of several runs:

    * unbiased estimates;
    * estimates that are clipped and rescaled, the library's default;
    * estimates by the library's IBU.
    """
    estimators = import_module("multi_freq_ldpy.estimators.Histogram_estimator")
    inputs, reports = len(counts), sum(counts)
    own, other = probabilities(channel, inputs, epsilon)
    matrix = np.full((inputs, inputs), other)
    np.fill_diagonal(matrix, own)
    values = np.repeat(np.arange(inputs), counts).tolist()
    counted: list[Floats] = []
    raw: list[list[float]] = []
    posts: dict[str, list[list[float]]] = {"clipped": [], "IBU": []}
    started = time.perf_counter()
    while not enough(len(raw), runs, started, seconds):
        supports = support_counts(channel, values, inputs, epsilon)
        raw.append(((supports / reports - other) / (own - other)).tolist())
        posts["clipped"].append(estimators.MI(supports, reports, own, other).tolist())
        counted.append(supports)
    for supports in counted[: IBU_RUNS[inputs > MANY]]:
        posterior = estimators.IBU(inputs, matrix, supports / supports.sum(), 10_000, 1e-12, "max_abs")
        posts["IBU"].append(posterior.tolist())
    return {"raw": raw, "posts": posts, "law": (own, other)}


if __name__ == "__main__":
    serve({"hello": hello, "client": client, "server": server, "accuracy": accuracy})
