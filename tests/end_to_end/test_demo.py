"""The demonstration, with fewer devices: it succeeds and leaves nothing behind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.services.processes import run_command
from tools import demo_output
from tools.tutorial import blocks, reading

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "health" / "demo.py"

OF_AN_OPERATOR = {"HEARSAY_REDIS_URL": "redis://127.0.0.1:9", "HEARSAY_READ_TOKEN_FILE": "/nonexistent"}
"""Settings of a collector in use, whose store must not get the reports of a demonstration."""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Yield a folder below which the path of a socket is short enough."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.long
def test_the_demo_prints_truth_beside_estimate_and_cleans_up(tmp_path: Path, short_folder: Path) -> None:
    page = tmp_path / "report.html"
    words = [sys.executable, str(DEMO), "--devices", "150", "--html", str(page)]
    done = run_command(words, TMPDIR=str(short_folder), **OF_AN_OPERATOR)
    assert done.returncode == 0, done.stderr
    counted = re.findall(r"^(\d+) of (\d+) intervals contain the true value", done.stdout, re.MULTILINE)
    held, intervals = map(int, counted[0])
    assert intervals == 7
    assert 0 <= held <= intervals
    assert re.search(r"150 devices sent (59\d|600) reports", done.stdout)
    for metric in ("self_rated_health", "physical_limitation", "doctor_visits", "chronic_disease_index"):
        assert metric in done.stdout
    assert "How healthy do people feel?" in page.read_text(encoding="utf-8")
    assert done.stdout.endswith(f"  python3 -m webbrowser {page.as_uri()}\n")
    assert done.stderr.splitlines() == ["devices report"]  # the bar without a terminal: no log
    assert list(short_folder.iterdir()) == []
    assert demo_output.shape(demo_output.block()) == demo_output.shape(demo_output.shown(done.stdout))


@pytest.mark.long
def test_the_commands_of_its_page_read_the_tallies_of_all_years(tmp_path: Path) -> None:
    health = tmp_path / "examples" / "health"
    shutil.copytree(DEMO.parent, health)
    first, second, plan = (block.text for block in blocks(DEMO.with_name("README.md")) if block.language == "sh")
    with reading(health) as reader:
        printed = reader.run(first.partition("cd examples/health\n")[2])
        reader.run(second)
        assert "5,600 devices" in reader.run(plan)
    assert "self_rated_health: The most common answer is" in printed
    assert (tmp_path / "build" / "reports" / "index.html").is_file()
    assert len(list((tmp_path / "build" / "reports").glob("2026-11-*/report.html"))) == 5


def installed_by(target: str) -> set[str]:
    """Return the extras that a target installs from a fresh clone."""
    commands = ["make", "--dry-run", "--always-make", target]
    shown = subprocess.run(commands, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {extra for extras in re.findall(r"--editable '\.\[([\w,]+)\]'", shown) for extra in extras.split(",")}


def test_the_demo_sets_up_the_product_alone_and_tests_the_rest() -> None:
    assert installed_by("demo") == {"collector", "estimator"}
    assert installed_by("test") == {"collector", "estimator", "parquet", "dev"}
