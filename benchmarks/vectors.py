"""Means of vectors: the error in comparison with other mechanisms, the intervals, and the time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.results import table, verdict
from benchmarks.vector_coverage import coverage_of_vectors
from benchmarks.vector_mechanisms import hemisphere, least_error, priv_unit_g, sqkr
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol import Metric, Registry, Report, Upload, Window
from client_sdk.protocol.mechanisms.rotated_axes import AXES, RotatedAxes
from client_sdk.protocol.vector import UNIT, Ball
from client_sdk.protocol.wire.reading import read_upload
from collector.judge import judge
from estimator.analyses.vectors import Vectors, sampled_tally
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import VECTOR, registry_text

SEED = 1
EPSILONS = (0.5, 1, 2, 4, 8)
LENGTHS = (16, 128, 1000)
DEVICES = 50
"""The number of reports in a tally. Each tally is for another window with its own rotations."""

TALLIES = {16: 600, 128: 200, 1000: 40}
BY_WIRE = 10
"""The number of tallies that are counted from uploads of simulated devices, as by a collector."""

OTHERS, OTHERS_OF_SQKR = 2000, 100
"""The numbers of reports for other mechanisms. Estimates are averaged report by report."""

LIMITS = ((512, 4096, 1.02), (128, 256, 1.05))
"""For ranges of dimensions, the maximum ratio of this project's error to PrivUnitG's error."""

FARTHEST = 4
"""The largest of 30 normal numbers exceeds this number of standard errors in one of 500 runs.
"""

DAY = "2026-11-23"
GRACE_S = 86_400
DEVICE_LIMITS_MS = {128: 1.0, 1024: 8.0}
DECODE_LIMITS_S = {20: 0.2, 22: 1.0}
REPEATS = 20
ID = "0" * 32


class _Ratio(NamedTuple):
    """The ratio of this project's error to PrivUnitG's error, for one dimension of vectors.

    Attributes:
        computed: the ratio according to formulas.
        deviation: the largest distance of a measured ratio from ``computed``, in standard errors.

    """

    dimension: int
    computed: float
    deviation: float


def measure_vectors() -> str:
    generator = np.random.default_rng(SEED)
    rows, ratios = [], []
    for length, epsilon in product(LENGTHS, EPSILONS):
        cells, ratio = _row(length, float(epsilon), generator)
        rows.append(cells)
        ratios.append(ratio)
    head = ("length", "epsilon", "D", "computed", "by tallies", "by uploads", "PrivUnitG", "hemisphere", "SQKR")
    return (
        "## The mean of vectors\n\n"
        "Each ratio is the squared error times the number of reports, divided by that of PrivUnitG according to\n"
        "its formula, with a standard error. Vectors have random directions. *By tallies* is the error of the mean\n"
        f"vector of {DEVICES} devices, for tallies that are drawn from the mechanism's distribution. *By uploads*\n"
        "is the same error for uploads that devices encode, and that are then read, judged and counted. The other\n"
        "mechanisms are implemented from their papers; SQKR has its best number of bits.\n\n"
        + table(head, rows)
        + "\n"
        + _limits(ratios)
        + "\n"
        + coverage_of_vectors()
        + "\n### What vectors cost\n\n"
        + _costs(generator)
    )


def _limits(ratios: list[_Ratio]) -> str:
    """Return two verdicts as text.

    The first is whether the computed ratios are within the limits. The second is whether the
    measured ratios agree with the computed ratios.
    """
    lines = []
    for least, most, limit in LIMITS:
        highest = max(ratio.computed for ratio in ratios if least <= ratio.dimension <= most)
        is_within = verdict(highest <= limit, f"{highest:.3f}", f"≤ {limit}")
        lines.append(f"The highest computed ratio for D from {least} to {most:,}: {is_within}")
    farthest = max(abs(ratio.deviation) for ratio in ratios)
    near = verdict(farthest <= FARTHEST, f"{farthest:.1f} standard errors", f"≤ {FARTHEST}")
    lines.append(f"The largest distance between a measured and a computed ratio: {near}")
    return "\n".join(lines)


def _row(length: int, epsilon: float, generator: np.random.Generator) -> tuple[list[str], _Ratio]:
    registry = Registry.parse(registry_text(embedding=VECTOR | {"length": length, "epsilon": epsilon}))
    metric, optimum = registry.metric("embedding"), least_error(epsilon) * length
    assert isinstance(metric.channel, RotatedAxes)
    drawn = np.array([_error(metric, at, generator) for at in range(TALLIES[length])]) / optimum
    by_wire = np.array([_error(metric, at, generator, registry) for at in range(BY_WIRE)]) / optimum
    directions = _directions(OTHERS, length, generator)
    bits = sorted({max(1, round(epsilon) + more) for more in (-1, 0, 1)})
    of_sqkr = [
        _squares(directions[:OTHERS_OF_SQKR], sqkr(directions[:OTHERS_OF_SQKR], epsilon, each, generator))
        for each in bits
    ]
    others = [
        _squares(directions, priv_unit_g(directions, epsilon, generator)),
        _squares(directions, hemisphere(directions, epsilon, generator)),
        min(of_sqkr, key=lambda squares: float(squares.mean())),
    ]
    computed = Vectors[Ball](metric).noise ** 2 / least_error(epsilon)
    cells = [
        str(length),
        f"{epsilon:g}",
        f"{metric.channel.dimension:,}",
        f"{computed:.3f}",
        *(_mean(values) for values in (drawn, by_wire)),
        *(_mean(squares / optimum) for squares in others),
    ]
    deviation = max(abs(values.mean() - computed) / _error_of(values) for values in (drawn, by_wire))
    return cells, _Ratio(metric.channel.dimension, computed, float(deviation))


def _mean(values: Floats) -> str:
    return f"{values.mean():.3f} ± {_error_of(values):.3f}"


def _error_of(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def _squares(directions: Floats, estimates: Floats) -> Floats:
    squares: Floats = ((estimates - directions) ** 2).sum(axis=1)
    return squares


def _directions(devices: int, length: int, generator: np.random.Generator) -> Floats:
    normal = generator.normal(size=(devices, length))
    directions: Floats = 0.999999 * normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return directions


def _error(metric: Metric, number: int, generator: np.random.Generator, judged_by: Registry | None = None) -> float:
    """Return n times the squared error of the mean that is estimated from one tally of n reports.

    The tally is drawn from its distribution or, if ``judged_by`` is given, counted from uploads.
    """
    window = f"2026-{1 + number % 12:02}-{1 + number // 12 % 28:02}"
    channel = metric.channel.in_window(window)
    assert isinstance(channel, RotatedAxes)
    vectors = _directions(DEVICES, metric.kind.definition["length"], generator)  # type: ignore[arg-type] # an integer
    encoded = np.array([metric.kind.encode(vector, channel.inputs, SystemCoins()) for vector in vectors], float)
    if judged_by is None:
        counts = sampled_tally(channel, encoded, np.ones(len(vectors), np.int64), generator)
    else:
        counts = _judged(metric, window, vectors, judged_by)
    estimated = Vectors[Ball](metric).mean(_tally(metric, window, counts))
    truth = encoded[:, : vectors.shape[1]].mean(axis=0) / UNIT
    return len(vectors) * float(((estimated.coordinates - truth) ** 2).sum())


def _judged(metric: Metric, window: str, vectors: Floats, registry: Registry) -> Counts:
    """Return a tally that a collector counts from uploads of devices with these vectors."""
    now_s, counts = Window.parse(window).starts_at, np.zeros(metric.channel.symbols, np.int64)
    for vector in vectors.tolist():
        upload = read_upload(_reported(metric, vector, window))
        judgement = judge(upload, registry, now_s=now_s, grace_s=GRACE_S)
        for added in judgement.additions.values():
            for symbol in added.values():
                counts[symbol] += 1
    return counts


def _tally(metric: Metric, window: str, counts: Counts) -> Tally:
    symbols = np.flatnonzero(counts)
    reports, counted = int(counts.sum()), counts[symbols].tolist()
    return Tally(
        metric.name, metric.edition, Window.parse(window), closed=True, reports=reports, counts=counted,
        symbols=symbols.tolist(),
    )  # fmt: skip


def _costs(generator: np.random.Generator) -> str:
    lines = []
    for length, dimension in ((100, 128), (1000, 1024)):
        metric = _metric(length)
        vector = _directions(1, length, generator)[0].tolist()
        spent = min(_ms(lambda m=metric, v=vector: _reported(m, v, DAY)) for _ in range(REPEATS))  # type: ignore[misc]
        limit = DEVICE_LIMITS_MS[dimension]
        line = verdict(spent <= limit, f"{spent:.2f} ms", f"≤ {limit:g} ms").rstrip()
        lines.append(
            f"Time from a vector to the bytes of an upload for D = {dimension:,} (fastest of {REPEATS} runs): {line}"
        )
    for bits, length in product(DECODE_LIMITS_S, (100, 1000)):
        spent_s = _decode_s(_metric(length), bits, generator)
        line = verdict(spent_s <= DECODE_LIMITS_S[bits], f"{spent_s:.3f} s", f"≤ {DECODE_LIMITS_S[bits]:g} s").rstrip()
        lines.append(f"Time to estimate a tally of 2^{bits} symbols, for length {length:,} (fastest of 5 runs): {line}")
    return "\n".join(f"* {line}" for line in lines) + "\n"


def _metric(length: int) -> Metric:
    return Registry.parse(registry_text(embedding=VECTOR | {"length": length, "epsilon": 4})).metric("embedding")


def _decode_s(metric: Metric, bits: int, generator: np.random.Generator) -> float:
    assert isinstance(metric.channel, RotatedAxes)
    wide = replace(metric.channel, rotations=metric.channel.rotations * (2 ** (bits - 1) // AXES))
    metric, counts = replace(metric, channel=wide), generator.integers(0, 3, wide.symbols)
    tally = Tally(
        metric.name, metric.edition, Window.parse(DAY), closed=True, reports=int(counts.sum()), counts=counts.tolist()
    )
    return min(_ms(lambda: Vectors[Ball](metric).mean(tally).shares()) for _ in range(5)) / 1000


def _reported(metric: Metric, vector: list[float], window: str) -> bytes:
    symbol = metric.perturb(vector, SystemCoins(), window)
    return Upload(ID, (Report(metric.name, metric.edition, window, symbol),)).encode()


def _ms(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return 1000 * (time.process_time() - begun)
