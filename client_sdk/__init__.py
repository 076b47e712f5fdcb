"""The Hearsay SDK: telemetry by local differential privacy, embedded in an application.

```python
from pathlib import Path

from client_sdk import Telemetry

registry, collector = Path(__file__).with_name("metrics.toml"), "https://telemetry.example.com"
telemetry = Telemetry(registry, collector=collector, data_dir=app_data_dir, consent=user_said_yes)
telemetry.record("dark_mode", True)
```

``__all__`` lists the public names. Each name is imported on first use, so that importing the
package itself takes almost no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from client_sdk.protocol.errors import (
        HearsayError,
        OutsideDomainError,
        RegistryError,
        UnknownMetricError,
    )
    from client_sdk.protocol.registry.registry import Registry
    from client_sdk.results import BudgetStatus, Flushed, FlushOutcome, HistoryEntry, LedgerError, Recorded
    from client_sdk.sending.responses import Reply
    from client_sdk.shipped_model import ShippedModel, ShippedModelError
    from client_sdk.telemetry import Telemetry

__all__ = [
    "BudgetStatus",
    "FlushOutcome",
    "Flushed",
    "HearsayError",
    "HistoryEntry",
    "LedgerError",
    "OutsideDomainError",
    "Recorded",
    "Registry",
    "RegistryError",
    "Reply",
    "ShippedModel",
    "ShippedModelError",
    "Telemetry",
    "UnknownMetricError",
]

_HOMES = {
    "BudgetStatus": "results",
    "FlushOutcome": "results",
    "Flushed": "results",
    "HearsayError": "protocol.errors",
    "HistoryEntry": "results",
    "LedgerError": "results",
    "OutsideDomainError": "protocol.errors",
    "Recorded": "results",
    "Registry": "protocol.registry.registry",
    "RegistryError": "protocol.errors",
    "Reply": "sending.responses",
    "ShippedModel": "shipped_model",
    "ShippedModelError": "shipped_model",
    "Telemetry": "telemetry",
    "UnknownMetricError": "protocol.errors",
}
"""Maps each public name to the module that defines it, relative to this package."""


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names in the package, including public names that are not imported yet."""
    return sorted({*globals(), *__all__})
