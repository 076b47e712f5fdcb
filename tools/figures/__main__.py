"""Writes the drawings, and the plots with their data: ``python -m tools.figures``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.figures import drawings, plots
from tools.figures.data import Row, excess, small_table, tables

DOCS: Final = Path(__file__).parents[2] / "docs"
PICTURES: Final = DOCS / "pictures"
PLOTS: Final = DOCS / "research" / "plots"

DRAWINGS: Final = {"overview.svg": drawings.overview, "ledger.svg": drawings.ledger, "windows.svg": drawings.windows}

BLOCKS: Final = {
    ("research/mechanisms.md", "excess"): excess,
    ("how-to/small-teams.md", "small"): small_table,
}
"""The parts of pages that are computed, by page and mark."""


def block(page: str, mark: str) -> str:
    """Return what stands between two marks of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition(f"<!-- {mark}: written by make assets -->\n")[2].partition(f"<!-- end of {mark} -->")[0]


def csv(rows: Sequence[Row]) -> str:
    """Return a table as CSV."""
    return "".join(f"{','.join(row)}\n" for row in rows)


def main() -> None:
    """Write every file."""
    for name, draw in DRAWINGS.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
    for name, rows in tables().items():
        (PLOTS / name).write_text(csv(rows), encoding="utf-8")
        plot = getattr(plots, name.removesuffix(".csv"))
        (PLOTS / name).with_suffix(".svg").write_text(plot(rows), encoding="utf-8")
    for (page, mark), computed in BLOCKS.items():
        begin, end = f"<!-- {mark}: written by make assets -->\n", f"<!-- end of {mark} -->"
        before, _, rest = (DOCS / page).read_text(encoding="utf-8").partition(begin)
        text = f"{before}{begin}{computed()}{end}{rest.partition(end)[2]}"
        (DOCS / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
