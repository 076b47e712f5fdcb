"""In which lines of a file its tables and keys begin: only a mistake needs that.

`tomllib` names no lines. But every header and every key with its value is a small TOML document of
its own, so `tomllib` itself says where each ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_ENDS = ("]", "}", '"""', "'''")
"""What ends a value of several lines; only where one occurs is it worth trying to read it."""


def line_of(place: str, lines: dict[str, int]) -> int:
    """Return the line of a place such as ``metric.os.epsilon``; if it is missing, of what should hold it."""
    while place and place not in lines:
        place = place.rpartition(".")[0]
    return lines.get(place, 1)


def lines_of(text: str) -> dict[str, int]:
    """Return the first line of each table and key of a TOML text, by its place."""
    lines: dict[str, int] = {}
    table: tuple[str, ...] = ()
    for line, statement, document in _statements(text):
        paths = [(*table, *path) for path in _paths(document)]
        if statement.lstrip().startswith("["):
            paths = list(_paths(document))
            table = paths[-1]
        for path in paths:
            lines.setdefault(".".join(path), line)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each header, and each key with its value: its first line, its text and what it says."""
    import tomllib  # noqa: PLC0415 importing the SDK must stay quick

    begun: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        begun.append(line)
        if begun[1:] and not any(end in line for end in _ENDS):
            continue
        statement = "\n".join(begun)
        try:
            document = tomllib.loads(statement)
        except (ValueError, ArithmeticError, RecursionError):
            continue
        yield number + 1 - len(begun), statement, document
        begun = []


def _paths(document: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the path of everything that a document holds; of a header the last one is its table."""
    for key, value in document.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *path) for path in _paths(value))
