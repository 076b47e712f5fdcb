"""Facts that the contract fuzzer needs in addition to the document."""

from __future__ import annotations

import json
from typing import Any

import schemathesis

from collector.api.messages import NDJSON


@schemathesis.serializer(NDJSON)  # type: ignore[untyped-decorator]
def as_lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """Return a batch: one line per item."""
    return "\n".join(map(json.dumps, value if isinstance(value, list) else [value])).encode()


@schemathesis.deserializer(NDJSON)  # type: ignore[untyped-decorator]
def from_lines(_: schemathesis.DeserializationContext, response: schemathesis.Response) -> object:
    """Return the values of the lines."""
    return [json.loads(line) for line in response.content.splitlines()]


@schemathesis.hook  # type: ignore[untyped-decorator]
def filter_body(_: schemathesis.HookContext, body: object) -> bool:
    """Leave out numbers such as 7.0: JSON Schema calls them integers, the wire does not."""
    return not holds_float(body)


def holds_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(holds_float, value.values()))
    if isinstance(value, list):
        return any(map(holds_float, value))
    return isinstance(value, float) and value.is_integer()
