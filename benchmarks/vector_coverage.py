"""The coverage of intervals for the mean of vectors: each coordinate, and weighted sums of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.results import table, verdict
from client_sdk.protocol import Metric, Window
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.vector import UNIT, Ball, lifted
from estimator.analyses.vectors import Vectors, sampled_tally
from estimator.statistics.arrays import Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import VECTOR, metric_of

SEED = 2
LENGTH = 16
EPSILONS = (1, 4)
DEVICES = (1000, 10**6)
ROTATIONS = 256
"""The number of random rotations. Each device draws one rotation. Real registries have more
rotations than this number, which reduces the error.
"""

ROUNDS = 120
SUMS = 30
LEAST = 0.93


def coverage_of_vectors() -> str:
    """Return a table of the coverage.

    In these populations, much of the error comes from the choice of rotations, or of people.
    """
    generator = np.random.default_rng(SEED)
    weights = np.vstack([np.ones(LENGTH), np.eye(LENGTH)[0] - np.eye(LENGTH)[1], generator.normal(size=(SUMS, LENGTH))])
    rows, all_held = [], []
    for name, (points, shares) in truths().items():
        cells = [name]
        for epsilon in EPSILONS:
            metric = _with_few_rotations(metric_of(VECTOR, length=LENGTH, epsilon=epsilon))
            for devices in DEVICES:
                held = np.array([*_held(metric, points, shares, devices, weights, generator)])
                of_coordinates, of_sums = held[:, :LENGTH].mean(), held[:, LENGTH:].mean()
                all_held += [of_coordinates, of_sums]
                cells.append(f"{of_coordinates:.3f}, {of_sums:.3f}")
        rows.append(cells)
    head = ["population", *(f"ε = {epsilon}, {devices:,}" for epsilon in EPSILONS for devices in DEVICES)]
    lowest = float(min(all_held))
    return (
        "### Coverage of vectors\n\n"
        f"Vectors have {LENGTH} coordinates, and there are {ROTATIONS} rotations. Each cell has two coverages: that\n"
        f"of the intervals of coordinates, and that of the intervals of {len(weights)} weighted sums. The column\n"
        f"head gives epsilon and the number of devices, which are drawn anew for each of {ROUNDS} tallies.\n\n"
        + table(head, rows)
        + f"\nThe lowest coverage: {verdict(lowest >= LEAST, f'{lowest:.3f}', f'≥ {LEAST}')}"
    )


def _with_few_rotations(metric: Metric) -> Metric:
    assert isinstance(metric.channel, RotatedAxes)
    return replace(metric, channel=replace(metric.channel, rotations=ROTATIONS))


def truths() -> dict[str, tuple[Floats, list[float]]]:
    """Return populations by name.

    A population is an array of vectors with norms up to 1, and the share of people with each.
    """
    axes = np.eye(LENGTH)
    both = np.vstack([axes, -axes])
    return {
        "one direction for all": (axes[:1], [1.0]),
        "opposite halves": (np.vstack([axes[:1], -axes[:1]]), [0.5, 0.5]),
        "sparse": (0.8 * axes[:1] - 0.6 * axes[5:6], [1.0]),
        "flat": (np.full((1, LENGTH), LENGTH**-0.5), [1.0]),
        "uniform over axes": (both, [1 / len(both)] * len(both)),
        "nothing but zeros": (np.zeros((1, LENGTH)), [1.0]),
    }


def _held(  # noqa: PLR0917 a population, and what is asked of it
    metric: Metric, points: Floats, shares: list[float], devices: int, weights: Floats, generator: np.random.Generator
) -> Iterator[list[bool]]:
    """Yield, for each tally, whether each interval contains the true value.

    The intervals of the coordinates come first, then the intervals of weighted sums.
    """
    vectors = [lifted([round(0.999999 * UNIT * size) for size in point], metric.channel.inputs) for point in points]
    encoded = np.array(vectors, float)
    truth = shares @ encoded[:, :LENGTH] / UNIT
    for number in range(ROUNDS):
        window = Window.parse(f"2026-{1 + number % 12:02}-{1 + number // 12:02}")
        channel = metric.channel.in_window(window.text)
        assert isinstance(channel, RotatedAxes)
        counts = sampled_tally(channel, encoded, generator.multinomial(devices, shares), generator)
        tally = Tally(metric.name, metric.edition, window, closed=True, reports=devices, counts=counts.tolist())
        mean = Vectors[Ball](metric).mean(tally)
        coordinates, sums = mean.shares(), [mean.linear(row) for row in weights]
        yield [
            *((coordinates.lows <= truth) & (truth <= coordinates.highs)).tolist(),
            *(each.low <= row @ truth <= each.high for each, row in zip(sums, weights, strict=True)),
        ]
