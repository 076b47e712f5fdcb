"""The parts of reference pages that are generated from the code, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks import sizing
from tools import schema_page
from tools.reference import codes, commands, exposed_metrics, registry_page

PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "commands": commands.sections,
    "exit statuses": codes.exit_statuses,
    "refusals": codes.refusals,
    "problems": codes.problems,
    "keys of app": registry_page.app,
    "keys of budget": registry_page.budget,
    "keys of metric": registry_page.metric,
    "keys by kind": registry_page.kinds,
    "mechanisms": registry_page.mechanisms,
    "outcomes of record": lambda: codes.outcomes("recorded"),
    "outcomes of flush": lambda: codes.outcomes("flushed"),
    "outcomes of the history": lambda: codes.outcomes("history"),
    "metrics of a collector": exposed_metrics.collector,
    "metrics of a relay": exposed_metrics.relay,
    "sizing": sizing.needs,
    "report": schema_page.report,
    "columns": schema_page.columns,
    "statistics": schema_page.statistics,
    "other documents": schema_page.others,
}
"""For each part, the function that generates it. In a page, a comment such as ``<!-- make docs:
commands -->`` marks the place of a part.
"""
