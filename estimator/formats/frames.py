"""The rows of a report as pandas and polars frames and as Parquet.

Each library is imported on use.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from estimator.errors import MissingLibraryError
from estimator.results.report import SCHEMA, EstimateReport
from estimator.results.row import COLUMNS, TYPES, rows_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

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
