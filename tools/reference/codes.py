"""The tables of exit statuses, reasons for refusals, outcomes and problems, from the code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from client_sdk.protocol import Refusal
from client_sdk.protocol.command_line import MEANINGS
from collector.api.problem import Problem
from tools.reference.markdown import table

OUTCOMES: Final = Path(__file__).parents[2] / "tests" / "vectors" / "outcomes.json"
"""The file of test vectors with the names of outcomes. All SDKs use the same names."""

SDKS: Final[Mapping[tuple[str, ...], str]] = {
    ("python", "typescript"): "both",
    ("python",): "Python",
    ("typescript",): "TypeScript",
}


def exit_statuses() -> str:
    """Return a table of the exit statuses of all commands."""
    return table(("exit status", "means"), [(f"{status:d}", meaning) for status, meaning in MEANINGS.items()])


def refusals() -> str:
    """Return a table of the reasons why a collector refuses a report."""
    rows = [(f"`{code}`", code.sentence, "again, alone" if code.retryable else "never") for code in Refusal]
    return table(("code", "means", "a device sends it"), rows)


def outcomes(group: str) -> str:
    """Return a table of a group of outcomes: ``recorded``, ``flushed`` or ``history``."""
    rows = [
        (f"`{name}`", each["means"], SDKS[tuple(each["sdks"])])
        for name, each in json.loads(OUTCOMES.read_text(encoding="utf-8"))[group].items()
    ]
    return table(("outcome", "means", "in"), rows)


def problems() -> str:
    """Return a table of the problems that a request can have, by HTTP status."""
    rows = [(f"`{each.code}`", f"{each.status:d}", each.sentence) for each in Problem]
    return table(("code", "status", "means"), sorted(rows, key=lambda row: row[1]))
