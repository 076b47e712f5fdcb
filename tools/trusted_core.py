"""Writes the table of the trusted core: ``python -m tools.trusted_core``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "privacy" / "proofs.md"
LIST: Final = ROOT / "tests" / "architecture" / "trusted_core.toml"
PACKAGE: Final = ROOT / "client_sdk"
TABLE: Final = re.compile(r"(<!-- table: written by make architecture -->\n).*(<!-- end of table -->)", re.DOTALL)


def listed() -> dict[str, str]:
    """Return the guarantee of each module of the trusted core, in the order of reading.

    A module is named by its path within the package.
    """
    modules: dict[str, str] = tomllib.loads(LIST.read_text(encoding="utf-8"))["modules"]
    return modules


def most_lines() -> int:
    """Return the maximum total number of lines of the core's modules."""
    return int(tomllib.loads(LIST.read_text(encoding="utf-8"))["most_lines"])


def lines_of(module: str) -> int:
    """Return the number of a module's lines, including docstrings."""
    return len((PACKAGE / module).read_text(encoding="utf-8").splitlines())


def page() -> str:
    """Return the page, with the table and the numbers of lines of the current code."""
    modules = listed()
    rows = "".join(f"| `{module}` | {lines_of(module)} | {guarantee} |\n" for module, guarantee in modules.items())
    table = f"| module | lines | what it guarantees |\n| --- | --- | --- |\n{rows}"
    total = rf"**{len(modules)} modules,\g<1>{sum(map(lines_of, modules)):,} lines**"
    text = re.sub(r"\*\*\d+ modules,(\s)[\d,]+ lines\*\*", total, PAGE.read_text(encoding="utf-8"))
    return TABLE.sub(lambda found: f"{found[1]}{table}{found[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
