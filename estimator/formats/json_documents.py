"""Documents as JSON (RFC 8259), and a strict reader of reports in JSON.

The JSON never contains NaN or Infinity. Missing estimates are null.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import IO, Any, Final, NoReturn

import msgspec
from msgspec.structs import replace

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window
from estimator.errors import ReportError
from estimator.results.estimate import Figure, Figures, Record
from estimator.results.metric import MetricEstimate
from estimator.results.report import SCHEMA, EstimateReport
from estimator.results.statistic import STATISTICS

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_encode_compactly: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

FEWEST_VALUES: Final = 2
"""The minimum number of figures in a `FigureGroup` with the statistic ``share``."""


def as_json(document: Record) -> str:
    """Return a document as JSON text, with one line for each field and each member of a list.

    Raises:
        ValueError: if a figure is not finite.

    """
    return json_text(document_of(document))


def document_of(document: Record) -> dict[str, Any]:
    """Convert a document to dicts and lists. The schema number, if there is one, comes first."""
    number = {} if document.schema_number is None else {"schema": document.schema_number}
    return number | builtins_of(document)


def builtins_of(record: Record) -> dict[str, Any]:
    """Convert a record to dicts, lists and other values that JSON can represent."""
    written = replace(record, **dict.fromkeys(record.unwritten)) if record.unwritten else record
    fields: dict[str, Any] = msgspec.to_builtins(written, enc_hook=_plain)
    return {name: value for name, value in fields.items() if name not in record.unwritten}


def _plain(value: Any) -> str | list[Any]:  # noqa: ANN401 any type that msgspec cannot convert
    """Convert a fraction to a string, or `Figures` to a list, for msgspec."""
    return str(value) if isinstance(value, Fraction) else list(value)


def as_compact_json(document: Record) -> str:
    """Return a document as one line of ASCII JSON without spaces, to embed in an HTML page.

    Raises:
        ValueError: if a figure is not finite.
    """
    return _encode_compactly(document_of(document))


def as_line(record: Record) -> str:
    """Return a record as one line of JSON, which ends with a line break."""
    return _encode(builtins_of(record)) + "\n"


def json_text(document: dict[str, Any]) -> str:
    """Return a document as JSON, with one line for each field and each member of a list.

    Each member of a list stays on one line. Breaking members into lines would take three times as
    long.
    """
    fields = (f"  {_encode(name)}: {_lines(value)}" for name, value in document.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(value: object) -> str:
    if not isinstance(value, list | tuple) or not value:
        return _encode(value)
    return "[\n" + ",\n".join(f"    {_encode(member)}" for member in value) + "\n  ]"


def read_report(source: str | PathLike[str] | IO[str] | IO[bytes]) -> EstimateReport:
    """Read the JSON of a report.

    Args:
        source: a path, or an open file.

    Raises:
        ReportError: if the source cannot be read, is not a report, or has an unknown schema number.

    """
    name = str(source) if isinstance(source, str | PathLike) else "the report"
    try:
        content = source.read() if hasattr(source, "read") else Path(source).read_bytes()
    except OSError as error:
        raise ReportError(f"{name} cannot be read: {error.strerror}; give the path of a readable report") from error
    try:
        return decode(json.loads(content, parse_float=_finite, parse_constant=_refused))
    except (ValueError, RecursionError):
        raise ReportError(f"{name} is not JSON; write it with report --format json") from None
    except ReportError as error:
        raise ReportError(f"{name} cannot be used: {error}") from None


def decode(document: object) -> EstimateReport:
    """Return the report in a parsed JSON document.

    Raises:
        ReportError: if the document is not a report. The message locates the first mistake.
    """
    if not isinstance(document, dict) or "schema" not in document:
        raise ReportError("it is not a report, or it predates schema numbers; write it with report --format json")
    if "seed" in document:
        raise ReportError("it is a rehearsal; use the JSON that the command report writes")
    schema = document.pop("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise ReportError(f"its schema is not {SCHEMA}; use the version of Hearsay that wrote it")
    try:
        report = msgspec.convert(document, EstimateReport, dec_hook=_figures)
    except msgspec.ValidationError as error:
        raise ReportError(_explained(str(error))) from None
    for position, estimated in enumerate(report.metrics):
        _check(estimated, f"metrics[{position}]")
    if any(not pooled.windows for pooled in report.pooled):
        raise ReportError("pooled: lacks the windows of a question")
    return report


def _check(estimated: MetricEstimate, place: str) -> None:
    """Refuse an estimate of one window if its fields are invalid or contradict each other."""
    try:
        Window.parse(estimated.window)
    except WindowError as error:
        raise ReportError(f"{place}.window: is not a window: {error}") from None
    if estimated.counts and sum(estimated.counts) != estimated.reports:
        raise ReportError(f"{place}.counts: must add up to the number of reports")
    for number, group in enumerate(estimated.groups):
        if group.statistic not in STATISTICS:
            raise ReportError(f"{place}.groups[{number}].statistic: is not a statistic of this version")
        is_estimated = not estimated.reports or all(figure.estimate is not None for figure in group.figures)
        if group.statistic == "share" and (len(group.figures) < FEWEST_VALUES or not is_estimated):
            raise ReportError(
                f"{place}.groups[{number}]: must have two values or more, each with an estimate if there are reports"
            )


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _refused(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


def _figures(_: type, rows: Any) -> Figures:  # noqa: ANN401 any JSON
    return Figures.from_rows(msgspec.convert(rows, list[Figure]))


def _explained(message: str) -> str:
    """Return an error message of msgspec, with the location of the mistake at the beginning.

    msgspec writes the location last: ``Expected `bool`, got `int` - at `$.metrics[0].closed```.
    """
    problem, _, place = message.partition(" - at ")
    place = place.strip("`").removeprefix("$").removeprefix(".")
    return f"{place or 'it'}: {problem[:1].lower()}{problem[1:]}"
