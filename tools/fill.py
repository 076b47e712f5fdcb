"""Fills lines of the pages again: ``python -m tools.fill``, where a line of prose is too long."""

from __future__ import annotations

import re
from textwrap import fill
from typing import Final

from tools.prose import MOST_COLUMNS, pages, prose

ITEM = re.compile(r"\s*(?:[*-]|\d+\.)\s+")
CODE = re.compile(r"`[^`]+`")
NO_BREAK: Final = "\0"
"""In place of a blank within code, which is copied and searched for as it stands."""


def filled(text: str) -> str:
    """Return a page whose paragraphs and items that had too long a line are filled anew."""
    lines, kinds = text.splitlines(), [line for _, line in prose(text)]
    kept: list[str] = []
    first = 0
    while first < len(lines):
        after = first + 1
        if kinds[first].strip():
            while after < len(lines) and kinds[after].strip() and not ITEM.match(kinds[after]):
                after += 1
        kept += _filled(lines[first:after], is_prose=bool(kinds[first].strip()))
        first = after
    return "\n".join(kept) + "\n"


def _filled(lines: list[str], *, is_prose: bool) -> list[str]:
    if not is_prose or all(len(line) <= MOST_COLUMNS for line in lines):
        return lines
    item = ITEM.match(lines[0])
    head = item[0] if item else re.sub(r"\S.*", "", lines[0])
    words = " ".join(line.strip() for line in lines)[len(head.strip()) :].strip()
    text = fill(
        CODE.sub(lambda code: code[0].replace(" ", NO_BREAK), words),
        MOST_COLUMNS,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return text.replace(NO_BREAK, " ").split("\n")


def main() -> None:
    """Fill every page, and name those that changed."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(f"filled {path.name}")


if __name__ == "__main__":
    main()
