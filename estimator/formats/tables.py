"""The rows of a report as CSV, data frames and Parquet; see `estimator.results.row`.

CSV is RFC 4180 but with LF line ends.

A spreadsheet takes a cell for a formula if it begins with =, +, - or @. Values of the registry and
texts that the analyst named are written exactly, as programs that read the rows must find them. A
text that was found is another matter: devices chose it. It gets an apostrophe in front where a
spreadsheet might run it (OWASP, "CSV Injection"), and where it begins with an apostrophe itself, so
that without the first one each text is what it was.

pandas, polars and pyarrow are imported on use.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from client_sdk.protocol.kinds.kind import word
from estimator.errors import MissingLibraryError
from estimator.results.report import SCHEMA, EstimateReport
from estimator.results.row import COLUMNS, FOUND_TEXT, TYPES, rows_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

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


IN_PANDAS: Final = {str: "string", bool: "boolean", int: "int64", float: "float64"}
IN_POLARS: Final = {str: "String", bool: "Boolean", int: "Int64", float: "Float64"}
IN_PARQUET: Final = {str: "string", bool: "bool_", int: "int64", float: "float64"}

SCHEMA_KEY: Final = b"hearsay.schema"
"""The key of the schema number in the metadata of a Parquet file."""


def to_pandas(report: EstimateReport) -> pd.DataFrame:
    """Return the rows as a frame. Missing cells are NaN or NA.

    Raises:
        MissingLibraryError: if pandas is not installed.

    """
    pandas = _library("pandas", "pip install pandas")
    return pandas.DataFrame(
        {name: pandas.Series(cells, dtype=IN_PANDAS[TYPES[name]]) for name, cells in _columns(report).items()}
    )


def to_polars(report: EstimateReport) -> pl.DataFrame:
    """Return the rows as a frame. Missing cells are null.

    Raises:
        MissingLibraryError: if polars is not installed.

    """
    polars = _library("polars", "pip install polars")
    types = {name: getattr(polars, IN_POLARS[kind]) for name, kind in TYPES.items()}
    return polars.DataFrame(_columns(report), schema=types)


def to_parquet(report: EstimateReport) -> bytes:
    """Return the rows as a Parquet file. Missing cells are null.

    Raises:
        MissingLibraryError: if pyarrow is not installed.

    """
    arrow = _library(
        "pyarrow", "pip install 'hearsay-ldp[parquet]' (from a checkout: pip install ./client_sdk '.[parquet]')"
    )
    parquet = import_module("pyarrow.parquet")
    fields = [(name, getattr(arrow, IN_PARQUET[kind])()) for name, kind in TYPES.items()]
    schema = arrow.schema(fields, metadata={SCHEMA_KEY: str(SCHEMA)})
    file = io.BytesIO()
    parquet.write_table(arrow.table(_columns(report), schema=schema), file)
    return file.getvalue()


def _columns(report: EstimateReport) -> Mapping[str, list[object]]:
    rows = list(rows_of(report))
    return {name: [row[position] for row in rows] for position, name in enumerate(COLUMNS)}


def _library(name: str, how: str) -> Any:  # noqa: ANN401 a module of a library that may be missing
    try:
        return import_module(name)
    except ImportError:
        raise MissingLibraryError(f"this needs {name}, which is not installed: {how}") from None
