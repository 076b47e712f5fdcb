"""Drawings, plots, their data, and what pages compute from them, are what the code gives."""

from __future__ import annotations

import re

import pytest

from tools import terminal_pictures
from tools.figures.data import CLOSED_FORMS, SIZES, Row, tables

pytestmark = pytest.mark.system


def test_pictures_and_numbers_are_what_the_code_gives() -> None:
    from tools.figures import __main__ as figures  # noqa: PLC0415 1,000 ms, of every run's collection

    stale = [path.name for path, text in figures.written() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: make assets"


def test_pictures_of_a_terminal_are_what_it_shows() -> None:
    stale = [path.name for path, text in terminal_pictures.written() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python -m tools.terminal_pictures"


def test_ours_is_never_better_than_the_least_variance_of_theory() -> None:
    head, *rows = tables()["shares_by_epsilon.csv"]
    assert len(rows) == len(SIZES) * 9
    for row in rows:
        assert float(row[2]) >= float(row[head.index("subset selection")]) * (1 - 1e-3)


def test_lines_of_a_plot_differ_in_more_than_their_color() -> None:
    from tools.figures import __main__ as figures  # noqa: PLC0415 as above
    from tools.figures import plots  # noqa: PLC0415 as above

    dashes = [(str(look["linestyle"]), look["marker"]) for look in plots.LOOKS]
    assert len(set(dashes)) == len(dashes)
    for name, rows in tables().items():
        svg = (figures.PLOTS / name).with_suffix(".svg").read_text(encoding="utf-8")
        assert "prefers-color-scheme: dark" in svg
        for label in labels(rows):
            assert f">{label}<" in svg


def labels(rows: list[Row]) -> set[str]:
    if rows[0][0] == "channel":
        return {row[0] for row in rows[1:]}
    of_means = r"optimal-mean|one-bit|laplace|piecewise|hybrid"
    return {name for name in rows[0] if name in CLOSED_FORMS or re.match(of_means, name)}
