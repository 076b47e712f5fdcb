"""A table fits where it is shown: its width, its characters, and colors only on request."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

import pytest

from estimator.render.rounding import MINUS, PERCENT, shown
from estimator.render.text.report import as_table
from estimator.render.text.style import EIGHTHS, PLAIN, Style, aligned, columns_of, wrapped
from estimator.report.report import make_report
from estimator.results.estimate import Estimate
from estimator.results.report import EstimateReport, Request, Selection
from estimator.tallies import decode
from tests.support.estimates.every_kind import REGISTRY, tallies

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class _Stream(io.StringIO):
    def __init__(self, encoding: str, *, is_terminal: bool) -> None:
        super().__init__()
        self._encoding, self._is_terminal = encoding, is_terminal

    @property
    def encoding(self) -> str:  # type: ignore[override] # of a terminal
        return self._encoding

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.fixture(scope="module")
def report() -> EstimateReport:
    read = decode(tallies().splitlines(keepends=True))
    return make_report(REGISTRY, read, Selection(preliminary=True), Request(pool=True, fakes=0.01))


def lengths(text: str) -> list[int]:
    return [len(ESCAPES.sub("", line)) for line in text.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("style", [PLAIN, Style(is_ascii=True), Style(is_colored=True), Style(91), Style(160)])
def test_every_kind_fits_the_width(report: EstimateReport, style: Style) -> None:
    assert max(lengths(as_table(report, style))) <= style.width


@pytest.mark.slow
@pytest.mark.parametrize("reports", [0, 1])
def test_hardly_any_report_of_every_kind_makes_a_table(reports: int) -> None:
    read = decode(tallies(reports).splitlines(keepends=True))
    text = as_table(make_report(REGISTRY, read, Selection(preliminary=True), Request(pool=True)))
    assert max(lengths(text)) <= PLAIN.width
    assert "nan" not in text


@pytest.mark.slow
def test_a_distribution_has_no_mark_and_its_clusters_say_what_was_resampled(report: EstimateReport) -> None:
    read = list(decode([line for line in tallies().splitlines(keepends=True) if b'"steps"' in line]))
    text = as_table(make_report(REGISTRY, read, Selection(preliminary=True), Request(clusters=True)))
    assert "~" not in text
    assert "Their intervals are valid for every population" in " ".join(text.split())
    assert "their stability are determined by resampling tallies" in text
    assert re.search(r"^  \d+ clusters?, 2026-11-20: the same number in \d+% of resampled tallies$", text, re.MULTILINE)
    assert "resampl" not in as_table(report)


def test_a_table_in_ascii_holds_nothing_else(report: EstimateReport) -> None:
    text = as_table(report, Style(is_ascii=True))
    assert text.isascii()
    assert "50.1% +- 2.0    46.2 to 54.0     #####" in text


def test_wider_terminals_show_the_likeliest_and_more_of_a_value(report: EstimateReport) -> None:
    assert "likeliest" not in as_table(report, Style(90))
    assert "likeliest" in as_table(report, Style(91))
    assert Style(160).cut("x" * 40) == "x" * 40


@pytest.mark.parametrize(
    ("part", "bar"), [(-1, ""), (0, ""), (0.5, "█"), (1, "██"), (9, "██"), (1 / 16, "▏"), (0.75, "█▌")]
)
def test_a_bar_shows_eighths_and_ends_at_its_ends(part: float, bar: str) -> None:
    assert PLAIN.bar(part, 2) == bar


def test_a_longer_bar_is_never_of_less() -> None:
    shown = [PLAIN.bar(eighth / 16, 2) for eighth in range(17)]
    assert shown == sorted(shown, key=lambda bar: [EIGHTHS.index(cell) for cell in bar.ljust(2)])
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize(
    ("stream", "environment", "style"),
    [
        (_Stream("utf-8", is_terminal=False), {}, Style()),
        (_Stream("ascii", is_terminal=False), {}, Style(is_ascii=True)),
        (_Stream("latin-1", is_terminal=True), {}, Style(100, is_colored=True, is_ascii=True)),
        (_Stream("utf-8", is_terminal=True), {}, Style(100, is_colored=True)),
        (_Stream("utf-8", is_terminal=True), {"NO_COLOR": "1"}, Style(100)),
        (_Stream("utf-8", is_terminal=True), {"NO_COLOR": ""}, Style(100, is_colored=True)),
        (_Stream("utf-8", is_terminal=True), {"TERM": "dumb"}, Style(100)),
        (_Stream("no-such", is_terminal=False), {}, Style(is_ascii=True)),
    ],
)
def test_a_style_is_what_the_stream_can_show(
    monkeypatch: pytest.MonkeyPatch, stream: _Stream, environment: Mapping[str, str], style: Style
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert Style.from_stream(stream, environment) == style


@pytest.mark.parametrize(("columns", "width"), [("40", 80), ("120", 120), ("500", 160)])
def test_a_line_is_no_narrower_than_a_table_and_no_wider_than_a_glance(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert Style.from_stream(_Stream("utf-8", is_terminal=True), {}).width == width


def test_both_parts_of_a_pair_can_be_read_and_a_label_without_a_window_has_its_room() -> None:
    pairs = [
        ("a system with a long name", "yes"),
        ("a system with a long name", "no"),
        ("x", "an answer of many words"),
    ]
    cut = ["a system wi…, yes", "a system wit…, no", "x, an answer of …"]
    assert [Style().cut(pair) for pair in pairs] == cut
    assert Style().cut(("a" * 20, "b" * 20)) == "aaaaaaa…, bbbbbb…"
    estimate = Estimate(None, None, 0.0, 1.0, None)
    with_window, without = (
        Style().row(window, shown(pairs[0], estimate, PERCENT), "none") for window in ("2026-11-20", "")
    )
    assert with_window.startswith(f"  {cut[0]} 2026-11-20")
    assert without.startswith("  a system with a long na…, yes ")
    assert with_window.index("none") == without.index("none")


WORDS = {"日本語日本語日本語": 18, "שלום": 4, "e\u0301te\u0301": 3, "👍": 2, "été": 3}
"""Values in several scripts, with the columns that a terminal gives them."""


@pytest.mark.parametrize(("text", "columns"), WORDS.items())
def test_wide_characters_and_combining_marks_take_the_columns_that_a_terminal_gives_them(
    text: str, columns: int
) -> None:
    assert columns_of(text) == columns
    assert columns_of(PLAIN.filled(text, 17)) == 17
    assert columns_of(PLAIN.cut(("日本語日本語", text), 17)) <= 17
    assert all(columns_of(line) <= 20 for line in wrapped(f"{text} " * 9, 20, "", "  "))


def test_a_figure_is_never_minus_zero() -> None:
    row = PLAIN.row("", shown("no", Estimate(-1e-9, 1e-9, 0.0, 1e-9, -0.0), PERCENT, (0.0, 1.0)))
    assert "-0" not in row
    assert "0.000000% ± 1.0e\N{MINUS SIGN}7" in row


def test_points_of_numbers_of_one_unit_stand_in_one_column() -> None:
    assert aligned(["9.45%", "61.3%", "", f"{MINUS}0.5%", "1,234%"]) == [
        "    9.45%",
        "   61.3% ",
        "         ",
        f"   {MINUS}0.5% ",
        "1,234%   ",
    ]
    small, large = Estimate(0.0123, 0.001, 0.01, 0.014), Estimate(0.61, 0.02, 0.57, 0.65)
    lines = list(PLAIN.rows([("", shown(label, each, PERCENT)) for label, each in (("a", small), ("b", large))]))
    assert len({line.index(".") for line in lines}) == 1
