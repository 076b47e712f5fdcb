"""The formats of a report. Renderers select and format results, but compute nothing.

`FORMATS` and `BINARY_FORMATS` map the values of ``--format`` to functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from estimator.formats.json_documents import as_json
from estimator.formats.tables import as_csv, to_parquet
from estimator.render.openmetrics import as_openmetrics
from estimator.render.text.summary import as_summary
from estimator.results.report import EstimateReport

FORMATS: Final[dict[str, Callable[..., str]]] = {
    "table": as_summary,
    "json": as_json,
    "csv": as_csv,
    "openmetrics": as_openmetrics,
}
"""The values of ``--format``. Every output ends with a line break."""

BINARY_FORMATS: Final[dict[str, Callable[[EstimateReport], bytes]]] = {"parquet": to_parquet}
"""Further values of ``--format``, which require ``--output``."""
