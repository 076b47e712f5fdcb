"""Optimal means: speed, and worst variances over the programme's.

``python -m benchmarks means`` writes the section. It takes half an hour of a processor, nearly all
of it for the linear programmes of large epsilons.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

import numpy as np

from benchmarks.results import table, verdict
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders import optimal_mean
from tools.optimal_mean.measure import Measured, measured, summary

EPSILONS: Final = ("0.1", "0.5", "1", "2", "4", "6", "7.5", "8")
COUNT: Final = 200
ROUNDS: Final = 7
ANSWERS: Final = 200
REPORTS: Final = 10_000


def measure_means() -> str:
    """Return the section of the results."""
    return f"## Means at the optimum\n\n{speeds()}\n\n{ratios(tuple(measured(COUNT)))}"


def speeds() -> str:
    """Return how fast a device and a reporting job are."""
    rows, rates = [], []
    for text in EPSILONS:
        epsilon = RequestedEpsilon.parse(Decimal(text))
        channel = OptimalMean.within(epsilon)
        making_s = _least_s(lambda epsilon=epsilon: OptimalMean.within(epsilon))  # type: ignore[misc] # bound at once
        rates.append(REPORTS / _least_s(lambda channel=channel: _report(channel)) / 1000)  # type: ignore[misc]
        optimal_mean.scores.cache_clear()
        started = time.process_time()
        optimal_mean.scores(channel)
        scores_ms = (time.process_time() - started) * 1000
        rows.append([text, f"{channel.inputs:,}", str(channel.symbols), f"{making_s * 1000:.2f}"])
        rows[-1] += [f"{rates[-1]:,.0f}", f"{scores_ms:.0f}"]
    heading = ("epsilon", "inputs", "symbols", "definition ms", "thousand/s", "decoder ms")
    return (
        f"Processor time; the least of {ROUNDS}, of the decoder the first:\n\n"
        + table(heading, rows)
        + "\nThousand reports/s, the slowest: "
        + verdict(min(rates) >= 200, f"{min(rates):,.0f} k/s", "≥ 200 k/s")
    )


def ratios(rows: Sequence[Measured]) -> str:
    """Return how far worst variances are above the optimum of the linear programme."""
    worst = max(row.ratio for row in rows)
    return (
        f"Worst variance over the least of all unbiased channels, at {len(rows)} epsilons from {rows[0].epsilon:.2f} "
        f"to {rows[-1].epsilon:.2f},\nof 200 from 0.05 to 8 in equal ratios "
        "([what the programme bounds](../docs/research/optimal-mean.md)):\n\n"
        + "\n".join(summary(rows))
        + "\n\nWorst ratio: "
        + verdict(worst <= 1.01, f"{worst:.4f}", "≤ 1.01")
    )


def _report(channel: OptimalMean) -> None:
    coins, values = SystemCoins(), np.linspace(0, channel.inputs - 1, ANSWERS).astype(int).tolist()
    for _ in range(REPORTS // ANSWERS):
        for value in values:
            channel.perturb(value, coins)


def _least_s(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)
