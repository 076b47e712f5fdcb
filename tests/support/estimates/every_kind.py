"""A registry with every kind of question, and tallies of it: several windows, one without reports,
one still open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import numpy as np

from client_sdk.protocol import Metric, Registry
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.text import Text
from estimator.analyses.texts import sampled_texts
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    CROSSED_MODEL,
    LOG_NUMBER,
    MEAN_BY_GROUP,
    MODEL,
    NEAREST,
    NUMBER,
    ORDINAL,
    SET,
    TEXT,
    THRESHOLDS,
    VECTOR,
    registry_text,
)

REGISTRY_TEXT: Final = registry_text(
    dark_mode=BOOLEAN,
    os=CATEGORY,
    mood=ORDINAL,
    languages=SET,
    topic=NEAREST,
    startup_ms=NUMBER | {"unit": "ms"},
    waiting=THRESHOLDS | {"unit": "s"},
    steps=COUNT | {"max": 40, "unit": "steps"},
    crashes=COUNT,
    used=ACTIVITY,
    pages=COUNT | {"max": 40, "statistic": "quantiles", "epsilon": 4},
    seen=BOOLEAN | {"fill_in": True},
    constant=BOOLEAN | {"permanent_epsilon": 2},
    both=CROSS,
    embedding=VECTOR | {"epsilon": 4},
    unknown_word=TEXT,
    limitation=MODEL,
    limitation_by_feature=CROSSED_MODEL,
    startup_by_os=MEAN_BY_GROUP | {"unit": "ms"},
    document_kb=LOG_NUMBER | {"unit": "KB"},
)
REGISTRY: Final = Registry.parse(REGISTRY_TEXT)

SEED: Final = 1

LIKELY: Final = 1e-3
"""More than the chance of a symbol that does not support a cell."""

WINDOWS: Final = ("2026-11-19", "2026-11-20", "2026-11-21")
"""The last one is still open."""


def tallies(reports: int = 3000) -> bytes:
    """Return the tallies of all questions, each of about ``reports`` reports, and of one that the
    registry does not define.

    For 0 and 1 the number of reports is exact.
    """
    lines = [*(_lines(metric, reports) for metric in REGISTRY.metrics.values())]
    gone = {"metric": "gone", "edition": "0" * 12, "window": WINDOWS[0], "closed": True, "reports": 1, "counts": [0, 1]}
    return (
        b"".join(json.dumps(line).encode() + b"\n" for metric in lines for line in metric) + json.dumps(gone).encode()
    )


def _sparse(metric: Metric, window: str, reports: int) -> dict[str, object]:
    """Return a line of a large alphabet: one report of each of some symbols."""
    return {
        "metric": metric.name,
        "edition": metric.edition,
        "window": window,
        "closed": window != WINDOWS[-1],
        "reports": reports,
        "symbols": [43 * report for report in range(reports)],
        "counts": [1] * reports,
    }


def _lines(metric: Metric, reports: int) -> Iterator[dict[str, object]]:
    symbols = metric.channel.symbols
    for day, window in enumerate(WINDOWS):
        if metric.channel.name == "rotated-axes":
            yield _sparse(metric, window, reports)
            continue
        if metric.kind.name == "text":
            yield _line(metric, window, _of_words(metric, reports, is_forged=day == 1))
            continue
        counts = [reports // symbols + (7 * symbol + day) % 5 for symbol in range(symbols)]
        counts = [reports, *[0] * (symbols - 1)] if reports <= 1 else counts
        counts = [0] * symbols if window == WINDOWS[0] and metric.name in ("os", "steps") else counts
        yield _line(metric, window, counts)


def _line(metric: Metric, window: str, counts: list[int]) -> dict[str, object]:
    return {
        "metric": metric.name,
        "edition": metric.edition,
        "window": window,
        "closed": window != WINDOWS[-1],
        "reports": sum(counts),
        "counts": counts,
    }


def _of_words(metric: Metric, reports: int, *, is_forged: bool) -> list[int]:
    """Return a tally of two words.

    In a forged one, the last group supports only one of the words, so both are unclear.
    """
    domain, channel = metric.kind, metric.channel
    assert isinstance(domain, Text)
    assert isinstance(channel, GroupedGeometry)
    the, zebra, nothing = map(domain.number_of, ("the", "zebra", ""))
    devices: dict[tuple[int, ...], int] = {
        (the,): reports // 3,
        (zebra,): reports // 3,
        (nothing,): reports - 2 * (reports // 3),
    }
    counts = sampled_texts(domain, channel, devices, np.random.default_rng(SEED))
    last, cells = counts[-channel.inputs :], domain.cells_of(zebra, channel.inputs)
    if is_forged and reports > 1:
        assert isinstance(channel.geometry, ProjectiveGeometry)
        supports = (point for point in range(channel.inputs) if channel.geometry.probability(point, cells[-1]) > LIKELY)
        point, total = next(supports), last.sum()
        last[:] = 0
        last[point] = total
    listed: list[int] = counts.tolist()
    return listed
