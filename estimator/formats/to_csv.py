"""The report for spreadsheets, as RFC 4180 but with LF line ends; see `estimator.results.row`.

Texts are written exactly as in the registry, even if a spreadsheet would take one for a formula (it
begins with =, +, - or @). The registry is the analyst's own file, and programs that read the rows
must find its values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from client_sdk.protocol.domain.label import word
from estimator.results.report import EstimateReport
from estimator.results.row import COLUMNS, rows_of


def as_csv(report: EstimateReport) -> str:
    """Return the report as CSV. Missing cells are empty; truth values are ``true``, ``false``."""
    return csv_text([COLUMNS, *rows_of(report)])


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    cells = ([word(cell) if isinstance(cell, bool) else cell for cell in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()
