"""A registry in a trial: the same questions, whose reports are never counted with real ones."""

from __future__ import annotations

from dataclasses import replace

from client_sdk.protocol.budget import ATTOS, Budget
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.registry.registry import Registry

FOLDER = "trial"
"""The folder of a trial's ledger or store, within the app's or the collector's."""

UNREACHED = 10**9
"""A ceiling that no trial reaches."""


def in_trial(registry: Registry) -> Registry:
    """Return the registry of a trial.

    Its editions are those of trials alone, so that a collector of real reports knows none of them,
    and its app is another one, so that neither a ledger nor a store is shared. Every window is
    asked from the first one on: nothing is drawn, no ceiling is reached, and what would be filled
    in at the end of a window is reported when it is recorded.
    """
    if any(metric.is_trial for metric in registry.metrics.values()):
        return registry
    metrics = {name: replace(metric, is_trial=True, fill=None) for name, metric in registry.metrics.items()}
    budget = Budget(registry.budget.window, UNREACHED * NANOS, UNREACHED * NANOS, lifetime_attos=UNREACHED * ATTOS)
    app = f"{registry.app} (trial)"
    return replace(registry, app=app, budget=budget, metrics=metrics, former=(), newcomers=frozenset())
