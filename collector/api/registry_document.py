"""The registry as the collector shows it to everybody.

It has exact integers, and all that is needed to derive each edition.
"""

from __future__ import annotations

import json

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from client_sdk.protocol.registry.registry import Registry


def registry_document(registry: Registry) -> bytes:
    """Return the JSON document of every metric, in the file's order."""
    metrics = [
        {
            "metric": metric.name,
            "edition": metric.edition,
            "symbols": metric.channel.symbols,
            "kind": metric.kind,
            "domain": metric.domain.definition,
            "window": metric.window.value,
            "mechanism": metric.channel.name,
            "integers": {name: _texts(integer) for name, integer in metric.channel.integers.items()},
            "epsilon": as_float(metric.epsilon_nanos),
            "delta": float_ceiling(metric.delta),
            "purpose": metric.purpose,
            "expires": metric.expires.isoformat() if metric.expires else None,
            "retention": metric.retention_days,
        }
        for metric in registry.metrics.values()
    ]
    return json.dumps({"metrics": metrics}, separators=(",", ":")).encode()


def _texts(integers: int | tuple[int, ...]) -> str | list[str]:
    """Return integers as strings: every JSON reader reads them exactly."""
    return [str(integer) for integer in integers] if isinstance(integers, tuple) else str(integers)
