"""What telemetry costs a short-lived program: the example app, with and without the SDK."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.results import spread, table, verdict

ROUNDS: Final = 15
WANTED_MS: Final = 60
ROOT: Final = Path(__file__).parents[1]

WITHOUT: Final = """
class Telemetry:
    def __init__(self, *arguments, **options): pass
    def __enter__(self): return self
    def __exit__(self, *problem): pass
    def record(self, *answer): pass
"""
"""Stands in place of the SDK: the app as it would be without it."""


def measure_commands() -> str:
    """Return the section of the results."""
    without_ms, refused_ms, on_ms = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as name:
        folder = Path(name)
        (folder / "client_sdk.py").write_text(WITHOUT, encoding="utf-8")
        agreed, refused = folder / "agreed", folder / "refused"
        _command_ms(agreed, "telemetry", "on")
        for _ in range(ROUNDS):
            without_ms.append(_command_ms(refused, "add", "a note", before=folder))
            refused_ms.append(_command_ms(refused, "add", "a note"))
            on_ms.append(_command_ms(agreed, "add", "a note"))
    more_ms = median(on_ms) - median(without_ms)
    return (
        "## A command of an app\n\n"
        "`notes add` of examples/notes in a fresh process, its reports sent by a helper; nobody listens.\n\n"
        + table(
            ("the app", "ms, median (range)"),
            [
                ["without the SDK", spread(without_ms)],
                ["with it, without consent", spread(refused_ms)],
                ["with it, with consent", spread(on_ms)],
            ],
        )
        + "\nTelemetry makes a command slower by "
        + verdict(more_ms <= WANTED_MS, f"{more_ms:.0f} ms", f"≤ {WANTED_MS} ms")
    )


def _command_ms(home: Path, *words: str, before: Path | None = None) -> float:
    """Return an app command's milliseconds; modules of the folder ``before`` come first."""
    paths = [str(path) for path in (before, ROOT) if path is not None]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NOTES_COLLECTOR": "http://127.0.0.1:9"}
    program = f"import sys; sys.path[:0] = {paths!r}; from examples.notes.notes import main; main()"
    began_s = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, "--home", str(home), *words], check=True, env=environment)
    return (time.perf_counter() - began_s) * 1000
