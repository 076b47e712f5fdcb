"""The delay that telemetry adds to a program's start: the import and one command of an app.

The import is compared with the imports of other telemetry libraries. All times are processor times.
Processor times depend least on other work of the machine, and exclude waiting for a slow disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.peers.environments import PeerError, installed
from benchmarks.results import spread, table, verdict

ROUNDS: Final = 15
MOST_RATIO: Final = 1.6
WANTED_MS: Final = 60
REFERENCE_S: Final = 0.9
"""The seconds for 10^7 additions on the reference machine. This number converts the goal to other
machines.
"""

ROOT: Final = Path(__file__).parents[1]

OURS: Final = "from client_sdk import Registry, Telemetry"
LIBRARY: Final = f"""
import sys
before = set(sys.modules)
{OURS}
print(*(name for name in sys.modules if name not in before and not name.startswith("client_sdk")))
"""
"""A program that prints the modules of the standard library that the import needs."""

PEERS: Final = {
    "sentry-sdk": "import sentry_sdk",
    "posthog": "import posthog",
    "opentelemetry": "from opentelemetry import metrics; from opentelemetry.sdk.metrics import MeterProvider; "
    "from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter",
    "glean": "from glean import Configuration, Glean",
}

WITHOUT: Final = {
    "__init__.py": """
class Telemetry:
    def __init__(self, **options): pass
    def __enter__(self): return self
    def __exit__(self, *problem): pass
    def record(self, *answer): pass
""",
    "consent.py": "def ask(**options): pass\n",
    "telemetry_commands.py": """
import click
class TelemetryCommands:
    def __init__(self, **options): pass
    def click_group(self): return click.Group("telemetry")
""",
}
"""Modules that replace the SDK, to measure the same app without telemetry."""


def measure_commands() -> str:
    return f"## Starting up\n\n{_imports()}\n{_commands()}"


def _imports() -> str:
    library = subprocess.run([sys.executable, "-c", LIBRARY], check=True, capture_output=True, text=True, cwd=ROOT)
    ours = f"import importlib; [importlib.import_module(name) for name in {library.stdout.split()!r}]"
    programs = {"the standard library's part": (sys.executable, ours), "Hearsay SDK": (sys.executable, OURS)}
    try:
        python = str(installed("startup"))
        programs |= {name: (python, program) for name, program in PEERS.items()}
    except PeerError as error:
        sys.stderr.write(f"  the peers cannot be installed: {error}\n")
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, (python, program) in programs.items():
            times[name].append(_import_ms(python, program))
    part, whole = (median(times[name]) for name in ("the standard library's part", "Hearsay SDK"))
    rows = [[f"{name}: `{PEERS.get(name, OURS)}`" if name in PEERS else name, spread(ms)] for name, ms in times.items()]
    ratio = whole / part
    return (
        f"The imports take turns, each in a fresh interpreter. Hearsay's import is `{OURS}`.\n\n"
        + table(("import", "processor time in ms, median (range)"), rows)
        + "\nThe SDK, divided by the standard library's part: "
        + verdict(ratio <= MOST_RATIO, f"{ratio:.2f}", f"≤ {MOST_RATIO}")
    )


def _import_ms(python: str, program: str) -> float:
    timed = f"import time; s = time.process_time(); exec({program!r}); print((time.process_time() - s) * 1000)"
    run = subprocess.run(
        [python, "-c", timed], check=True, capture_output=True, text=True, cwd=ROOT, env=_environment()
    )
    return float(run.stdout)


def _environment() -> dict[str, str]:
    """Return an environment without stored consent, with compiled Python modules."""
    others = ("CI", "DO_NOT_TRACK", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in others}


def _commands() -> str:
    without_ms, refused_ms, on_ms = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as name:
        folder = Path(name)
        stand_in = folder / "client_sdk"
        stand_in.mkdir()
        for module, source in WITHOUT.items():
            (stand_in / module).write_text(source, encoding="utf-8")
        for _ in range(ROUNDS):
            without_ms.append(_command_ms(folder / "without", before=folder))
            refused_ms.append(_command_ms(folder / "refused"))
            on_ms.append(_command_ms(folder / "agreed", NOTES_TELEMETRY="1"))
    more_ms, additions_s = median(on_ms) - median(without_ms), _additions_s()
    scaled_ms = more_ms * REFERENCE_S / additions_s
    return (
        "`notes add` of examples/notes runs in a fresh process. A helper process tries to send the reports; no "
        "collector runs.\n\n"
        + table(
            ("the app", "processor time in ms, median (range)"),
            [
                ["without the SDK", spread(without_ms)],
                ["with the SDK, undecided", spread(refused_ms)],
                ["with the SDK and consent", spread(on_ms)],
            ],
        )
        + f"\nTelemetry slows the command down by {more_ms:.0f} ms on this machine, which needs {additions_s:.2f} s "
        "for 10^7 "
        + f"additions. On a machine that needs {REFERENCE_S} s for them: "
        + verdict(scaled_ms <= WANTED_MS, f"{scaled_ms:.0f} ms", f"≤ {WANTED_MS} ms")
    )


def _command_ms(home: Path, before: Path | None = None, **settings: str) -> float:
    """Return the processor time of the app's command in ms.

    If ``before`` is given, modules in this folder replace others.
    """
    paths = [str(path) for path in (before, ROOT) if path is not None]
    environment = _environment() | settings | {"NOTES_HOME": str(home), "NOTES_COLLECTOR": "http://127.0.0.1:9"}
    program = f"import sys; sys.path[:0] = {paths!r}; from examples.notes.notes import main; main(['add', 'a note'])"
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)
    _, status, used = os.wait4(process.pid, 0)  # it returns the time of this process alone
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, program)
    return (used.ru_utime + used.ru_stime) * 1000


def _additions_s() -> float:
    """Measure the speed of this machine: the seconds for 10^7 additions in a loop."""
    total, began_s = 0, time.process_time()
    for number in range(10**7):
        total += number
    return time.process_time() - began_s
