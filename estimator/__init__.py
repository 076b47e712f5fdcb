"""The reporting job, which turns tallies into estimates with their uncertainty.

```python
import estimator

report = estimator.load_report("report.json")  # written by `hearsay-estimator report --format json`
report = estimator.estimate("metrics.toml", "tallies.ndjson")
report = estimator.estimate("metrics.toml", collector="https://telemetry.example.org", token="…")
print(report.summary())
frame = estimator.to_pandas(report)
```

``__all__`` lists the public names.

Each name is imported on first use. The command ``hearsay-estimator`` can therefore start without
numpy, and tell the user to install numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.api import estimate, load_model
    from estimator.errors import CollectorDownError, MissingLibraryError, ReportError, RequestError, TalliesError
    from estimator.formats.tables import to_pandas, to_polars
    from estimator.results.estimate import Estimate
    from estimator.results.metric import MetricEstimate, Pooled
    from estimator.results.report import Changes, EstimateReport
    from estimator.shown_report import ShownReport, load_report

__all__ = [
    "Changes",
    "CollectorDownError",
    "Estimate",
    "EstimateReport",
    "MetricEstimate",
    "MissingLibraryError",
    "Pooled",
    "ReportError",
    "RequestError",
    "ShownReport",
    "TalliesError",
    "estimate",
    "load_model",
    "load_report",
    "to_pandas",
    "to_polars",
]

_HOMES = {
    "Changes": "results.report",
    "CollectorDownError": "errors",
    "Estimate": "results.estimate",
    "EstimateReport": "results.report",
    "MetricEstimate": "results.metric",
    "MissingLibraryError": "errors",
    "Pooled": "results.metric",
    "ReportError": "errors",
    "RequestError": "errors",
    "ShownReport": "shown_report",
    "TalliesError": "errors",
    "estimate": "api",
    "load_model": "api",
    "load_report": "shown_report",
    "to_pandas": "formats.tables",
    "to_polars": "formats.tables",
}
"""The module that defines each public name, relative to this package."""


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    member = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    """Return the names that the module has or can import."""
    return sorted({*globals(), *__all__})
