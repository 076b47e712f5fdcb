"""The line numbers of the tables and keys in a file, for error messages.

`tomllib` does not report line numbers. But each statement (a header, or a key with its value) is a
TOML document that `tomllib` can parse. A statement ends at the first line break outside brackets
and multi-line strings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_MARKS = r"""(?sx)
      \#[^\n]*                          # a comment
    | \"""(?:[^\\]|\\.)*?\"{3,5}        # multi-line strings, which may end with two more quotes
    | '''.*?'{3,5}
    | "(?:[^"\\\n]|\\.)*"               # strings on one line
    | '[^'\n]*'
    | [][{}\n]
    """
"""Matches line breaks, brackets, comments and strings. A comment or a string is a single match, so
that brackets and line breaks in it are ignored. The pattern is compiled only when it is first used,
because importing the SDK must stay quick.
"""

LEVELS = 8
"""The maximum depth to which nested keys are searched. Errors name no deeper key.

There is a maximum because the header of a table may have thousands of parts.
"""

_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


def line_of(place: str, lines: Mapping[str, int]) -> int:
    """Return the line number of a key, such as ``metric.os.epsilon``.

    If this number is unknown, return the line number of the innermost table that contains the key
    and whose line number is known.
    """
    while place and place not in lines:
        place = place.rpartition(".")[0]
    return lines.get(place, 1)


def lines_of(text: str) -> dict[str, int]:
    """Return a mapping from the place of each table and key in a TOML text to its line number.

    The places in a list of tables, ``[[release]]``, are ``release.1``, ``release.2`` and so on.
    """
    import tomllib  # noqa: PLC0415 importing the SDK must stay quick

    lines: dict[str, int] = {}
    table: tuple[str, ...] = ()
    entries = Counter[tuple[str, ...]]()
    for line, statement in _statements(text):
        paths = list(_paths(tomllib.loads(statement)))
        if statement.startswith("["):
            table = paths[-1]
            if statement.startswith("[["):
                entries[table] += 1
                table = (*table, str(entries[table]))
                paths.append(table)
        else:
            paths = [(*table, *path) for path in paths]
        for path in paths:
            lines.setdefault(".".join(path), line)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement: the number of its first line, and its text."""
    line, begin, depth = 1, 0, 0
    for mark in re.finditer(_MARKS, f"{text}\n"):
        depth += _STEPS.get(mark[0], 0)
        if mark[0] == "\n" and depth == 0:
            yield line, text[begin : mark.start()].strip()
            line, begin = line + text.count("\n", begin, mark.end()), mark.end()


def _paths(document: dict[str, Any], levels: int = LEVELS) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all keys in a document.

    If the document is the header of a table, the last path is the path of this table.
    """
    for key, value in document.items():
        yield (key,)
        if isinstance(value, dict) and levels > 1:
            yield from ((key, *path) for path in _paths(value, levels - 1))
