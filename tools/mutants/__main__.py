"""Runs tests on mutants, and writes the page with the score: ``python -m tools.mutants``.

After an interruption, the next run continues with the remaining mutants. Undetected mutants run
again, because tests may have been added. To use new tests, delete ``lines`` in the folder of the
results.
"""

from __future__ import annotations

import argparse
import subprocess
from typing import Final

from tools.mutants.covering import Record
from tools.mutants.mutant import Mutant, draw, files
from tools.mutants.page import PAGE, also_run, page
from tools.mutants.trial import Results, Trial
from tools.trusted_core import ROOT

SUITES: Final = ("tests/contract", "tests/exact", "tests/unit/client_sdk", "tests/unit/collector")
"""The folders with the quick tests of the measured packages."""


CONTROL_S: Final = 1800.0
"""The time limit in seconds for the check on unchanged code, with all tests that detected a mutant.
"""


def measured_commit() -> str:
    """Return the hash of the last commit that changed the measured code or its tests."""
    command = ["git", "log", "-1", "--format=%h", "--", *files()]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Run tests on mutants of a given number of lines, except mutants with a final result."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="what the lines are drawn from")
    parser.add_argument("--number", type=int, default=200, help="how many lines")
    parser.add_argument("--seconds", type=float, default=15.0, help="how long a mutant may take")
    options = parser.parse_args()
    if options.number < 1 or options.seconds <= 0:
        parser.error("--number must be at least 1, and --seconds more than 0")
    commit = measured_commit()
    folder = ROOT / "build" / "mutants" / commit
    trial = Trial(ROOT, Record.made(ROOT, folder, SUITES), options.seconds)
    results = Results(folder / f"seed-{options.seed}.jsonl")
    mutants: list[Mutant] = []
    for mutant in draw(options.seed, options.number, ROOT, files()):
        mutants.append(mutant)
        if not results.is_killed(mutant):
            result = trial.run(mutant, also_run().get(mutant.key, ()))
            results.append(mutant, result)
            print(f"{len(mutants)}/{options.number} {result.outcome}, {result.seconds:.0f} s: {mutant.key}", flush=True)
    results.doubt(mutants, set(trial.refused(mutants[0].file, results.tests(mutants), CONTROL_S)))
    PAGE.write_text(
        page(options.seed, options.seconds, commit, [results.latest(mutant) for mutant in mutants]), encoding="utf-8"
    )
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
