from __future__ import annotations

from dataclasses import asdict

import pytest

from benchmarks.sizing import ROOT, SOURCES, Figures, measured, needs

PAGE = ROOT / "docs" / "reference" / "store.md"


def test_the_results_have_every_figure() -> None:
    shown = needs()
    assert [name for name in SOURCES if f"| `{name}` |" not in shown] == []
    assert set(SOURCES) == set(asdict(Figures(*range(len(SOURCES)))))


def test_the_page_names_every_figure_in_its_arithmetic() -> None:
    arithmetic = PAGE.read_text(encoding="utf-8").partition("## Arithmetic")[2]
    assert [name for name in SOURCES if f"`{name}`" not in arithmetic] == []


def test_a_missing_row_is_named() -> None:
    with pytest.raises(LookupError, match="'with `--metrics-bind`' in the section 'Workers'"):
        measured("# Results\n\n## Workers\n\n| without `--metrics-bind` | 1 |\n")
