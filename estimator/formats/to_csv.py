"""The report for spreadsheets: the rows of `estimator.formats.rows`; RFC 4180 but for line ends.

Texts stand exactly as the registry has them, also where a spreadsheet would take one for a formula (one that begins
with =, +, - or @): the registry is the analyst's own file, and a program that reads the rows must find its values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from estimator.formats.document import ReportDocument, rows_of
from estimator.formats.row import COLUMNS
from estimator.results.report import Report
from estimator.text import word


def as_csv(report: Report) -> str:
    """Return the report as CSV; a field without an estimate is empty, a truth value is ``true`` or ``false``."""
    return csv_text([COLUMNS, *rows_of(ReportDocument.of(report))])


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    cells = ([word(cell) if isinstance(cell, bool) else cell for cell in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()
