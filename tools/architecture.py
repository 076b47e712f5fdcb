"""Draws the architecture from the code.

Run as ``python -m tools.architecture``; with ``--check`` it only compares.

The order of a package's folders comes from its import-linter contract, the line on each folder from
its docstring, and each arrow from imports. `docs/concepts/architecture.md` holds the trees between
markers; the drawings lie beside it as SVG.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from tools.drawing import drawing
from tools.import_graph import PACKAGES, ROOT, imports, syntax
from tools.ways import WAYS, Step

PAGE: Final = ROOT / "docs" / "concepts" / "architecture.md"
DRAWINGS: Final = ROOT / "docs" / "concepts" / "architecture"
BEGIN, END = "<!-- {name}: written by make architecture -->", "<!-- end of {name} -->"
NESTED: Final = {"client_sdk": "protocol"}
"""The folder whose own folders are drawn, too: a package and its ground floor."""


def layers(container: str) -> list[list[str]]:
    """Return the names of a package's layers, from roof to ground, as in its contract."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (each for each in contracts["contracts"] if each.get("containers") == [container])
    return [[name.strip(" ()") for name in re.split(r"[|:]", layer)] for layer in contract["layers"]]


def summary(path: Path) -> str:
    """Return the first sentence of a module's or folder's docstring, without its full stop."""
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    paragraph = (ast.get_docstring(syntax(source)) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("``", "`").partition(". ")[0].removesuffix(".")


def arrows(container: str) -> set[tuple[str, str]]:
    """Return which names directly in a package import which others."""
    inside = f"{container}."
    pairs = {
        (each.source.removeprefix(inside).partition(".")[0], each.target.removeprefix(inside).partition(".")[0])
        for each in imports()
        if each.source.startswith(inside) and each.target.startswith(inside)
    }
    return {(source, target) for source, target in pairs if source != target}


def reduced(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the arrows that do not follow from others.

    Without the rest the order of layers is the same.
    """
    targets: dict[str, set[str]] = {}
    for source, target in edges:
        targets.setdefault(source, set()).add(target)

    def beyond(start: str) -> set[str]:
        reached: set[str] = set()
        ahead = list(targets.get(start, ()))
        while ahead:
            if (name := ahead.pop()) not in reached:
                reached.add(name)
                ahead += targets.get(name, ())
        return reached

    behind = {name: beyond(name) for name in targets}
    return {
        (source, target)
        for source, target in edges
        if not any(
            target in behind.get(other, ()) and source not in behind.get(other, ())
            for other in targets[source] - {target}
        )
    }


def package_drawing(container: str) -> str:
    """Return a package's folders in their order, with the arrows of their imports."""
    folder = ROOT.joinpath(*container.split("."))
    rows = [{name: plain(summary(folder / name)) for name in layer} for layer in layers(container)]
    names = {name for row in rows for name in row}
    drawn = {arrow for arrow in arrows(container) if set(arrow) <= names}
    return drawing(rows, reduced(drawn), f"{container}: what is above imports what is below")


def way_drawing(name: str, steps: Sequence[Step]) -> str:
    """Return a way of data, station by station."""
    places = [f"{number}. {step.place.replace(':', ' · ')}" for number, step in enumerate(steps, 1)]
    rows = [{place: step.does} for place, step in zip(places, steps, strict=True)]
    return drawing(rows, set(pairwise(places)), name.replace("_", " "), widest=560)


def plain(text: str) -> str:
    """Return a text without Markdown's code marks."""
    return text.replace("`", "")


def tree(package: str) -> str:
    """Return a package as a tree of text, one line for each folder, in the order of its layers."""
    rows = [(f"{package}/", plain(summary(ROOT / package)))]
    for name in (name for layer in layers(package) for name in layer):
        path = ROOT / package / name
        rows.append((f"  {name}/" if path.is_dir() else f"  {name}.py", plain(summary(path))))
        if name == NESTED.get(package):
            inner = [name for layer in layers(f"{package}.{name}") for name in layer if (path / name).is_dir()]
            rows += [(f"    {each}/", plain(summary(path / each))) for each in inner]
    width = max(len(name) for name, _ in rows) + 2
    return "```text\n" + "\n".join(f"{name:{width}}{text}".rstrip() for name, text in rows) + "\n```\n"


def written() -> dict[Path, str]:
    """Return every file that this command writes, and what it holds."""
    page = PAGE.read_text(encoding="utf-8")
    for package in PACKAGES:
        begin, end = (mark.format(name=package) for mark in (BEGIN, END))
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{tree(package)}{end}{rest.partition(end)[2]}"
    containers = [*PACKAGES, *(f"{package}.{folder}" for package, folder in NESTED.items())]
    drawings = {DRAWINGS / f"{container}.svg": package_drawing(container) for container in containers}
    ways = {DRAWINGS / f"{name}.svg": way_drawing(name, steps) for name, steps in WAYS.items()}
    return {PAGE: page, **drawings, **ways}


def stale() -> list[Path]:
    """Return the files that are out of date."""
    files = written()
    return [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> None:
    """Write every file, or name those that are out of date."""
    if "--check" in sys.argv[1:]:
        if out_of_date := stale():
            sys.exit(f"out of date: {', '.join(path.name for path in out_of_date)}; run make architecture")
        return
    DRAWINGS.mkdir(exist_ok=True)
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
