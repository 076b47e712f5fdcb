"""The registry as the collector shows it to everybody.

It has exact integers, all that is needed to derive each edition, and the stopped questions, which
relays read here.
"""

from __future__ import annotations

import json

from client_sdk.protocol.epsilon import as_float, float_ceiling
from client_sdk.protocol.metric import definition
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.wire.verdict import stopped_entry


def registry_document(registry: Registry) -> bytes:
    """Return the JSON document of every metric and stop: former ones first, in the files' order."""
    metrics = [
        {
            "metric": metric.name,
            "edition": metric.edition,
            "is_former": registry.metrics.get(metric.name) is not metric,
            "editions": metric.editions,
            "symbols": metric.channel.symbols,
            "kind": metric.kind.name,
            "domain": definition(metric),
            "window": metric.window.value,
            "mechanism": metric.channel.name,
            "integers": {name: _texts(integer) for name, integer in metric.channel.integers.items()},
            "epsilon": as_float(metric.epsilon_nanos),
            "delta": float_ceiling(metric.delta),
            "purpose": metric.purpose,
            "expires": metric.expires.isoformat() if metric.expires else None,
            "retention": metric.retention_days,
        }
        for metric in registry.counted
    ]
    document = {"metrics": metrics, "stopped": [stopped_entry(stop) for stop in registry.stopped]}
    return json.dumps(document, separators=(",", ":")).encode()


def _texts(integers: int | tuple[int, ...]) -> str | list[str]:
    """Return integers as strings: every JSON reader reads them exactly."""
    return [str(integer) for integer in integers] if isinstance(integers, tuple) else str(integers)
