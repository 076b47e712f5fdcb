"""Registries for tests: a sound one as a nested dict, changed key by key, written as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from client_sdk.spec import Metric, Registry

Field = str | int | float | list[str]


class Toml(str):
    """A value that is written into the file as it stands."""

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

HEAD: Final = (
    'schema = 1\n[app]\nname = "acme"\nowner = "owner@example.com"\n[budget]\nper_window = 20\nlifetime = 400\n'
)


def registry_text(**metrics: Mapping[str, Field]) -> str:
    """Return a registry of some metrics as TOML."""
    return HEAD + "".join(_table(name, fields) for name, fields in metrics.items())


def metric_of(fields: dict[str, Field], **changes: Field) -> Metric:
    """Return the metric of a definition, with some keys changed."""
    return Registry.parse(registry_text(m=fields | changes)).metric("m")


def _table(name: str, fields: Mapping[str, Field]) -> str:
    lines = [f"{key} = {value if isinstance(value, Toml) else json.dumps(value)}" for key, value in fields.items()]
    return "\n".join([f"[metric.{name}]", *lines, ""])
