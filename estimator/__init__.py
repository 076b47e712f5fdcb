"""The reporting job: from tallies to estimates with their uncertainty.

```python
from pathlib import Path

import estimator
from client_sdk.protocol import Registry

report = estimator.load_report("report.json")  # what `hearsay-estimator report --format json` wrote
report = estimator.estimate(Registry.load("metrics.toml"), Path("tallies.ndjson"))
frame = report.to_pandas()
```

The public names are those of ``__all__``. They are imported when they are first used: the command must be able to say
that numpy is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.api import estimate
    from estimator.errors import MissingLibraryError, ReportError, TalliesError
    from estimator.formats.document import ChangesDocument, MetricDocument, PooledDocument, ReportDocument
    from estimator.formats.from_json.report import load_report
    from estimator.results.estimate import Estimate

__all__ = [
    "ChangesDocument",
    "Estimate",
    "MetricDocument",
    "MissingLibraryError",
    "PooledDocument",
    "ReportDocument",
    "ReportError",
    "TalliesError",
    "estimate",
    "load_report",
]

_HOMES = {
    "ChangesDocument": "document",
    "Estimate": "figure",
    "MetricDocument": "document",
    "MissingLibraryError": "errors",
    "PooledDocument": "document",
    "ReportDocument": "document",
    "ReportError": "errors",
    "TalliesError": "errors",
    "estimate": "api",
    "load_report": "load",
}
"""The module of each public name."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names that the module has or can import."""
    return sorted({*globals(), *__all__})
