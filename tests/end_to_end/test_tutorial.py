"""The tutorial, read from its first block to its last, with fewer devices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.demo_output import shape
from tools.tutorial import PAGES, play

DEVICES, FEWER = "range(2000)", "range(50)"
OF_CHANCE = "2-collect"
"""The part whose outputs differ in more than numbers."""
ELLIPSIS = "…"


def quoted() -> list[str]:
    """Return the lines of output that the other parts show."""
    pages = [page.read_text(encoding="utf-8") for page in PAGES if page.stem != OF_CHANCE]
    outputs = [text for page in pages for text in re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    return [line for output in outputs for line in shape(output) if line != ELLIPSIS]


@pytest.mark.long
def test_every_block_of_the_tutorial_works_in_order(tmp_path: Path) -> None:
    assert [page.stem for page in PAGES] == ["1-ask", OF_CHANCE, "3-decide"]
    assert sum(page.read_text(encoding="utf-8").count(DEVICES) for page in PAGES) == 1
    shown = "".join(printed for _, printed in play(tmp_path, {DEVICES: FEWER}))
    lines = quoted()
    assert len(lines) >= 20
    assert set(lines) - set(shape(shown)) == set()
    assert "dark_mode: no_consent" in shown
    assert "This is a developer's trial." in shown
    assert "A trial: " in shown
    for file in ("report.html", "rehearsal.html"):
        assert "dark_mode" in (tmp_path / file).read_text(encoding="utf-8")
