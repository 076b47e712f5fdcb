"""Writes the trees of `docs/concepts/architecture.md`: ``python -m tools.architecture``.

The package's import contract determines the order of the folders. A folder's docstring determines
the text about the folder.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Final

from tools.import_graph import PACKAGES, ROOT, syntax

PAGE: Final = ROOT / "docs" / "concepts" / "architecture.md"
BEGIN, END = "<!-- {name}: written by make architecture -->", "<!-- end of {name} -->"
NESTED: Final = {"client_sdk": "protocol"}
"""The only folder with subfolders in the trees."""


def layers(container: str) -> list[list[str]]:
    """Return the layers in a package's import contract, from top to bottom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (each for each in contracts["contracts"] if each.get("containers") == [container])
    return [[name.strip(" ()") for name in re.split(r"[|:]", layer)] for layer in contract["layers"]]


def summary(path: Path) -> str:
    """Return the first sentence of a module's or folder's docstring, without its period."""
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    paragraph = (ast.get_docstring(syntax(source)) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("`", "").partition(". ")[0].removesuffix(".")


def tree(package: str) -> str:
    """Return the tree of a package: a line for each module and folder, in the order of layers."""
    rows = [(f"{package}/", summary(ROOT / package))]
    for name in (name for layer in layers(package) for name in layer):
        path = ROOT / package / name
        rows.append((f"  {name}/" if path.is_dir() else f"  {name}.py", summary(path)))
        if name == NESTED.get(package):
            inner = [name for layer in layers(f"{package}.{name}") for name in layer if (path / name).is_dir()]
            rows += [(f"    {each}/", summary(path / each)) for each in inner]
    width = max(len(name) for name, _ in rows) + 2
    return "```text\n" + "\n".join(f"{name:{width}}{text}".rstrip() for name, text in rows) + "\n```\n"


def written() -> str:
    """Return the page with the trees of the current code."""
    page = PAGE.read_text(encoding="utf-8")
    for package in PACKAGES:
        begin, end = (mark.format(name=package) for mark in (BEGIN, END))
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{tree(package)}{end}{rest.partition(end)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
