"""Drawings, the data of plots, and what pages compute from them, are what the code gives."""

from __future__ import annotations

import re

import pytest

from tools.figures import plots
from tools.figures.__main__ import BLOCKS, DRAWINGS, PICTURES, PLOTS, block, csv
from tools.figures.data import CLOSED_FORMS, SIZES, Row, tables

REFRESH = "run: make assets"
TABLES = tables()


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_what_the_code_draws(name: str) -> None:
    assert (PICTURES / name).read_text(encoding="utf-8") == DRAWINGS[name](), REFRESH


@pytest.mark.parametrize("name", TABLES)
def test_the_data_of_a_plot_are_what_the_code_computes(name: str) -> None:
    assert (PLOTS / name).read_text(encoding="utf-8") == csv(TABLES[name]), REFRESH


@pytest.mark.parametrize(("page", "mark"), BLOCKS)
def test_what_a_page_computes_is_up_to_date(page: str, mark: str) -> None:
    assert block(page, mark) == BLOCKS[page, mark](), REFRESH


def test_ours_is_never_better_than_the_least_variance_of_theory() -> None:
    head, *rows = TABLES["shares_by_epsilon.csv"]
    assert len(rows) == len(SIZES) * 9
    for row in rows:
        assert float(row[2]) >= float(row[head.index("subset selection")]) * (1 - 1e-3)


@pytest.mark.parametrize("name", TABLES)
def test_lines_of_a_plot_differ_in_more_than_their_colour(name: str) -> None:
    svg = (PLOTS / name).with_suffix(".svg").read_text(encoding="utf-8")
    dashes = [(str(look["linestyle"]), look["marker"]) for look in plots.LOOKS]
    assert len(set(dashes)) == len(dashes)
    assert "prefers-color-scheme: dark" in svg
    for label in labels(TABLES[name]):
        assert f">{label}<" in svg


def labels(rows: list[Row]) -> set[str]:
    if rows[0][0] == "channel":
        return {row[0] for row in rows[1:]}
    of_means = r"optimal-mean|one-bit|laplace|piecewise|hybrid"
    return {name for name in rows[0] if name in CLOSED_FORMS or re.match(of_means, name)}
