"""Registries for tests: a valid one as a nested dict, changed by key, written as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import pytest

from client_sdk.protocol import Metric, Registry, RegistryError

Field = str | int | float | list[str]


class Toml(str):
    """A value that is written into the file as given."""

    __slots__ = ()


BOOLEAN: Final[dict[str, Field]] = {"purpose": "Why?", "kind": "boolean", "epsilon": 1}
CATEGORY: Final[dict[str, Field]] = {"purpose": "Why?", "kind": "category", "values": ["a", "b", "c"], "epsilon": 1}
NUMBER: Final[dict[str, Field]] = {
    "purpose": "Why?",
    "kind": "number",
    "low": 0,
    "high": 9,
    "statistic": "mean",
    "epsilon": 0.5,
}
THRESHOLDS: Final[dict[str, Field]] = NUMBER | {
    "statistic": "quantiles",
    "thresholds": Toml("[2, 4.5, 6]"),
    "epsilon": 1,
}

LOG_NUMBER: Final = NUMBER | {"high": 100_000, "scale": "log"}
COUNT: Final[dict[str, Field]] = {
    "purpose": "Why?",
    "kind": "count",
    "max": 9,
    "statistic": "distribution",
    "epsilon": 1,
}
ACTIVITY: Final[dict[str, Field]] = {
    "purpose": "Why?",
    "kind": "activity",
    "days": 7,
    "statistic": "distribution",
    "epsilon": 1,
}
ORDINAL: Final[dict[str, Field]] = CATEGORY | {"kind": "ordinal", "mechanism": "exponential"}
PROTOTYPES: Final = Toml('{ near = "0 0", right = "1 0.5", up = "-1 2" }')
NEAREST: Final[dict[str, Field]] = {"purpose": "Why?", "kind": "nearest", "prototypes": PROTOTYPES, "epsilon": 1}
VECTOR: Final[dict[str, Field]] = {"purpose": "Why?", "kind": "vector", "length": 3, "norm": 1, "epsilon": 1}
TEXT: Final[dict[str, Field]] = {
    "purpose": "Why?",
    "kind": "text",
    "letters": "abcdefghijklmnopqrstuvwxyz'-.,_",
    "max_length": 12,
    "discover": True,
    "cells": 4096,
    "epsilon": 4,
}
FEATURES: Final = Toml(
    '[{ name = "age", low = 18, high = 90 }, { name = "sex", values = ["f", "m"] }, '
    '{ name = "health", values = ["good", "fair", "poor"] }]'
)
MODEL: Final[dict[str, Field]] = {
    "purpose": "Why?",
    "kind": "model",
    "features": FEATURES,
    "label": "boolean",
    "mechanism": "rotated-axes",
    "epsilon": 4,
}
CROSSED_MODEL: Final = MODEL | {"mechanism": "crosses"}
SET: Final[dict[str, Field]] = CATEGORY | {"kind": "set", "max_items": 2}
CROSS: Final[dict[str, Field]] = {"purpose": "Why?", "cross": ["dark_mode", "os"], "epsilon": 1}
"""A cross of two metrics, which the registry must define, too."""

MEAN_BY_GROUP: Final[dict[str, Field]] = {"purpose": "Why?", "cross": ["os", "startup_ms"], "epsilon": 3}
"""A number by group, both of which the registry must define, too."""

GAUSSIAN: Final[dict[str, Field]] = NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-6"), "epsilon": 2}
UTILITY: Final = Toml("[[0, -1, -3], [-2, 0, -1], [-3, -2, 0]]")
USEFUL: Final[dict[str, Field]] = CATEGORY | {"mechanism": "exponential", "utility": UTILITY}

HEAD: Final = """\
schema = 1
[app]
name = "acme"
owner = "owner@example.com"
[budget]
per_window = 20
lifetime = 400
delta = 0.5
accept = "It exists in tests only."
"""


def registry_text(**metrics: Mapping[str, Field]) -> str:
    """Return a registry of metrics as TOML."""
    return HEAD + "".join(_table(name, fields) for name, fields in metrics.items())


def metric_of(fields: dict[str, Field], **changes: Field) -> Metric:
    """Return the metric of a definition, with some keys changed."""
    return _registry(registry_text(m=fields | changes)).metric("m")


def parsed(**metrics: Mapping[str, Field]) -> dict[str, Metric]:
    """Return the metrics of a registry."""
    return dict(_registry(registry_text(**metrics)).metrics)


_registry = lru_cache(maxsize=256)(Registry.parse)


def mistakes(**metrics: Mapping[str, Field]) -> dict[str, str]:
    """Return the mistakes of a registry by place. It must be refused, and each place must be named
    once.
    """
    with pytest.raises(RegistryError) as caught:
        parsed(**metrics)
    assert len(dict(caught.value.mistakes)) == len(caught.value.mistakes)
    return dict(caught.value.mistakes)


def without(fields: Mapping[str, Field], key: str) -> dict[str, Field]:
    """Return a definition without one of its keys."""
    return {other: value for other, value in fields.items() if other != key}


def _table(name: str, fields: Mapping[str, Field]) -> str:
    lines = [
        f"{key} = {value if isinstance(value, Toml) else json.dumps(value, ensure_ascii=False)}"
        for key, value in fields.items()
    ]
    return "\n".join([f"[metric.{name}]", *lines, ""])
