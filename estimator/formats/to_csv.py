"""The report for spreadsheets, as RFC 4180 but with LF line ends; see `estimator.results.row`.

A spreadsheet takes a cell for a formula if it begins with =, +, - or @. Values of the registry and
texts that the analyst named are written exactly, as programs that read the rows must find them. A
text that was found is another matter: devices chose it. It gets an apostrophe in front where a
spreadsheet might run it (OWASP, "CSV Injection"), and where it begins with an apostrophe itself, so
that without the first one each text is what it was.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

from client_sdk.protocol.kinds.kind import word
from estimator.results.report import EstimateReport
from estimator.results.row import COLUMNS, FOUND_TEXT, rows_of

STATISTIC, VALUE = COLUMNS.index("statistic"), COLUMNS.index("value")

GUARD: Final = "'"
"""In front of a cell it makes a spreadsheet take the rest for a text."""

GUARDED: Final = (GUARD, *"=+-@\t\r\n", *"＝＋－＠")  # noqa: RUF001 spreadsheets take wide signs for the others
"""What begins a formula, or an apostrophe of the text's own."""


def as_csv(report: EstimateReport) -> str:
    """Return the report as CSV. Missing cells are empty; truth values are ``true``, ``false``."""
    return csv_text([COLUMNS, *rows_of(report)])


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV, each with the columns of a report and perhaps more."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_cells, rows))
    return text.getvalue()


def _cells(row: Sequence[object]) -> list[object]:
    cells = [word(cell) if isinstance(cell, bool) else cell for cell in row]
    if cells[STATISTIC] == FOUND_TEXT and str(cells[VALUE]).startswith(GUARDED):
        cells[VALUE] = f"{GUARD}{cells[VALUE]}"
    return cells
