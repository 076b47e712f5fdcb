"""Puts the output of the demo into the README: ``python -m tools.demo_output [FILE]``.

FILE contains the output of ``examples/health/demo.py``. Without FILE, the demo is run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- demo: written by python -m tools.demo_output -->\n"
END: Final = "<!-- end of demo -->\n"


def shown(output: str) -> str:
    """Return the demo's output for the README, without the lines that name a folder."""
    return output.partition("\nThe same as a page: ")[0].strip("\n") + "\n"


def block() -> str:
    """Return the output that the README shows now."""
    text = README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return text.removeprefix("```text\n").removesuffix("```\n")


def shape(output: str) -> list[str]:
    """Return the lines of an output without numbers and other differences between runs."""
    lines = (re.sub(r"\s+misses$", "", line) for line in output.splitlines())
    return [" ".join(re.sub(r"-?\d[\d,.]*", "#", line).split()) for line in lines]


def main() -> None:
    """Write the output into the README."""
    if arguments := sys.argv[1:]:
        output = Path(arguments[0]).read_text(encoding="utf-8")
    else:
        demo = [sys.executable, str(ROOT / "examples" / "health" / "demo.py")]
        output = subprocess.run(demo, check=True, stdout=subprocess.PIPE, text=True).stdout
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}```text\n{shown(output)}```\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
