"""The mean of vectors: its error beside other mechanisms, and what it costs a device and a report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import product
from statistics import NormalDist

import numpy as np

from benchmarks.results import table, verdict
from client_sdk.answers.coins import SystemCoins
from client_sdk.protocol import Metric, Report, Upload, Window
from client_sdk.protocol.domain.vector import UNIT
from client_sdk.protocol.mechanisms.rotated.axes import RotatedAxes
from estimator.estimates.vectors import VectorMean, noise_of
from estimator.rehearsal.vector_sampler import sampled_tally
from estimator.statistics.arrays import Floats
from estimator.tallies.tally import Tally
from tests.support.devices.definitions import VECTOR, metric_of

SEED = 1
EPSILONS = (0.5, 1, 2, 4, 8)
LENGTHS = (16, 128, 1000)
DEVICES, RUNS = 4000, 6
DAY = "2026-11-23"
DEVICE_LIMITS_MS = {128: 1.0, 1024: 8.0}
DECODE_LIMIT_S = 0.2
REPEATS = 20
ID = "0" * 32


def measure_vectors() -> str:
    """Return the section of the results."""
    generator = np.random.default_rng(SEED)
    rows = [
        _row(metric_of(VECTOR, length=length, epsilon=epsilon), length, float(epsilon), generator)
        for length, epsilon in product(LENGTHS, EPSILONS)
    ]
    head = ("length", "epsilon", "D", "computed", "by tallies", "PrivUnitG", "hemisphere")
    return (
        "## The mean of vectors\n\n"
        "Squared error of the mean, times reports, over that of PrivUnitG by its formula. Vectors have random\n"
        f"directions. By tallies: {RUNS} tallies of {DEVICES:,} devices each, with the standard error; the other\n"
        f"mechanisms: the errors of {DEVICES:,} reports. The mechanism's law draws the tallies.\n\n"
        + table(head, rows)
        + "\n"
        + _costs(generator)
    )


def _row(metric: Metric, length: int, epsilon: float, generator: np.random.Generator) -> list[str]:
    optimum = _optimum(epsilon)
    assert isinstance(metric.channel, RotatedAxes)
    directions = _directions(generator, length)
    ratios = [_error(metric, directions, generator) / (optimum * length) for _ in range(RUNS)]
    others = (_priv_unit(epsilon, length, generator), _hemisphere(epsilon, length))
    return [
        str(length),
        f"{epsilon:g}",
        f"{metric.channel.dimension:,}",
        f"{noise_of(metric) ** 2 / optimum:.3f}",
        f"{np.mean(ratios):.3f} ± {np.std(ratios, ddof=1) / math.sqrt(RUNS):.3f}",
        *(f"{other / (optimum * length):.2f}" for other in others),
    ]


def _directions(generator: np.random.Generator, length: int) -> Floats:
    normal = generator.normal(size=(DEVICES, length))
    directions: Floats = 0.999999 * normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return directions


def _error(metric: Metric, vectors: Floats, generator: np.random.Generator) -> float:
    """Return n times the squared error of the mean of a tally."""
    channel = metric.channel_in(DAY)
    assert isinstance(channel, RotatedAxes)
    encoded = np.array([metric.domain.encode(vector, channel.inputs, SystemCoins()) for vector in vectors], float)
    counts = sampled_tally(channel, encoded, np.ones(len(vectors), np.int64), generator)
    estimated = VectorMean.of(metric, _tally(metric, counts.tolist(), len(vectors)))
    truth = encoded[:, : vectors.shape[1]].mean(axis=0) / UNIT
    return len(vectors) * float(((estimated.coordinates - truth) ** 2).sum())


def _tally(metric: Metric, counts: list[int], reports: int) -> Tally:
    return Tally(metric.name, metric.edition, Window.parse(DAY), closed=True, reports=reports, counts=counts)


def _gain_of_cap(epsilon: float, least: float) -> float:
    """Return the length of the mean of a report of PrivUnitG, whose cap begins at a normal quantile."""
    normal, odds = NormalDist(), math.exp(epsilon)
    share = 1 - normal.cdf(least)
    keep = odds * share / (odds * share + 1 - share)
    return normal.pdf(least) * (keep / share - (1 - keep) / (1 - share))


def _optimum(epsilon: float) -> float:
    """Return n times the squared error of PrivUnitG, a coordinate, at its best cap."""
    return min(1 / _gain_of_cap(epsilon, step / 500) ** 2 for step in range(2500))


def _priv_unit(epsilon: float, length: int, generator: np.random.Generator) -> float:
    """Return the mean squared error of reports of PrivUnitG (Asi, Feldman & Talwar 2022) about a direction."""
    normal, odds = NormalDist(), math.exp(epsilon)
    least = max((step / 500 for step in range(2500)), key=lambda at: _gain_of_cap(epsilon, at))
    share = 1 - normal.cdf(least)
    kept = generator.random(DEVICES) < odds * share / (odds * share + 1 - share)
    ranks = np.where(kept, 1 - share * generator.random(DEVICES), (1 - share) * generator.random(DEVICES))
    along = np.array([normal.inv_cdf(min(max(rank, 1e-12), 1 - 1e-12)) for rank in ranks])
    gain = _gain_of_cap(epsilon, least)
    across = generator.normal(size=(DEVICES, length - 1)) / gain
    return float(((along / gain - 1) ** 2).mean() + (across**2).sum(axis=1).mean())


def _hemisphere(epsilon: float, length: int) -> float:
    """Return the squared error of a report of the hemisphere (Duchi, Jordan & Wainwright 2018)."""
    along = math.exp(math.lgamma(length / 2) - math.lgamma((length + 1) / 2)) / math.sqrt(math.pi)
    return 1 / (along * math.tanh(epsilon / 2)) ** 2 - 1


def _costs(generator: np.random.Generator) -> str:
    lines = []
    for length, limit in ((100, 128), (1000, 1024)):
        metric = metric_of(VECTOR, length=length, epsilon=4)
        vector = _directions(generator, length)[0].tolist()
        spent = min(_ms(lambda m=metric, v=vector: _reported(m, v)) for _ in range(REPEATS))  # type: ignore[misc]
        line = verdict(spent <= DEVICE_LIMITS_MS[limit], f"{spent:.2f} ms", f"≤ {DEVICE_LIMITS_MS[limit]:g} ms")
        lines.append(
            f"A device, from a vector to the bytes of an upload, D = {limit:,}, the fastest of {REPEATS}: {line}"
        )
    for length in LENGTHS:
        metric = metric_of(VECTOR, length=length, epsilon=4)
        tally = _tally(metric, generator.integers(0, 3, metric.channel.symbols).tolist(), 1)
        tally = _tally(metric, list(tally.counts), sum(tally.counts))
        VectorMean.of(metric, tally)
        spent_s = min(_ms(lambda m=metric, t=tally: VectorMean.of(m, t)) for _ in range(5)) / 1000  # type: ignore[misc]
        line = verdict(spent_s <= DECODE_LIMIT_S, f"{spent_s:.3f} s", f"≤ {DECODE_LIMIT_S:g} s")
        lines.append(f"A tally of 2^20 symbols, D = {metric.channel.inputs:,}, the fastest of 5: {line}")
    return "\n".join(f"* {line}" for line in lines) + "\n"


def _reported(metric: Metric, vector: list[float]) -> bytes:
    symbol = metric.perturb_in(DAY, vector, SystemCoins())
    return Upload(ID, (Report(metric.name, metric.edition, DAY, symbol),)).encode()


def _ms(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return 1000 * (time.process_time() - begun)
