"""The report as JSON (RFC 8259). It never holds NaN or Infinity; missing estimates are null."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from estimator.results.record import Record
from estimator.results.report import SCHEMA, EstimateReport

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def as_json(report: EstimateReport) -> str:
    """Return the report as one JSON object, with a line for each metric and window.

    Raises:
        ValueError: if a figure is not finite.

    """
    return json_text(document_of(report))


def document_of(report: EstimateReport) -> dict[str, Any]:
    """Return the report as JSON types, beginning with the schema number."""
    return {"schema": SCHEMA, **builtins_of(replace(report, highlights=()))}


def builtins_of(record: Record) -> dict[str, Any]:
    """Return a record of a report as JSON types."""
    # a list of figures for `Figures`
    document: dict[str, Any] = msgspec.to_builtins(record, enc_hook=list)
    return document


def as_line(record: Record) -> str:
    """Return a record of a report as a line of JSON."""
    return _encode(builtins_of(record)) + "\n"


def json_text(document: dict[str, Any]) -> str:
    """Return a document as readable JSON: a line for each field, and for each member of a list.

    Deeper indentation would take three times as long, because the fast encoder of the standard
    library cannot indent.
    """
    fields = (f"  {_encode(name)}: {_lines(value)}" for name, value in document.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(value: object) -> str:
    if not isinstance(value, list | tuple) or not value:
        return _encode(value)
    return "[\n" + ",\n".join(f"    {_encode(member)}" for member in value) + "\n  ]"
