"""The linters of prose refuse what they are there for, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = [
    line.partition("->")[0] for line in (ROOT / "tools" / "prose_words.txt").read_text(encoding="utf-8").splitlines()
]
BRITISH = ["colour", "randomise", "labelled"]  # codespell:ignore
CLEAN = "The median of 95% of the devices, in colors.\n"


def refused(page: Path, tool: str, *options: str) -> list[int]:
    """Return the lines of a page that a linter refuses with the settings of `make spelling`."""
    command = [str(Path(sys.executable).with_name(tool)), *options, str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [int(line) for line in re.findall(rf"^{re.escape(str(page))}:(\d+):", done.stdout, re.MULTILINE)]
    assert bool(done.returncode) == bool(lines), done.stdout + done.stderr
    return lines


def test_codespell_refuses_every_word_of_the_list_and_british_spellings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    planted = [f"In 95{word} of them." if word.startswith(" ") else f"Of {word} here." for word in [*WORDS, *BRITISH]]
    page.write_text(CLEAN + "".join(f"{line}\n" for line in planted), encoding="utf-8")
    assert len(WORDS) > 10
    assert refused(page, "codespell") == [*range(2, len(planted) + 2)]


def test_proselint_refuses_a_cliche(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{CLEAN}\nAt the end of the day, it is very unique.\n", encoding="utf-8")
    assert set(refused(page, "proselint", "check", "--config", "tools/proselint.json")) == {3}


@pytest.mark.slow
def test_a_clean_page_passes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(CLEAN, encoding="utf-8")
    assert refused(page, "codespell") == refused(page, "proselint", "check", "--config", "tools/proselint.json") == []


def test_every_change_is_linted_over_pages_and_code() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\nspelling:\n")[2].partition("\n\n")[0]
    assert "codespell *.md docs $(CODE)" in recipe
    assert "proselint check --config tools/proselint.json *.md docs" in recipe
    assert "spelling" in re.findall(r"^LINT := (.+)$", makefile, re.MULTILINE)[0].split()
