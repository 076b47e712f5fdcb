"""The demonstration, with fewer devices: it ends well and leaves nothing behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.support.processes import run_command

DEMO = Path(__file__).parents[2] / "examples" / "health" / "demo.py"


def test_the_demo_prints_truth_beside_estimate_and_cleans_up(tmp_path: Path) -> None:
    scratch, page = tmp_path / "scratch", tmp_path / "report.html"
    scratch.mkdir()
    done = run_command([sys.executable, str(DEMO), "--devices", "150", "--html", str(page)], TMPDIR=str(scratch))
    assert done.returncode == 0, done.stderr
    held, of = map(int, re.findall(r"^(\d+) of (\d+) intervals hold the truth", done.stdout, re.MULTILINE)[0])
    assert of == 7
    assert 0 <= held <= of
    assert re.search(r"150 devices, (59\d|600) reports", done.stdout)
    for metric in ("self_rated_health", "physical_limitation", "doctor_visits", "chronic_disease_index"):
        assert metric in done.stdout
    assert "How healthy do people feel?" in page.read_text(encoding="utf-8")
    assert list(scratch.iterdir()) == []
