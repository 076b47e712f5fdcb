"""The tables of the Prometheus metrics that a collector and a relay expose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import Metric

from collector.counters import new_shared_counters
from collector.maintenance import Health
from collector.prometheus import families, relay_families
from tools.reference.markdown import table

HEALTH: Final = Health(
    is_up=True, is_noted=True, open_windows=1, closed_windows=0, open_reports={("dark_mode", "2026-11-20"): 1}
)
"""The health of an example store. With it, a collector exposes all of its metrics."""


def collector() -> str:
    """Return a table of a collector's metrics, in Markdown."""
    return _table(families(new_shared_counters(), HEALTH))


def relay() -> str:
    """Return a table of the metrics that only a relay has, in Markdown."""
    return _table(family for family in relay_families(new_shared_counters()) if "_relay_" in family.name)


def _table(exposed: Iterable[Metric]) -> str:
    return table(("metric", "meaning"), [(f"`{_name(family)}`", family.documentation) for family in exposed])


def _name(family: Metric) -> str:
    """Return the name of a metric family as queries write it, with its labels."""
    labels = {name: None for sample in family.samples for name in sample.labels if name != "le"}
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return f"{name}{{{','.join(labels)}}}" if labels else name
