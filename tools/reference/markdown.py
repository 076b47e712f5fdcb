"""Markdown from words of the code: cells of tables, and docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import fill


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def paragraphs(text: str) -> str:
    """Return the paragraphs of a docstring, filled, with the marks of code that Markdown has.

    An example stays as it is, in a block of code.
    """
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def _paragraph(text: str) -> str:
    if text.startswith(">>> "):
        return f"```pycon\n{text.rstrip()}\n```"
    return fill(in_markdown(text), 120, break_long_words=False, break_on_hyphens=False)


def in_markdown(text: str) -> str:
    """Return a text with code in single backticks."""
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))


def sections(docstring: str) -> dict[str, str]:
    """Return the parts of a docstring by heading; the part before the first is named ``""``."""
    parts = re.split(r"^(Args|Returns|Raises|Yields|Attributes):\n", docstring, flags=re.MULTILINE)
    return {"": parts[0].strip()} | dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> list[tuple[str, str]]:
    """Return the names of a section, each with what it says."""
    pairs: list[tuple[str, str]] = []
    for line in section.splitlines():
        match = re.fullmatch(r"    (\w+): ?(.*)", line)
        if match:
            pairs.append((match[1], match[2]))
        elif pairs and line.strip():
            name, says = pairs[-1]
            pairs[-1] = (name, f"{says} {line.strip()}".strip())
    return [(name, in_markdown(says)) for name, says in pairs]
