"""The text of a registry with other numbers: every line but theirs stays as it is, so that a patch is small."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal

from estimator.errors import PlanError

LOST = 1 + 2.0**-44
"""So that 2 is not written as 1.99999; no sum of numbers of a few digits is above a total by so little."""

HEADER = re.compile(r"\s*\[{1,2}\s*([^\[\],]+?)\s*\]{1,2}\s*(?:#.*)?", re.DOTALL)

SETTING = re.compile(r"""(\s*)(epsilon|answers)(\s*=\s*)("[^"]*"|'[^']*'|[^\s#]+)(.*)""", re.DOTALL)

DIGITS = 6
"""Of an epsilon that is written: the last one changes an error by a millionth."""


def written(epsilon: float) -> str:
    """Return an epsilon as it is written into a registry, rounded down but for what floats may have lost."""
    number = Decimal(epsilon * LOST)
    last = Decimal(1).scaleb(number.adjusted() - DIGITS + 1)
    return format(number.quantize(last, ROUND_DOWN).normalize(), "f")


def rewritten(text: str, epsilons: Mapping[str, str], answers: int | None = None) -> str:
    """Return a registry's text with other epsilons.

    Args:
        text: TOML.
        epsilons: by metric, as they are written.
        answers: how many questions a window asks, where that is to change.

    Raises:
        PlanError: if a number has no line of its own in its table.

    """
    settings = {("metric", name, "epsilon"): value for name, value in epsilons.items()}
    if answers is not None:
        settings["budget", "", "answers"] = str(answers)
    table, lines = ("", ""), []
    for line in text.splitlines(keepends=True):
        header, setting = HEADER.fullmatch(line), SETTING.fullmatch(line)
        if header:
            first, _, rest = header[1].partition(".")
            table = first.strip(" \"'"), rest.strip(" \"'")
        value = settings.get((*table, setting[2])) if setting else None
        lines.append(
            line if setting is None or value is None else f"{''.join(setting.group(1, 2, 3))}{value}{setting[5]}"
        )
    made = "".join(lines)
    _check(text, made, settings)
    return made


def diff(name: str, before: str, after: str) -> str:
    """Return a unified diff that ``patch`` applies."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _check(before: str, after: str, settings: Mapping[tuple[str, str, str], str]) -> None:
    """Refuse a text of which anything else has changed, or anything has not."""
    wanted, found = tomllib.loads(before), tomllib.loads(after)
    for (first, rest, key), value in settings.items():
        table = wanted[first][rest] if rest else wanted[first]
        if key in table:
            table[key] = tomllib.loads(f"it = {value}")["it"]
    if wanted != found:
        raise PlanError("give every epsilon a line of its own, in a table [metric.NAME], so that it can be rewritten")
