"""The parts of reference pages that the code says, by their marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tools import schema_page
from tools.reference import codes, commands, registry_page

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
    "report": schema_page.report,
    "columns": schema_page.columns,
    "statistics": schema_page.statistics,
    "other documents": schema_page.others,
}
"""A page has a comment in the place of each: ``<!-- make docs: commands -->``."""
