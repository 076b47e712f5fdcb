"""The time, memory and accuracy of channels: `python -m benchmarks.channels`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean, median

import numpy as np

from benchmarks.peers.means_of_theory import least
from benchmarks.peers.ours import chosen, kind_of, report_rate
from benchmarks.results import spread, table, verdict
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for
from estimator.likelihood.histogram import Histogram, shares_of
from tests.exact import test_design_variance as designs
from tests.exact import test_means as means
from tests.support.devices.definitions import CATEGORY, registry_text
from tests.support.estimates.inverses import requested
from tests.unit.estimator.analyses import test_distribution as waves

ROUNDS = 5
LIMITS_S = {1024: 0.010, 10**5: 0.5, 10**6: 5.0}
"""The goal: the maximum seconds for all estimates of a metric, by its number of values."""

MOST_BYTES = 2**30


def measure_channels() -> str:
    parts = (prepared(), client(), estimated(), rehearsed(), variances(), mean_variances(), distances())
    return (
        "## Accuracy and speed of the channels\n\nAll figures are for the mechanisms (*channels*) that `auto` "
        "chooses.\n\n" + "\n".join(parts)
    )


def prepared() -> str:
    """Measure the time to read a definition, and the time of the first report after it."""
    makings_ms, firsts_ms = [], []
    sizes = [size for size in designs.SIZES if size <= 1024]
    for size, epsilon in product(sizes, designs.EPSILONS):
        times_ms = [_prepare_ms(size, float(epsilon)) for _ in range(ROUNDS)]
        making_ms, first_ms = (median(column) for column in zip(*times_ms, strict=True))
        makings_ms.append(making_ms)
        firsts_ms.append(first_ms)
    rows = [["a definition", spread(makings_ms, 2)], ["its first report", spread(firsts_ms, 2)]]
    return (
        f"The time (median of {ROUNDS} measurements) to prepare each of {len(makings_ms)} definitions with 2 to 1024\n"
        "values at epsilon .1 to 5:\n\n"
        + table(("what", "ms, median (range) over definitions"), rows)
        + "\nThe slowest definition: "
        + verdict(max(makings_ms) <= 20, f"{max(makings_ms):.1f} ms", "≤ 20 ms")
    )


def _prepare_ms(size: int, epsilon: float) -> tuple[float, float]:
    coins = SystemCoins()
    started = time.perf_counter()
    channel = chosen(size, epsilon)
    prepared = time.perf_counter()
    channel.perturb(0, coins)
    return (prepared - started) * 1000, (time.perf_counter() - prepared) * 1000


def client() -> str:
    asked = {"1024 values": kind_of(1024), "a mean of numbers from 0 to 80": Number(Fraction(0), Fraction(80), "mean")}
    said = []
    for name, kind in asked.items():
        channel = channel_for(kind, requested(1))
        rates = [report_rate(kind, channel, 0.5) / 1000 for _ in range(ROUNDS)]
        said.append(
            f"Reports of {name}, epsilon 1 ({channel.name}), from answer to symbol, thousand/s, {spread(rates)}: "
            + verdict(median(rates) >= 200, f"{median(rates):,.0f} k/s", "≥ 200 k/s")
        )
    return "\n".join(said)


def estimated() -> str:
    rows, verdicts = [], []
    for values, limit_s in LIMITS_S.items():
        runs = [json.loads(_run("-m", "benchmarks.large", str(values))) for _ in range(ROUNDS)]
        columns = {key: [run[key] for run in runs] for key in ("definition_s", "first_s", "again_s", "peak_bytes")}
        peak = max(columns["peak_bytes"])
        rows.append([f"{values:,}", runs[0]["mechanism"], f"{runs[0]['symbols']:,}"])
        rows[-1] += [spread(columns[key], 4) for key in ("definition_s", "first_s", "again_s")] + [f"{peak >> 20} MiB"]
        for name, key in (("the first tally of a process", "first_s"), ("the next tally", "again_s")):
            figure = median(columns[key])
            verdicts.append(
                f"\n{values:,} values, {name}: " + verdict(figure <= limit_s, f"{figure:.4f} s", f"≤ {limit_s:g} s")
            )
    verdicts.append(
        f"\nPeak memory of the process at {values:,} values: "
        + verdict(peak <= MOST_BYTES, f"{peak / 2**30:.2f} GiB", "≤ 1 GiB")
    )
    heading = ("values", "channel", "symbols", "definition, s", "first tally, s", "next tally, s", "peak")
    return (
        "The time from a tally of 10^8 reports at epsilon 1 to all shares with errors and intervals, in fresh\n"
        "processes. For the first tally, it includes preparing the inverse and loading libraries:\n\n"
        + table(heading, rows)
        + "".join(verdicts)
    )


def rehearsed() -> str:
    """Measure the time of a rehearsal of a billion devices, as a user runs it."""
    times_s = []
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder:
        registry = Path(folder) / "metrics.toml"
        metric = CATEGORY | {"values": [f"v{index}" for index in range(1024)]}
        registry.write_text(registry_text(m=metric), encoding="utf-8")
        for _ in range(ROUNDS):
            started = time.perf_counter()
            _run("-m", "estimator", "rehearse", "--registry", str(registry), "--population", str(10**9), "--seed", "1")
            times_s.append(time.perf_counter() - started)
    return (
        f"A rehearsal of 10^9 devices with 1024 values takes {spread(times_s, 2)} seconds, with start-up. The median: "
        + verdict(median(times_s) <= 3, f"{median(times_s):.2f} s", "≤ 3 s")
    )


def variances() -> str:
    """Return a table of exact variances of a share, divided by the minimum in theory."""
    rows: list[list[str]] = []
    everything: list[float] = []
    for epsilon in designs.EPSILONS:
        ratios = {
            size: designs.variance(chosen(size, float(epsilon))) / designs.bound(size, epsilon)
            for size in designs.SIZES
        }
        worst = max(ratios, key=ratios.__getitem__)
        everything += ratios.values()
        rows.append([epsilon, f"{fmean(ratios.values()):.4f}", f"{ratios[worst]:.4f}", str(worst)])
    return (
        "The exact variance of a share, divided by that of subset selection, for 2 to 64 values and ten larger "
        "numbers of values up to 5000:\n\n"
        + table(("epsilon", "mean", "worst", "number of values of the worst"), rows)
        + f"\nMean **{fmean(everything):.4f}**; worst: "
        + verdict(max(everything) <= designs.PROMISED, f"{max(everything):.4f}", f"≤ {designs.PROMISED}")
    )


def mean_variances() -> str:
    """Return a table of the worst variances of a mean, divided by the minimum in theory."""
    rows, ratios = [], []
    for epsilon in means.EPSILONS:
        channel = channel_for(means.MEAN, requested(str(epsilon)))
        ratios.append(means.worst_variance(means.decoder(channel).squares) / least(epsilon))
        rows.append([f"{epsilon:g}", channel.name, f"{ratios[-1]:.4f}"])
    return (
        "The exact variance of a mean for the worst answer, divided by the smallest such variance of the\n"
        "mechanisms one-bit (Duchi's), piecewise and hybrid:\n\n"
        + table(("epsilon", "mechanism", "ratio"), rows)
        + "\nWorst: "
        + verdict(max(ratios) <= 1.01, f"{max(ratios):.4f}", "≤ 1.01")
    )


UNIT = Number(Fraction(0), Fraction(1), "distribution")


def distances() -> str:
    """Measure the distance of estimated and true distributions, and the time of an estimate."""
    rows, verdicts, times_s = [], [], []
    for epsilon, limit in waves.PROMISED.items():
        channel = waves.wave(epsilon)
        histogram = Histogram.from_channel(channel, UNIT)
        tallies = np.random.default_rng(21).multinomial(waves.REPORTS, waves.law_of_beta(channel), size=20)
        errors = []
        for counts in tallies:
            started = time.perf_counter()
            shares = shares_of(histogram, counts / waves.REPORTS, smooth=True)
            times_s.append(time.perf_counter() - started)
            errors.append(waves.distance(shares))
        rows.append([epsilon, f"{fmean(errors):.5f}", spread(errors, 5), spread(times_s[-20:], 3)])
        verdicts.append(
            f"\nEpsilon {epsilon}: " + verdict(fmean(errors) <= limit, f"{fmean(errors):.4f}", f"≤ {limit}")
        )
    return (
        "The Wasserstein-1 distance between the true distribution, Beta(2, 5), and the smoothed histogram of a square\n"
        f"wave, for 20 tallies of {waves.REPORTS:,} reports:\n\n"
        + table(("epsilon", "mean", "median (range)", "seconds"), rows)
        + "".join(verdicts)
        + "\nThe slowest: "
        + verdict(max(times_s) <= 0.2, f"{max(times_s):.2f} s", "≤ 0.2 s")
    )


def _run(*arguments: str) -> str:
    root = Path(__file__).parents[1]
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True, cwd=root).stdout


if __name__ == "__main__":
    sys.stdout.write(measure_channels())
