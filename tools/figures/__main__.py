"""Writes the drawings, and the plots with their data: ``python -m tools.figures``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tools.figures import drawings, plots
from tools.figures.data import Row, devices_table, excess, needed_table, spent_table, tables
from tools.figures.tree import tested_table

DOCS: Final = Path(__file__).parents[2] / "docs"
PICTURES: Final = DOCS / "pictures"
PLOTS: Final = DOCS / "research" / "plots"

DRAWINGS: Final = {"overview.svg": drawings.overview, "ledger.svg": drawings.ledger, "windows.svg": drawings.windows}

BLOCKS: Final = {
    ("research/mechanisms.md", "excess"): excess,
    ("is-it-for-you.md", "devices"): devices_table,
    ("concepts/index.md", "spent"): spent_table,
    ("concepts/index.md", "needed"): needed_table,
    ("privacy/how-it-is-tested.md", "tested"): tested_table,
}
"""The computed parts of pages, by page and by the name in the page's markers."""


def csv(rows: Sequence[Row]) -> str:
    """Return a table as CSV."""
    return "".join(f"{','.join(row)}\n" for row in rows)


def written() -> Iterator[tuple[Path, str]]:
    """Yield every file that this command writes, with its content."""
    for name, draw in DRAWINGS.items():
        yield PICTURES / name, draw()
    for name, rows in tables().items():
        yield PLOTS / name, csv(rows)
        yield (PLOTS / name).with_suffix(".svg"), getattr(plots, name.removesuffix(".csv"))(rows)
    for (page, mark), computed in BLOCKS.items():
        begin, end = f"<!-- {mark}: written by make assets -->\n", f"<!-- end of {mark} -->"
        before, _, rest = (DOCS / page).read_text(encoding="utf-8").partition(begin)
        yield DOCS / page, f"{before}{begin}{computed()}{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    for path, text in written():
        path.write_text(text, encoding="utf-8")
