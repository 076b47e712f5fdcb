"""The time that the demo and the tests take in a fresh clone without a cache."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.results import table, verdict

ROOT = Path(__file__).parents[1]
LIMITS_S = {"demo": 180.0, "test": 600.0}


def measure_fresh() -> str:
    times = {target: fresh_s(target) for target in LIMITS_S}
    rows = [
        [f"`make {target}`", verdict(times[target] <= limit, f"{times[target]:.0f} s", f"≤ {limit:.0f} s").strip()]
        for target, limit in LIMITS_S.items()
    ]
    return (
        "## From a fresh clone\n\nThe home directory is empty, and there are no caches. Times include installation; "
        "each command ran once.\n\n" + table(("command", "time"), rows)
    )


def fresh_s(target: str) -> float:
    with tempfile.TemporaryDirectory(prefix="hearsay-fresh-") as home:
        clone = Path(home) / "hearsay"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)  # noqa: S607 on the PATH
        environment = {name: os.environ[name] for name in ("PATH", "PIP_CERT", "PIP_FIND_LINKS") if name in os.environ}
        environment |= {"HOME": home, "LANG": "C.UTF-8", "PIP_NO_CACHE_DIR": "1"}
        started = time.perf_counter()
        done = subprocess.run(
            ["make", "-C", str(clone), target],  # noqa: S607 on the PATH
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"make {target} failed in a fresh clone:\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}")
        return time.perf_counter() - started
