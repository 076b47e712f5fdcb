"""The forms of a report: one file each, from a Report to a text, or to bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from estimator.formats.document import ReportDocument
from estimator.formats.frames import to_parquet
from estimator.formats.to_csv import as_csv
from estimator.formats.to_json import as_json
from estimator.render.text.report import as_table
from estimator.results.report import Report

FORMATS: Final[dict[str, Callable[..., str]]] = {"table": as_table, "json": as_json, "csv": as_csv}
"""What ``--format`` may name; every form ends with a line break."""

BINARY_FORMATS: Final[dict[str, Callable[[Report], bytes]]] = {
    "parquet": lambda report: to_parquet(ReportDocument.of(report))
}
"""What it may name, too, where ``--output`` names a file."""
