"""Every document as JSON (RFC 8259). It never holds NaN or Infinity; missing estimates are null."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from estimator.results.record import Record

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def as_json(document: Record) -> str:
    """Return a document as one JSON object, with a line for each field and each member of a list.

    Raises:
        ValueError: if a figure is not finite.

    """
    return json_text(document_of(document))


def document_of(document: Record) -> dict[str, Any]:
    """Return a document as JSON types, beginning with the number of its schema if it has one."""
    number = {} if document.schema_number is None else {"schema": document.schema_number}
    return number | builtins_of(document)


def builtins_of(record: Record) -> dict[str, Any]:
    """Return a record as JSON types."""
    written = replace(record, **dict.fromkeys(record.unwritten)) if record.unwritten else record
    fields: dict[str, Any] = msgspec.to_builtins(written, enc_hook=_plain)
    return {name: value for name, value in fields.items() if name not in record.unwritten}


def _plain(value: Any) -> str | list[Any]:  # noqa: ANN401 what msgspec does not know
    """Return an exact number as a text, and `Figures` as a list."""
    return str(value) if isinstance(value, Fraction) else list(value)


def as_line(record: Record) -> str:
    """Return a record as a line of JSON."""
    return _encode(builtins_of(record)) + "\n"


def json_text(document: dict[str, Any]) -> str:
    """Return JSON types as readable JSON.

    Deeper indentation would take three times as long, because the fast encoder of the standard
    library cannot indent.
    """
    fields = (f"  {_encode(name)}: {_lines(value)}" for name, value in document.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(value: object) -> str:
    if not isinstance(value, list | tuple) or not value:
        return _encode(value)
    return "[\n" + ",\n".join(f"    {_encode(member)}" for member in value) + "\n  ]"
