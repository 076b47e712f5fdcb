"""The time of an exact audit with the command that a reviewer would use."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.results import table, verdict
from tests.support.devices.definitions import CATEGORY, registry_text

HEALTH = Path(__file__).parents[1] / "examples" / "health" / "metrics.toml"
VALUES, EPSILONS = 1024, ("0.5", "1", "2", "4")
MECHANISMS = ("cyclic-design", "projective-geometry")
LIMIT_S = 60.0


def measure_exact() -> str:
    rows, slowest_s = [], 0.0
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder:
        registry = Path(folder) / "metrics.toml"
        rows.append(["health registry", *_proved(HEALTH)[1]])
        for mechanism in MECHANISMS:
            for epsilon in EPSILONS:
                _ask(registry, mechanism, epsilon)
                seconds, row = _proved(registry)
                slowest_s = max(slowest_s, seconds)
                rows.append([f"{VALUES} values, epsilon {epsilon}, {mechanism}", *row])
        _ask(registry, MECHANISMS[1], "1")
        rows.append([f"{VALUES} values, epsilon 1, {MECHANISMS[1]}, all inputs", *_proved(registry, "--all-inputs")[1]])
    return (
        "## The exact audit\n\nThe time of `audit --exact` is in processor seconds of a fresh process. Each row is a "
        "single run.\n\n"
        + table(("audited", "inputs walked", "symbols", "paths", "seconds"), rows)
        + f"\nThe slowest audit of {VALUES} values that checks only a sample of inputs: "
        + verdict(slowest_s <= LIMIT_S, f"{slowest_s:.1f} s", f"≤ {LIMIT_S:.0f} s")
    )


def _ask(registry: Path, mechanism: str, epsilon: str) -> None:
    values = [f"v{place}" for place in range(VALUES)]
    metric = CATEGORY | {"values": values, "mechanism": mechanism, "epsilon": float(epsilon)}
    registry.write_text(registry_text(m=metric), encoding="utf-8")


def _proved(registry: Path, *options: str) -> tuple[float, list[str]]:
    """Run an audit that must accept all claims.

    Return the audit's seconds, and the audit's cells in the table.
    """
    before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = ["-m", "estimator", "audit", "--exact", "--registry", str(registry), "--format", "json", *options]
    done = subprocess.run([sys.executable, *command], capture_output=True, check=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before_s
    proofs = json.loads(done.stdout)["proofs"]
    inputs, symbols, paths = (sum(proof[key] for proof in proofs) for key in ("inputs_walked", "symbols", "paths"))
    return seconds, [f"{inputs:,}", f"{symbols:,}", f"{paths:,}", f"{seconds:.1f}"]
