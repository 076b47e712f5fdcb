"""Tallies for tests of the estimator: lines of NDJSON, and a registry that they belong to."""

from __future__ import annotations

import json

from client_sdk.protocol import Metric, Registry

REGISTRY_TEXT = """\
schema = 1
[app]
name = "acme"
[budget]
per_window = 20
lifetime = 60
accept = "It exists in tests only."
[metric.dark_mode]
purpose = "Is dark mode used?"
kind = "boolean"
epsilon = "ln 3"
[metric.os]
purpose = "Which systems must we test on?"
kind = "category"
values = ["linux", "macos", "=windows", "a system with a very long name"]
epsilon = 1
[metric.startup_ms]
purpose = "Is start-up getting slower?"
kind = "number"
low = 100
high = 5100
statistic = "mean"
mechanism = "one-bit"
epsilon = 0.5
"""

REGISTRY = Registry.parse(REGISTRY_TEXT)


def tally(metric: Metric, counts: list[int], /, **changes: object) -> bytes:
    """Return a metric's tally as the collector writes it, with some fields changed."""
    fields = {"metric": metric.name, "edition": metric.edition, "window": "2026-11-20", "closed": True}
    return json.dumps(fields | {"reports": sum(counts), "counts": counts} | changes).encode() + b"\n"


def line(metric: str, counts: list[int], /, **changes: object) -> bytes:
    """Return a tally of a metric of this registry, with some fields changed."""
    return tally(REGISTRY.metric(metric), counts, **changes)
