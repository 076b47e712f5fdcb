"""The size and speed of the SDK for browsers and Node, and its tests with races and kills."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from benchmarks.results import table, verdict

PACKAGE: Final = Path(__file__).parents[1] / "client_sdk" / "typescript"

ROUNDS: Final = 20

SIZES: Final = {"everything": 13_300, "boolean, category, number": 8_200}
"""The goals for the size in bytes, after bundling, minifying and gzip. A KB is 1,000 bytes."""

CHANNELS: Final = {"randomized response": 300, "k-ary, 32": 300, "projective geometry, 1,024": 100}
"""The goal: the minimum number of answers, in thousands, that a core perturbs per second."""

MOST_OF_BARE: Final = 2.5
"""The goal for the median time of `record` in Chromium, divided by the median time of a bare
durable write in the same run.
"""

MOST_MS: Final = 5.0
"""The goal for the 95th percentile of the time of `record` in Chromium, in milliseconds."""


def measure_typescript() -> str:
    _npm("run", "--silent", "build")
    sizes = dict(
        re.findall(r"(everything|boolean, category, number): (\d+) bytes", _node("--test", "dist/test/size.test.js"))
    )
    speeds = dict(re.findall(r"^(.+): (\d+) thousand", _node("dist/test/bench.js"), re.MULTILINE))
    return (
        "## The SDK in TypeScript\n\n"
        "The figures are from `npm run bench`, `npm run bench:browsers` and the test of sizes, in "
        "`client_sdk/typescript`.\n\n"
        + "".join(
            f"A bundle for {name}, after gzip: "
            f"{verdict(int(sizes[name]) <= most, f'{int(sizes[name]):,} B', f'≤ {most:,} B')}\n"
            for name, most in SIZES.items()
        )
        + "Perturbations per second on one core, with coins from the operating system:\n\n"
        + table(
            ("channel", "thousand per second", "wanted"),
            [[name, speed, f"≥ {CHANNELS[name]}" if name in CHANNELS else ""] for name, speed in speeds.items()],
        )
        + "\n"
        + _record(_node("dist/browsers/bench.js"))
    )


def _record(output: str) -> str:
    pattern = r"(\w+): record median ([\d.]+) ms, 95% ([\d.]+) ms; bare strict add median ([\d.]+) ms, 95% ([\d.]+) ms"
    rows = [list(row) for row in re.findall(pattern, output)]
    head = ("browser", "`record`, median ms", "95%", "bare write, median ms", "95%")
    _, median, most, bare, _ = next(row for row in rows if row[0] == "chrome")
    ratio = float(median) / float(bare)
    over = verdict(ratio <= MOST_OF_BARE, f"{ratio:.1f}", f"≤ {MOST_OF_BARE}")
    return (
        "The time of `record` with strict durability, for the first 50 questions of a device, next to that of a bare "
        "write:\n\n"
        + table(head, rows)
        + f"\nChromium, median divided by that of a bare write: {over}\n"
        + f"Chromium, 95th percentile: {verdict(float(most) <= MOST_MS, f'{most} ms', f'≤ {MOST_MS} ms')}"
    )


def measure_browsers() -> str:
    return browsers_section(_node("--test", "dist/browsers/browsers.test.js", rounds=ROUNDS))


def browsers_section(tap: str) -> str:
    """Return the section about the browser tests, from their output in the format TAP.

    A test counts as failed if it failed in any round.
    """
    browsers = re.split(r"^ {4}# Subtest: (chrome|firefox)\n", tap, flags=re.MULTILINE)[1:]
    rows = [
        [browser, name, str(ROUNDS), "0" if outcome == "ok" else "**some**"]
        for browser, printed in zip(browsers[::2], browsers[1::2], strict=True)
        for outcome, name in re.findall(
            r"^ {8}(ok|not ok) \d+ - (two tabs with .*|a tab that is killed .*)$", printed, re.MULTILINE
        )
    ]
    return (
        "## Races and crashes in browsers\n\n"
        f"`HEARSAY_ROUNDS={ROUNDS} make test-browsers` crashes a tab of Chromium, and kills all of Firefox. A round\n"
        "fails if a ceiling is exceeded, or if a report acknowledged as queued is not counted, or is counted twice.\n\n"
        + table(("browser", "test", "rounds", "failed"), rows)
    )


def _npm(*arguments: str) -> None:
    subprocess.run(["npm", *arguments], cwd=PACKAGE, check=True)  # noqa: S607 npm of the path, as make calls it


def _node(*arguments: str, rounds: int = 1) -> str:
    environment = os.environ | {"HEARSAY_BIN": str(Path(sys.executable).parent), "HEARSAY_ROUNDS": str(rounds)}
    command = ["node", *arguments]
    return subprocess.run(command, cwd=PACKAGE, env=environment, check=False, text=True, stdout=subprocess.PIPE).stdout
