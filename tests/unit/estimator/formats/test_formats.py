"""Every form of a report: its schema, and reading it back."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from msgspec.structs import replace

import estimator
from client_sdk.protocol import Registry, Window
from client_sdk.protocol.registry.history import Release, with_former
from client_sdk.protocol.registry.registry import in_trial
from estimator.commands.cli import command
from estimator.formats.json_documents import document_of
from estimator.formats.tables import COLUMNS, DESCRIPTIONS, TYPES, rows_of
from estimator.render import BINARY_FORMATS, FORMATS
from estimator.render.text.report import as_table
from estimator.report.report import make_report
from estimator.results.report import EstimateReport, Request, Selection
from estimator.tallies import Tally, decode
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CROSS, ORDINAL, TEXT, Toml, registry_text
from tests.support.estimates import of_strata, pages
from tests.support.estimates.every_kind import REGISTRY, REGISTRY_TEXT, tallies
from tests.support.estimates.texts import sharing_pair
from tools.schema_page import DOCUMENTS, SCHEMAS, schema, schema_text

REQUESTS = {
    "plain": Request(),
    "covariance, pool and a range": Request(
        covariance=True, pool=True, ranges=(("steps", 10, 20),), candidates=("the", "zebra"), installs=10_000
    ),
    "central": Request(central_delta=1e-6),
    "fakes": Request(fakes=0.01),
    "clusters": Request(clusters=True),
}
SLOW_FOR = {
    "central": (b'"dark_mode"',),
    "fakes": (b'"dark_mode"', b'"mood"', b'"unknown_word"', b'"limitation"'),
    "clusters": (b'"crashes"', b'"steps"', b'"both"'),
}
"""A central epsilon takes a tenth of a second, and so does a test of a tally: a few metrics are
enough.
"""

CELLS: dict[type, Callable[[str], object]] = {
    str: str,
    bool: lambda cell: cell == "true",
    int: int,
    float: float,
    datetime: datetime.fromisoformat,
}
"""How a field of CSV is read, by the type of its column."""


RANKING = Toml('["mood", "dark_mode"]')
"""A scale and yes or no."""

ELSEWHERE = {"effect", "effect_on_mean", "approved_text", "auc"}
"""The statistics of public strata and of public texts, which `test_strata` and `test_publication`
look at, and the area under the curve, which so few reports do not tell.
"""


def report_of(requested: str = "covariance, pool and a range", reports: int = 3000) -> EstimateReport:
    """Return a report; a request that names the usual number of reports means the same one."""
    return cached_report(requested, reports)


@cache
def cached_report(requested: str, reports: int) -> EstimateReport:
    lines = tallies(reports).splitlines(keepends=True)
    chosen = [line for line in lines if requested not in SLOW_FOR or any(name in line for name in SLOW_FOR[requested])]
    report = make_report(REGISTRY, decode(chosen), Selection(preliminary=True), REQUESTS[requested])
    return replace(report, snapshot_at=datetime(2026, 11, 21, 12, tzinfo=UTC)) if requested != "plain" else report


@cache
def report_of_scale() -> EstimateReport:
    """Return a report of a scale asked together with yes or no, with the figures of its ranking.

    The scale has a step, which is asked about.
    """
    registry = Registry.parse(registry_text(mood=ORDINAL, dark_mode=BOOLEAN, both=CROSS | {"cross": RANKING}))
    lines = pages.tallies(registry, range(1)).splitlines(keepends=True)
    metric, later = registry.metric("mood"), Window.parse(pages.day(1))
    risen = Tally("mood", metric.edition, later, closed=True, reports=2000, counts=(0, 0, 2000))
    return make_report(registry, [*decode(lines), risen], request=Request(since=later))


def rows() -> list[tuple[object, ...]]:
    return [tuple(row) for row in rows_of(report_of())]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics.toml").write_text(REGISTRY_TEXT)
    (tmp_path / "tallies.ndjson").write_bytes(tallies())
    return tmp_path


@pytest.mark.slow
@for_each("name", DOCUMENTS)
def test_every_schema_is_one_and_lies_beside_the_code(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    written = (SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    assert written == schema_text(name), "run python -m tools.schema_page"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plan", "plan --population 5000"),
        ("allocation", "plan --population 5000 --allocate 12"),
        ("audit", "audit --reports 120 --metric dark_mode"),
        ("proof", "audit --exact --metric dark_mode"),
    ],
)
def test_every_document_follows_its_schema(folder: Path, name: str, words: str) -> None:
    words = f"{words} --registry {folder / 'metrics.toml'} --format json"
    document = json.loads(CliRunner().invoke(command, words.split()).stdout)
    Draft202012Validator(schema(name)).validate(document)


@pytest.mark.long
@for_each("case", [*((requested, 3000) for requested in REQUESTS), ("plain", 0), ("plain", 1)])
def test_the_json_of_every_kind_follows_the_schema(case: tuple[str, int]) -> None:
    document = json.loads(FORMATS["json"](report_of(*case)))
    Draft202012Validator(schema()).validate(document)


@pytest.mark.slow
def test_the_json_has_a_line_for_each_metric_and_window() -> None:
    lines = FORMATS["json"](report_of()).splitlines()
    metric_lines = [
        line.removesuffix(",") for line in lines if line.lstrip().startswith('{"metric"') and '"closed"' in line
    ]
    assert [json.loads(line) for line in metric_lines] == json.loads("".join(lines))["metrics"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_the_json_of_what_is_not_finite_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        FORMATS["json"](replace(report_of(), confidence=number))


def test_the_json_of_nothing_follows_the_schema() -> None:
    Draft202012Validator(schema()).validate(json.loads(FORMATS["json"](make_report(REGISTRY, []))))


@pytest.mark.slow
def test_the_json_of_a_rehearsal_follows_the_schema(folder: Path) -> None:
    words = ["rehearse", "--registry", str(folder / "metrics.toml"), "--population", "500", "--rounds", "1"]
    result = CliRunner().invoke(command, [*words, "--format", "json"])
    document = json.loads(result.stdout)
    Draft202012Validator(schema("rehearsal")).validate(document)
    with pytest.raises(estimator.ReportError, match="it is a rehearsal"):
        estimator.load_report(io.StringIO(result.stdout))


@pytest.mark.slow
def test_every_field_of_the_schema_occurs() -> None:
    """A field that nothing writes is a promise that nobody keeps."""
    promised = {
        (name, field)
        for name, definition in {"": schema(), **schema()["$defs"]}.items()
        for field in definition.get("properties", {})
    }
    written = {field for requested in REQUESTS for field in _fields(document_of(report_of(requested)))}
    written |= set(
        _fields(document_of(make_report(of_strata.REGISTRY, [of_strata.drawn(0.5, 500, i, i) for i in (1, 2)])))
    )
    written |= set(_fields(document_of(report_of_scale())))
    now = Registry.parse(of_strata.TEXT.replace("epsilon = 2", "epsilon = 1"))
    released = with_former(now, [Release(date(2026, 11, 1), of_strata.REGISTRY)])
    written |= set(_fields(document_of(make_report(released, [of_strata.drawn(0.5, 500, 0, 1)]))))
    weekly = Registry.parse(registry_text(dark_mode=BOOLEAN | {"window": "week"}))
    edition, within = weekly.metric("dark_mode").edition, Request(since=Window.parse("2026-11-10"))
    weeks = [
        Tally("dark_mode", edition, Window.parse(f"2026-W{week}"), closed=True, reports=500, counts=[250, 250])
        for week in (45, 46, 47)
    ]
    written |= set(_fields(document_of(make_report(weekly, weeks, request=within))))
    tried = in_trial(of_strata.REGISTRY)
    key = ("dark_mode", tried.metric("dark_mode").edition, Window.parse(of_strata.DAY))
    tally = Tally(*key, closed=True, reports=500, counts=[250, 250])
    written |= set(_fields(document_of(make_report(tried, [tally]))))
    texts = Registry.parse(registry_text(word=TEXT | {"discover": False}))
    word = texts.metric("word")
    named = Request(candidates=sharing_pair(word))
    each_symbol = [1] * word.channel.symbols
    key = ("word", word.edition, Window.parse(of_strata.DAY))
    tally = Tally(*key, closed=True, reports=len(each_symbol), counts=each_symbol)
    written |= set(_fields(document_of(make_report(texts, [tally], request=named))))
    assert {field for _, field in promised} <= written


def test_each_row_of_a_trial_says_that_it_is_of_a_trial_and_no_other_row_does() -> None:
    for registry, population in ((of_strata.REGISTRY, "taking-part"), (in_trial(of_strata.REGISTRY), "trial")):
        key = ("dark_mode", registry.metric("dark_mode").edition, Window.parse(of_strata.DAY))
        report = make_report(registry, [Tally(*key, closed=True, reports=500, counts=[250, 250])])
        rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](report))))
        assert rows
        assert {row["population"] for row in rows} == {population}


def _fields(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [*node, *(field for child in node.values() for field in _fields(child))]
    return [field for child in node for field in _fields(child)] if isinstance(node, list | tuple) else []


def test_a_table_says_of_every_metric_whether_it_changed() -> None:
    report = report_of()
    text = as_table(report)
    for change in report.changes:
        assert f"{change.metric}: {change.last} compared with {change.first}" in text
        assert f" between {change.first} and {change.last}" in " ".join(text.split())
    assert report.changes


def test_a_table_says_when_open_windows_were_looked_at() -> None:
    said = "Open windows are shown as they were at 2026-11-21 12:00:00 UTC"
    assert said in FORMATS["table"](report_of("central"))
    assert "as they were" not in FORMATS["table"](report_of("plain"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requested", "reports"), [*((requested, 3000) for requested in REQUESTS), ("plain", 0), ("central", 1)]
)
def test_json_is_read_back_as_it_was(requested: str, reports: int, tmp_path: Path) -> None:
    report = report_of(requested, reports)
    path = tmp_path / "report.json"
    path.write_text(FORMATS["json"](report), encoding="utf-8")
    written = estimator.ShownReport.from_report(replace(report, highlights=()))
    assert estimator.load_report(path) == estimator.load_report(str(path)) == written
    with path.open("rb") as file:
        assert estimator.load_report(file) == written


@pytest.mark.slow
def test_the_job_for_programs_says_what_the_command_says(folder: Path) -> None:
    options = (
        "--preliminary",
        "--with",
        "pooled,range=steps:10:20",
        "--from",
        "2026-11-20",
        "--format",
        "json",
    )
    chosen = (b'"dark_mode"', b'"steps"', b'"both"', b'"unknown_word"')
    tallies_of_some = [line for line in tallies().splitlines(keepends=True) if any(name in line for name in chosen)]
    (folder / "tallies.ndjson").write_bytes(b"".join(tallies_of_some))
    places = ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies.ndjson"))
    printed = CliRunner().invoke(command, ["report", *places, *options]).stdout
    about: dict[str, Any] = {"first": "2026-11-20", "preliminary": True, "pooled": True}
    request = about | {"ranges": [("steps", 10, 20)]}
    report = estimator.estimate(REGISTRY, folder / "tallies.ndjson", **request)
    assert estimator.load_report(io.StringIO(printed)) == report
    assert {metric.window for metric in report.metrics} == {"2026-11-20", "2026-11-21"}


@pytest.mark.parametrize("part", [{"central": 0.0}, {"central": float("nan")}, {"poisoning": 1.0}])
def test_a_part_that_is_none_is_refused(part: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(part))} must be above 0 and below 1"):
        estimator.estimate(REGISTRY, [], **part)


def test_a_range_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(estimator.RequestError, match="from 20 to 10 ends before it begins"):
        estimator.estimate(REGISTRY, [], ranges=[("steps", 20, 10)])


def test_csv_holds_the_rows() -> None:
    header, *lines = csv.reader(io.StringIO(FORMATS["csv"](report_of())))
    assert tuple(header) == COLUMNS
    read = [
        tuple(CELLS[TYPES[name]](cell) if cell else None for name, cell in zip(COLUMNS, line, strict=True))
        for line in lines
    ]
    assert read == rows()


def test_parquet_holds_the_rows_and_their_types() -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 90 ms, of every run's collection

    table = pq.read_table(io.BytesIO(BINARY_FORMATS["parquet"](report_of())))
    assert table.schema.metadata[b"hearsay.schema"] == b"1"
    assert [tuple(row.values()) for row in table.to_pylist()] == rows()
    assert [str(table.schema.field(name).type) for name in ("metric", "window_end", "closed", "reports", "low")] == [
        *("string", "timestamp[us, tz=UTC]", "bool", "int64", "double")
    ]


def test_a_frame_of_polars_holds_the_rows() -> None:
    import polars as pl  # noqa: PLC0415 140 ms, of every run's collection

    frame = estimator.to_polars(report_of())
    assert frame.rows() == rows()
    assert [frame.schema[name] for name in ("metric", "window_end", "closed", "reports", "low")] == [
        *(pl.String, pl.Datetime("us", "UTC"), pl.Boolean, pl.Int64, pl.Float64)
    ]


def test_a_frame_of_pandas_holds_the_rows() -> None:
    import pandas as pd  # noqa: PLC0415 220 ms, of every run's collection

    frame = estimator.to_pandas(report_of())
    assert tuple(frame.columns) == COLUMNS
    cells = [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame.itertuples(index=False)]
    assert cells == rows()
    assert [str(frame[name].dtype) for name in ("window_end", "closed", "reports", "low")] == [
        *("datetime64[us, UTC]", "boolean", "int64", "float64")
    ]


def test_every_statistic_is_explained_and_occurs() -> None:
    statistics = {row[COLUMNS.index("statistic")] for row in rows()}
    statistics |= {row[COLUMNS.index("statistic")] for row in rows_of(report_of_scale())}
    assert statistics | ELSEWHERE == set(DESCRIPTIONS)
    assert not statistics & ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, library: str, folder: Path) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    report = make_report(REGISTRY, [])
    ways = {"pandas": estimator.to_pandas, "polars": estimator.to_polars}
    if library in ways:
        with pytest.raises(estimator.MissingLibraryError, match=f"{library} is required, .*: pip install {library}"):
            ways[library](report)
        return
    result = _report(folder, "--format", "parquet", "--output", str(folder / "report.parquet"))
    assert (result.exit_code, (folder / "report.parquet").exists()) == (1, False)
    assert "pip install 'hearsay-ldp[parquet]'" in result.stderr


def _report(folder: Path, *more: str) -> Any:
    places = ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies.ndjson"))
    return CliRunner().invoke(command, ["report", *places, *more])


def test_parquet_needs_a_file(folder: Path) -> None:
    result = _report(folder, "--format", "parquet")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "add --output FILE" in result.stderr


@pytest.mark.slow
def test_parquet_is_written_to_a_file(folder: Path) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 90 ms, of every run's collection

    result = _report(folder, "--format", "parquet", "--output", str(folder / "report.parquet"))
    assert (result.exit_code, result.stdout) == (0, "")
    assert pq.read_table(folder / "report.parquet").num_rows > 0


def changed(place: str, value: object) -> str:
    """Return a report's JSON with one place changed; a place is where an error would name it."""
    document = json.loads(FORMATS["json"](report_of("central")))
    parts = place.replace("[", ".").replace("]", "").split(".")
    names = [int(part) if part.isdigit() else part for part in parts]
    node = document
    for name in names[:-1]:
        node = node[name]
    node[names[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("schema", 2, "its schema is not 1; use the version of Hearsay that wrote it"),
        ("schema", True, "its schema is not 1"),
        ("new", 1, "it: object contains unknown field `new`"),
        ("population", "all", "population: invalid value 'all'"),
        ("snapshot_at", "noon", "snapshot_at: invalid RFC3339 encoded datetime"),
        ("metrics", {}, "metrics: expected `array`, got `object`"),
        ("skipped", [{"reason": "x"}], "skipped[0]: object missing required field `metric`"),
        ("metrics[0].reports", -1, "metrics[0].reports: expected `int` >= 0"),
        ("metrics[0].closed", 1, "metrics[0].closed: expected `bool`, got `int`"),
        ("metrics[0].window", "yesterday", "metrics[0].window: is not a window"),
        ("metrics[0].groups[0].figures", [], "metrics[0].groups[0]: must have two values or more, each with an"),
        ("metrics[1].groups[0].figures[1].estimate", None, "metrics[1].groups[0]: must have two values or more"),
        (
            "metrics[0].groups[0].statistic",
            "sahre",
            "metrics[0].groups[0].statistic: is not a statistic of this version",
        ),
        ("metrics[0].groups[0].figures[1].low", "0", "expected `float`, got `str`"),
        ("metrics[0].groups[0].figures[1].value", {}, "got `object`"),
        ("metrics[0].groups[0].figures[1].new", 0.5, "object contains unknown field `new`"),
        ("metrics[0].central.assumes", "nothing", "metrics[0].central.assumes: invalid value 'nothing'"),
    ],
)
def test_a_document_that_is_no_report_is_refused_by_place(place: str, value: object, problem: str) -> None:
    with pytest.raises(estimator.ReportError) as caught:
        estimator.load_report(io.StringIO(changed(place, value)))
    assert problem in str(caught.value)


def test_pooled_figures_without_windows_are_refused() -> None:
    document = json.loads(FORMATS["json"](report_of()))
    document["pooled"][0]["windows"] = []
    with pytest.raises(estimator.ReportError, match="pooled: lacks the windows"):
        estimator.load_report(io.StringIO(json.dumps(document)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not JSON; write it with report --format json"),
        ("[" * 100_000, "is not JSON"),
        ('{"schema": 1, "confidence": NaN}', "is not JSON"),
        ('{"schema": 1, "confidence": 1e999}', "is not JSON"),
        ("[]", "it is not a report"),
        ('{"confidence": 0.95}', "or it predates schema numbers"),
    ],
)
def test_a_text_that_is_no_report_is_refused(content: str, problem: str) -> None:
    with pytest.raises(estimator.ReportError, match=problem):
        estimator.load_report(io.StringIO(content))


def test_a_report_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(estimator.ReportError, match=r"report\.json cannot be read: No such file"):
        estimator.load_report(tmp_path / "report.json")
