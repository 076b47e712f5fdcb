"""The linter of prose finds what it is there for, and the pages pass it."""

from __future__ import annotations

import pytest

from tools.fill import filled
from tools.prose import MOST_COLUMNS, MOST_LINES, ROOT, WRITTEN_FROM_CODE, instead, mistakes, pages

AVOIDED = instead()


def test_every_page_passes() -> None:
    faults = [(path.name, *each) for path in pages() for each in mistakes(path.read_text("utf-8"), AVOIDED)]
    assert faults == []
    assert len(pages()) > 25
    assert {path.name for path in (ROOT / "docs").rglob("*.md")} >= WRITTEN_FROM_CODE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a" * (MOST_COLUMNS + 1), "columns"),
        ("a line\n" * (MOST_LINES + 1), "paragraph"),
        ("* an item\n" + "  a line\n" * MOST_LINES, "paragraph"),
        *((f"We {word} it.", word) for word in AVOIDED),
    ],
)
def test_a_mistake_is_named(text: str, says: str) -> None:
    assert [says in wrong for _, wrong in mistakes(text, AVOIDED)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "a line\n" * MOST_LINES,
        "* an item\n" * (MOST_LINES + 1),
        "```\n" + "simply\n" * (MOST_LINES + 1) + "```\n",
        f"| {'a' * MOST_COLUMNS} |",
        "`simply` is a word.",
    ],
)
def test_code_tables_and_short_items_are_left_alone(text: str) -> None:
    assert list(mistakes(text, AVOIDED)) == []


def test_pages_that_pass_are_not_filled() -> None:
    assert [path.name for path in pages() if filled(path.read_text("utf-8")) != path.read_text("utf-8")] == []


@pytest.mark.parametrize("head", ["", "* ", "  1. "])
def test_a_paragraph_with_a_long_line_is_filled_and_its_neighbors_are_not(head: str) -> None:
    words = "word " * 60
    text = f"short\n\n{head}{words.strip()}\n\n```\n{words}\n```\n"
    new = filled(text)
    assert list(mistakes(new, {})) == []
    assert new.split() == text.split()
    assert new.startswith("short\n\n")
    assert f"```\n{words}\n```" in new


def test_code_in_a_line_stays_together() -> None:
    text = ("word " * 20 + "`cells = 16384 or more` ") * 3
    assert filled(text).count("`cells = 16384 or more`") == 3
