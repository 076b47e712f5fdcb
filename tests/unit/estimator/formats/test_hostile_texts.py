"""Texts that devices chose to harm the reader of a report: each form shows them, and none obeys."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from client_sdk.protocol import Registry
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.analyses.texts import sampled_texts
from estimator.commands.cli import command
from estimator.formats.tables import as_csv
from estimator.render.html.page import as_html
from estimator.render.rounding import UNBROKEN
from estimator.render.text.report import as_table as as_verbose_table
from estimator.render.text.summary import as_summary
from estimator.report.report import make_report
from estimator.results.report import EstimateReport, Request
from estimator.shown_report import ShownReport
from estimator.tallies import decode
from tests.support.devices.definitions import CATEGORY, TEXT, registry_text, without
from tests.support.estimates.documents import listed

FORMULAS: Final = {
    "=HYPERLINK(1)": "'=HYPERLINK(1)",
    "=cmd|'/C x'!A0": "'=cmd|'/C x'!A0",
    "+1+1": "'+1+1",
    "-1": "'-1",
    "@SUM(1)": "'@SUM(1)",
    "＝1": "'＝1",  # noqa: RUF001 the wide sign is the attack
    "'=1": "''=1",
}
"""Texts, and what CSV holds of them."""

MARKUP: Final = "<script>x()"
"""The most common text, which the shortest summary shows."""

OTHERS: Final = {
    "a=1": "a=1",
    MARKUP: MARKUP,
    "</script><b>": "</script><b>",
    "[x](http://y)": "[x](http://y)",
    'a","=1': 'a","=1',
    "\x1b[2J\x07": "\\u{1b}[2J\\u{7}",
    "a\r\nb\t=1": "a\\u{d}\\u{a}b\\u{9}=1",
    "\t=1\n": "\\u{9}=1\\u{a}",
    "\u202egpj": "\\u{202e}gpj",
    "\u2028x": "\\u{2028}x",
}

LABELS: Final = ["-1", "=2", "@"]
"""Values of the registry, which every form keeps."""

REGISTRY_TEXT: Final = registry_text(
    word=without(TEXT, "letters") | {"preset": "bytes", "max_length": 16}, choice=CATEGORY | {"values": LABELS}
)
REGISTRY: Final = Registry.parse(REGISTRY_TEXT)


def line(name: str, counts: list[int]) -> str:
    fields = {"metric": name, "edition": REGISTRY.metric(name).edition, "window": "2026-11-19", "closed": True}
    return json.dumps(fields | {"reports": sum(counts), "counts": counts}) + "\n"


@cache
def tallies() -> str:
    """Return tallies of half a million devices, each of which reports one of the texts."""
    metric = REGISTRY.metric("word")
    domain, channel = metric.kind, metric.channel
    assert isinstance(domain, Text)
    assert isinstance(channel, GroupedGeometry)
    devices: dict[tuple[int, ...], int] = {
        (domain.number_of(text),): 60_000 if text == MARKUP else 30_000 for text in (*FORMULAS, *OTHERS)
    }
    counts = sampled_texts(domain, channel, devices, np.random.default_rng(1)).tolist()
    return line("word", counts) + line("choice", [10_000] * REGISTRY.metric("choice").channel.symbols)


@cache
def hostile_report() -> EstimateReport:
    request = Request(candidates=("-1",), highlights=True)
    return make_report(REGISTRY, decode(tallies().encode().splitlines()), request=request)


def texts_of(rows: str, statistic: str) -> set[str]:
    return {row["value"] for row in csv.DictReader(io.StringIO(rows)) if row["statistic"] == statistic}


@pytest.mark.slow
def test_csv_has_no_found_text_that_a_spreadsheet_runs_and_leaves_what_the_analyst_wrote() -> None:
    rows = as_csv(hostile_report())
    assert texts_of(rows, "found_text") == {*FORMULAS.values(), *OTHERS.values()}
    assert texts_of(rows, "named_text") == {"-1"}
    assert texts_of(rows, "share") == {*LABELS}


@pytest.mark.slow
def test_a_text_in_csv_is_what_it_was_without_its_first_apostrophe() -> None:
    found = texts_of(as_csv(hostile_report()), "found_text")
    assert {text.removeprefix("'") for text in found} == {*FORMULAS, *OTHERS.values()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "shown", [as_summary, as_verbose_table, lambda report: ShownReport.from_report(report).summary()]
)
def test_lines_for_a_terminal_hold_no_control_character(shown: object) -> None:
    assert callable(shown)
    text = shown(hostile_report()).replace(UNBROKEN, " ")
    assert MARKUP in text
    assert all(each.isprintable() for each in text.split("\n"))


class Elements(HTMLParser):
    """Collects the text of a page, as a browser shows it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.slow
def test_pages_and_notebooks_show_markup_as_text() -> None:
    for page in (as_html(hostile_report(), REGISTRY), ShownReport.from_report(hostile_report())._repr_html_()):
        assert MARKUP in Elements(page).text
        assert MARKUP not in page
        assert "<b>" not in page


@pytest.mark.slow
def test_the_archive_guards_its_csv_and_keeps_every_text_in_its_other_files(tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(REGISTRY_TEXT)
    (tmp_path / "tallies").write_text(tallies())
    places = ("--registry", str(tmp_path / "metrics.toml"), "--tallies", str(tmp_path / "tallies"))
    words = ["archive", str(tmp_path / "reports"), *places]
    ended = CliRunner().invoke(command, words)
    assert ended.exit_code == 0, ended.output
    assert ended.output.replace("\n", "").isprintable()
    folder = tmp_path / "reports" / "2026-11-19"
    assert texts_of((folder / "report.csv").read_text(), "found_text") == {*FORMULAS.values(), *OTHERS.values()}
    assert texts_of((folder / "report.csv").read_text(), "share") == {*LABELS}
    exact = {*FORMULAS, *OTHERS.values()}
    rows = pq.read_table(folder / "report.parquet").to_pylist()
    assert {row["value"] for row in rows if row["statistic"] == "found_text"} == exact
    document = json.loads((folder / "report.json").read_text())
    (of_texts,) = [metric for metric in document["metrics"] if metric["metric"] == "word"]
    assert {share["value"] for share in listed(of_texts, "found_text")} == exact
    for page in (folder / "report.html", tmp_path / "reports" / "index.html"):
        assert MARKUP not in page.read_text()
        assert "<b>" not in page.read_text()
