from __future__ import annotations

from dataclasses import asdict

import pytest

from benchmarks.sizing import PAGE, RESULTS, SOURCES, Figures, measured, shown, tables


def test_the_page_shows_what_follows_from_the_results() -> None:
    expected = tables(measured(RESULTS.read_text(encoding="utf-8")))
    assert shown(PAGE.read_text(encoding="utf-8")) == expected, "write it anew: python -m benchmarks.sizing"


def test_the_page_names_every_figure_in_its_arithmetic() -> None:
    arithmetic = PAGE.read_text(encoding="utf-8").partition("<!-- end of tables -->")[2]
    assert [name for name in SOURCES if f"`{name}`" not in arithmetic] == []
    assert set(SOURCES) == set(asdict(Figures(*range(len(SOURCES)))))


def test_a_missing_row_is_named() -> None:
    with pytest.raises(LookupError, match="'with `--metrics-bind`' in the section 'Workers'"):
        measured("# Results\n\n## Workers\n\n| without `--metrics-bind` | 1 |\n")
