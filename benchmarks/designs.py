"""Balanced designs and what auto takes for shares in both schemas.

``python -m benchmarks.designs`` prints it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from statistics import fmean, median
from typing import TypeVar

import numpy as np

from benchmarks.peers.worker import values_of
from benchmarks.results import spread, table, verdict
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms import AUTO, channel_for, difference_family
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.inversions import inverse_of
from tests.exact import test_design_variance as designs

T = TypeVar("T")

ROUNDS = 5
REPORTS = 20_000
NAMED = (
    (12, "1"),
    (24, "1"),
    (60, "0.5"),
    (64, "1"),
    (96, "1"),
    (120, "1"),
    (200, "2"),
    (256, "1"),
    (362, "1"),
    (362, "3"),
    (500, "2"),
    (1000, "1"),
    (1024, "4"),
)
"""Values and epsilons whose balanced designs are shown."""

REACHED = 1.0005


def measure_designs() -> str:
    """Return the section of the results."""
    return f"## Shares at the optimum\n\n{chosen()}\n{named()}"


def chosen() -> str:
    """Return the exact variance over the least of any channel."""
    cells = dict(ratios())
    rows = [[epsilon, *_summary(cells, epsilon)] for epsilon in designs.EPSILONS]
    reached = [ratio for ratio, _ in cells.values()]
    mechanisms = [name for _, name in cells.values()]
    counted = ", ".join(f"{name} {mechanisms.count(name)}" for name in sorted(set(mechanisms)))
    return (
        f"Exact n times the variance of what `auto` takes over that of subset selection, {len(reached)} cells\n"
        "(2 to 64 values, and ten sizes up to 5000):\n\n"
        + table(("epsilon", "mean", "worst"), rows)
        + f"\nIt takes: {counted};\n"
        + f"{sum(ratio <= REACHED for ratio in reached)} cells are at most {REACHED}; worst {max(reached):.4f}; mean "
        + verdict(fmean(reached) <= REACHED, f"{fmean(reached):.4f}", f"≤ {REACHED}")
    )


def _summary(cells: dict[tuple[str, int], tuple[float, str]], epsilon: str) -> list[str]:
    ratios = {inputs: ratio for (of, inputs), (ratio, _) in cells.items() if of == epsilon}
    worst = max(ratios, key=ratios.__getitem__)
    return [f"{fmean(ratios.values()):.4f}", f"{ratios[worst]:.4f} at {worst}"]


def ratios() -> Iterator[tuple[tuple[str, int], tuple[float, str]]]:
    """Yield epsilon and number of values, the ratio and the mechanism's name."""
    for epsilon in designs.EPSILONS:
        for inputs in designs.SIZES:
            channel = channel_for(_category(inputs), designs.requested(epsilon), AUTO)
            yield (epsilon, inputs), (designs.variance(channel) / designs.bound(inputs, epsilon), channel.name)


def named() -> str:
    """Return size, ratio and speed of balanced designs, beside what auto takes."""
    rows, makings_ms, rates = [], [], []
    for inputs, text in NAMED:
        channel, making_ms = _fastest(partial(_made, inputs, RequestedEpsilon.parse(Decimal(text))))
        _, first_ms = _fastest(partial(_first, channel))
        other = channel_for(_category(inputs), RequestedEpsilon.parse(Decimal(text)))
        rate, other_rate = (max(_rate(each) for _ in range(ROUNDS)) / 1000 for each in (channel, other))
        figures = [f"{designs.variance(each) / designs.bound(inputs, text):.5f}" for each in (channel, other)]
        tally_ms, next_ms = _tallied(channel)
        rows.append([str(inputs), text, str(channel.points), str(channel.block_size)])
        rows[-1] += [f"{channel.symbols:,}", figures[0], f"{making_ms:.1f}", f"{first_ms:.2f}", f"{rate:,.0f}"]
        rows[-1] += [f"{tally_ms:.0f}", f"{next_ms:.1f}", f"{other.symbols:,}", figures[1], f"{other_rate:,.0f}"]
        makings_ms.append(making_ms + first_ms)
        rates.append(rate)
    heading = (
        "values,epsilon,points,block,symbols,ratio,definition ms,first report ms,thousand/s,first tally ms,next ms"
    )
    others = "auto: symbols,ratio,thousand/s"
    return (
        '`mechanism = "balanced-design"`, beside `auto`. Times are processor time, the least of five, on\n'
        "cores that other programs use as well. Tallies are of 10^8 reports; the first one waits for the inverse:\n\n"
        + table(f"{heading},{others}".split(","), rows)
        + f"\nDefinition and first report, ms, {spread(makings_ms, 1)}: "
        + verdict(max(makings_ms) <= 20, f"{max(makings_ms):.1f} ms", "≤ 20 ms")
        + f"\nThousand reports/s, {spread(rates)}: "
        + verdict(min(rates) >= 100, f"{min(rates):.0f} k/s", "≥ 100 k/s")
    )


def _tallied(channel: Channel) -> tuple[float, float]:
    """Return the milliseconds of the first tally and of the next ones."""
    counts = np.random.default_rng(1).multinomial(10**8, np.full(channel.symbols, 1 / channel.symbols))
    inverse_of.cache_clear()
    first, *others = (_once(lambda: inverse_of(channel).shares(counts, 10**8))[1] for _ in range(ROUNDS))
    return first, median(others)


def _category(inputs: int) -> Category:
    return Category(tuple(map(str, range(inputs))))


def _forget() -> None:
    difference_family.balanced_starters.cache_clear()
    difference_family.values_by_starter.cache_clear()


def _made(inputs: int, epsilon: RequestedEpsilon) -> BalancedDesign:
    _forget()
    channel = channel_for(_category(inputs), epsilon, "balanced-design")
    assert isinstance(channel, BalancedDesign)
    return channel


def _first(channel: BalancedDesign) -> None:
    _forget()
    replace(channel).perturb(0, SystemCoins())


def _once(work: Callable[[], T]) -> tuple[T, float]:
    started = time.process_time()
    done = work()
    return done, (time.process_time() - started) * 1000


def _fastest(work: Callable[[], T]) -> tuple[T, float]:
    return min((_once(work) for _ in range(ROUNDS)), key=lambda timed: timed[1])


def _rate(channel: Channel) -> float:
    coins, values = SystemCoins(), values_of(channel.inputs)
    rounds = REPORTS // len(values)
    started = time.process_time()
    for _ in range(rounds):
        for value in values:
            channel.perturb(value, coins)
    return rounds * len(values) / (time.process_time() - started)


if __name__ == "__main__":
    sys.stdout.write(measure_designs())
