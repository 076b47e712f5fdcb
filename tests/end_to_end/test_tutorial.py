"""The tutorial, read from its first block to its last, with fewer devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.tutorial import blocks, reading

DEVICES, FEWER = "range(2000)", "range(50)"


@pytest.mark.long
def test_every_block_of_the_tutorial_works_in_order(tmp_path: Path) -> None:
    printed: list[str] = []
    with reading(tmp_path) as reader:
        for block in blocks():
            if block.file:
                reader.save(block.file, block.text.replace(DEVICES, FEWER))
            else:
                assert block.language == "sh", f"no word before this block says where it is saved:\n{block.text}"
                printed.append(reader.run(block.text))
    shown = "".join(printed)
    assert "metrics.toml is sound: 2 questions of jot" in shown
    assert "error of a share" in shown
    assert "dark_mode: no_consent" in shown
    assert "This is a developer's trial." in shown
    assert "A trial: " in shown
    assert "What jot asks" in shown
    for file in ("report.html", "fakes.txt", "audit.txt"):
        assert "dark_mode" in (tmp_path / file).read_text(encoding="utf-8")
    assert DEVICES in "".join(block.text for block in blocks())
