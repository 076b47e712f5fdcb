"""Checks the style of the pages: ``python -m tools.prose``. Spelling is codespell's part.

A line has at most 120 columns, a paragraph at most five lines, and no page uses a word of
`words.toml`. Tables, code and pages that are written from the code are left alone.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
WORDS: Final = Path(__file__).with_name("words.toml")
WRITTEN_FROM_CODE: Final = {"telemetry.md", "estimator.md", "cli.md", "report-schema.md", "registry-keys.md"}
MOST_COLUMNS, MOST_LINES = 120, 5


def pages() -> list[Path]:
    """Return the pages that people write."""
    here = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*here, *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in WRITTEN_FROM_CODE)]


def instead() -> dict[str, str]:
    """Return what the pages say instead of each avoided word."""
    replacements: dict[str, str] = tomllib.loads(WORDS.read_text(encoding="utf-8"))["instead"]
    return replacements


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of prose with their numbers; a line that is none is empty."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            yield number, ""
        else:
            other = fenced or line.startswith(("|", "    ", "#", "<!--", "!["))
            yield number, "" if other else line


def paragraphs(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """Yield each paragraph's first line number and number of lines; an item of a list is one."""
    first, count = 0, 0
    for number, line in [*lines, (0, "")]:
        begins = bool(re.match(r"\s*([*-]|\d+\.)\s", line))
        if count and (begins or not line.strip()):
            yield first, count
            count = 0
        if line.strip():
            first, count = (first, count + 1) if count else (number, 1)


def mistakes(text: str, avoided: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the number of a line, and what is wrong there."""
    lines = list(prose(text))
    for number, line in lines:
        if len(line) > MOST_COLUMNS:
            yield number, f"{len(line)} columns, more than {MOST_COLUMNS}"
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)|“[^”]*”|\"[^\"]*\"", "", line).lower()
        for word, better in avoided.items():
            if re.search(rf"\b{re.escape(word)}\b", plain):
                yield number, f"“{word}”: say {better}"
    for number, count in paragraphs(lines):
        if count > MOST_LINES:
            yield number, f"a paragraph of {count} lines, more than {MOST_LINES}"


def main() -> None:
    """Name every mistake, and fail if there is one."""
    avoided = instead()
    violations = [
        f"{path.relative_to(ROOT)}:{number}: {wrong}"
        for path in pages()
        for number, wrong in mistakes(path.read_text(encoding="utf-8"), avoided)
    ]
    print(*violations, sep="\n", end="\n" if violations else "")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
