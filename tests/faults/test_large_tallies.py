"""The largest tallies that the limits let in: a report of them takes bounded memory and time.

For each kind there is a question with as large an alphabet as its mechanism has, and windows of
extreme counts. A report of them runs in a process whose memory and processor time the system
limits, so that a report that takes too much fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import pytest

from client_sdk.protocol import Metric, Registry, Window, WindowKind
from client_sdk.protocol.window_steps import later
from estimator.tallies import MOST_REPORTS
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    CROSSED_MODEL,
    GAUSSIAN,
    MEAN_BY_GROUP,
    MODEL,
    NEAREST,
    NUMBER,
    ORDINAL,
    SET,
    TEXT,
    VECTOR,
    Field,
    Toml,
    registry_text,
    without,
)
from tests.support.services.limits import limited

MEMORY_BYTES: Final = 640 * 2**20
"""Of address space: 500 MB of memory, and libraries of which most is never read."""

PROCESSOR_S: Final = 240
"""A deadline for what would never end. Four windows with every option take a fifth of it."""

MOST_VALUES: Final = 4096


def values(number: int) -> list[str]:
    return [f"v{place}" for place in range(number)]


PROTOTYPES: Final = Toml("{" + ", ".join(f'p{place} = "{place} 1"' for place in range(1024)) + "}")

KINDS: Final[dict[str, dict[str, dict[str, Field]]]] = {
    "boolean": {"m": BOOLEAN},
    "category": {"m": CATEGORY | {"values": values(MOST_VALUES)}},
    "category of pairs": {"m": CATEGORY | {"values": values(MOST_VALUES), "epsilon": 6}},
    "category of hyperplanes": {"m": CATEGORY | {"values": values(MOST_VALUES), "epsilon": 4}},
    "ordinal": {"m": ORDINAL | {"values": values(64)}},
    "mean of a scale": {"m": without(ORDINAL, "mechanism") | {"values": values(64), "statistic": "mean"}},
    "nearest": {"m": NEAREST | {"prototypes": PROTOTYPES}},
    "set": {"m": SET | {"values": values(MOST_VALUES - 1), "max_items": 10}},
    "number": {"m": NUMBER | {"statistic": "distribution", "high": 1000}},
    "mean": {"m": NUMBER},
    "mean by Gauss": {"m": GAUSSIAN},
    "laplace": {"m": NUMBER | {"statistic": "distribution", "mechanism": "laplace"}},
    "count": {"m": COUNT | {"max": 10**6}},
    "quantiles": {"m": COUNT | {"max": 10**6, "statistic": "quantiles"}},
    "activity": {"m": ACTIVITY | {"days": 28}},
    "vector": {"m": VECTOR | {"length": 4095, "epsilon": 4}},
    "model": {"m": MODEL},
    "model of crosses": {"m": CROSSED_MODEL},
    "cross": {"dark_mode": CATEGORY | {"values": values(16)}, "os": CATEGORY | {"values": values(16)}, "m": CROSS},
    "mean by group": {"os": CATEGORY | {"values": values(100)}, "startup_ms": NUMBER, "m": MEAN_BY_GROUP},
    "filled in": {"m": CATEGORY | {"values": values(255), "fill_in": True}},
    "permanent": {"m": CATEGORY | {"values": values(255), "permanent_epsilon": 2}},
    "text": {"m": TEXT},
}

MILLIONS: Final[dict[str, Field]] = without(TEXT, "letters") | {
    "preset": "bytes",
    "cells": 2**17,
    "max_length": 32,
    "epsilon": 8,
}
"""Its channel has the most symbols that any question has: seven million."""

OPTIONS: Final = (
    "--with",
    "clusters,poisoning=0.01,simultaneous,pooled,central=1e-9",
)


def windows_of_counts(symbols: int) -> Iterator[Sequence[int]]:
    """Yield counts whose sums are near the most that all tallies may hold."""
    each, seeded = MOST_REPORTS // 4, Random(symbols)  # noqa: S311 hostile tallies are no secret
    yield [each, *[0] * (symbols - 1)]
    yield [each // symbols] * symbols
    yield [1] * symbols
    yield [seeded.randrange(2 * each // symbols) for _ in range(symbols)]


def tally(metric: Metric, window: Window, counts: Sequence[int]) -> str:
    """Return a line with the symbols that were counted, as a collector sends large alphabets."""
    symbols = [symbol for symbol, count in enumerate(counts) if count]
    line = {
        "metric": metric.name,
        "edition": metric.edition,
        "window": window.text,
        "closed": True,
        "reports": sum(counts),
        "counts": [counts[symbol] for symbol in symbols],
        "symbols": symbols,
    }
    return json.dumps(line) + "\n"


def report(folder: Path, tallies: Iterable[str], registry: str, *options: str) -> str:
    """Return what a report prints that keeps to the limits."""
    (folder / "metrics.toml").write_text(registry)
    with (folder / "tallies.ndjson").open("w") as file:
        file.writelines(tallies)
    places = ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies.ndjson"))
    ended = limited(
        *("-m", "estimator", "report", *places, *options), memory_bytes=MEMORY_BYTES, processor_s=PROCESSOR_S
    )
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-1000:])
    return ended.stdout


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_counts_near_the_most_take_bounded_memory_and_time(kind: str, tmp_path: Path) -> None:
    text = registry_text(**KINDS[kind])
    metric = Registry.parse(text).metric("m")
    first, counts = Window.at(WindowKind.DAY, 0), [*windows_of_counts(metric.channel.symbols)]
    lines = [tally(metric, later(first, day), of_window) for day, of_window in enumerate(counts)]
    printed = json.loads(report(tmp_path, lines, text, *OPTIONS, "--with", "covariance", "--format", "json"))
    # estimates cost the same in every form: the page shows two windows, with the largest counts
    report(tmp_path, lines[:2], text, *OPTIONS, "--output", str(tmp_path / "page.html"))
    assert [estimated["reports"] for estimated in printed["metrics"]] == [sum(of_window) for of_window in counts]


@pytest.mark.long
@pytest.mark.parametrize("shape", range(3))
def test_seven_million_symbols_take_bounded_memory_and_time(shape: int, tmp_path: Path) -> None:
    text = registry_text(m=MILLIONS)
    metric = Registry.parse(text).metric("m")
    counts = next(islice(windows_of_counts(metric.channel.symbols), shape, None))
    lines = iter([tally(metric, Window.at(WindowKind.DAY, 0), counts)])
    printed = json.loads(report(tmp_path, lines, text, "--format", "json", "--with", "poisoning=0.01,simultaneous"))
    assert [estimated["reports"] for estimated in printed["metrics"]] == [sum(counts)]
