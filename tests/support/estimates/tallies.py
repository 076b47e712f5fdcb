"""Tallies for tests of the estimator: lines of NDJSON, and a registry that they belong to."""

from __future__ import annotations

import json

from client_sdk.protocol import Registry

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


def line(metric: str, counts: list[int], /, **changes: object) -> bytes:
    """Return one tally as the collector writes it, with some fields changed."""
    definition = REGISTRY.metric(metric)
    fields = {
        "metric": definition.name,
        "edition": definition.edition,
        "window": "2026-11-20",
        "closed": True,
        "reports": sum(counts),
        "counts": counts,
    }
    return json.dumps(fields | changes).encode() + b"\n"
