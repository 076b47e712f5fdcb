"""The command: its three forms, and every wrong use."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry
from estimator.__main__ import main
from estimator.commands.cli import command
from estimator.commands.printing import skipped_lines
from estimator.fetch import Fetched
from estimator.results.report import Skipped
from tests.support.devices.clients import run_without_room
from tests.support.estimates.documents import listed, only
from tests.support.estimates.tallies import REGISTRY_TEXT, line

SOUND = (
    line("dark_mode", [400, 600])
    + line("dark_mode", [500, 700], window="2026-11-21", closed=False)
    + line("os", [300, 300, 200, 200])
    + line("startup_ms", [600, 400])
    + line("startup_ms", [0, 0], window="2026-11-19")
)


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY_TEXT)
    return path


@pytest.fixture
def tallies(tmp_path: Path) -> Path:
    path = tmp_path / "tallies.ndjson"
    path.write_bytes(SOUND)
    return path


def _run(*arguments: object, token: str | None = None) -> Result:
    words = ["report", *(str(argument) for argument in arguments)]
    return CliRunner(env={"HEARSAY_READ_TOKEN": token}).invoke(command, words)


def _archive(folder: Path, *arguments: object) -> Result:
    return CliRunner().invoke(command, ["archive", str(folder), *map(str, arguments)])


def _run_in_shell(redirection: str, *words: object) -> tuple[int, str]:
    """Run a real process with a shell's redirection; return its exit status and stderr."""
    line = f"{sys.executable} -m estimator report {' '.join(map(str, words))} {redirection}"
    ended = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)  # noqa: S602 only a shell closes stdout
    return ended.returncode, "\n".join(line for line in ended.stderr.splitlines() if not line.startswith("skipped "))


def _refuse_constant(text: str) -> NoReturn:
    raise AssertionError(text)


def _json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout, parse_constant=_refuse_constant)


def test_json_is_what_programs_are_promised(registry: Path, tallies: Path) -> None:
    document = _json(_run("--registry", registry, "--tallies", tallies, "--format", "json"))
    assert document["schema"] == 1
    assert list(document) == ["schema", "population", "confidence", "metrics", "skipped", "simultaneous"]
    assert (document["confidence"], document["simultaneous"], document["population"]) == (0.95, False, "taking-part")
    boolean, category, _, number = document["metrics"]
    common = ["metric", "title", "edition", "kind", "mechanism", "epsilon", "delta", "window", "closed", "reports"]
    assert list(boolean) == list(category) == [*common, "groups", "taking_part"]
    assert list(number) == [*common[:7], "counted", *common[7:], "groups", "taking_part"]
    assert [group["statistic"] for group in number["groups"]] == ["mean", "sum"]
    assert [entry["value"] for entry in listed(boolean, "share")] == [False, True]
    figures = ["estimate", "standard_error", "low", "high", "maximum_likelihood"]
    assert list(listed(boolean, "share")[0]) == [*figures, "value"]
    for estimate in (only(number, "mean"), only(number, "sum")):
        assert list(estimate) == figures
    assert only(number, "sum")["estimate"] == pytest.approx(1000 * only(number, "mean")["estimate"])
    assert {entry["delta"] for entry in document["metrics"]} == {0}
    assert (boolean["mechanism"], boolean["reports"], boolean["epsilon"]) == ("randomized-response", 1000, 1.098612289)
    assert [entry["window"] for entry in document["skipped"]] == ["2026-11-21"]


@pytest.mark.parametrize("read", ["metrics.toml", "tallies.ndjson", "texts"])
def test_a_report_never_replaces_what_it_reads(
    registry: Path, tallies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").write_text("text\n")
    (tmp_path / "symbolic").symlink_to(read)
    os.link(read, "hard")
    before = (tmp_path / read).read_bytes()
    names = (read, f"../{tmp_path.name}/{read}", "symbolic", "hard")
    for form, name in product(("table", "html"), names):
        written = ("--format", form, "--output", name)
        refused = _run("--registry", registry, "--tallies", tallies, "--with", "candidates=texts", *written)
        assert (refused.exit_code, "is an input, and the report would overwrite it" in refused.stderr) == (2, True)
    assert (tmp_path / read).read_bytes() == before


FOREIGN = {
    "metrics.toml": "schema = 1\n[app]\n",
    "access.toml": 'uploads = "open"\n',
    "tls_key": "-----BEGIN PRIVATE KEY-----\n",
    "index.html": "<!doctype html>\n<title>Somebody's page</title>\n",
    "package.json": '{\n  "name": "app"\n}\n',
    "people.csv": "name,age\n",
}


@pytest.mark.parametrize("form", ["table", "html"])
def test_a_report_replaces_no_file_that_no_report_has_written(
    registry: Path, tallies: Path, tmp_path: Path, form: str
) -> None:
    folder = tmp_path / "others"
    folder.mkdir()
    for name, content in FOREIGN.items():
        (folder / name).write_text(content)
        refused = _run("--registry", registry, "--tallies", tallies, "--format", form, "--output", folder / name)
        assert (refused.exit_code, "was not written by a report, and was left unchanged" in refused.stderr) == (2, True)
        assert (folder / name).read_text() == content


def test_an_archive_replaces_no_page_of_somebody_else(registry: Path, tallies: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(FOREIGN["index.html"])
    refused = _archive(folder, "--registry", registry, "--tallies", tallies)
    assert (refused.exit_code, "was not written by a report" in refused.stderr) == (1, True)
    assert [path.name for path in folder.iterdir()] == ["index.html"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [("--format", form) for form in ("table", "json", "csv", "openmetrics", "parquet", "html")]
    + [("--format", "table", "--verbose")],
    ids=" ".join,
)
def test_a_report_replaces_an_earlier_one_of_any_form(
    registry: Path, tallies: Path, tmp_path: Path, form: tuple[str, ...]
) -> None:
    words = ("--registry", registry, "--tallies", tallies)
    file = tmp_path / "report"
    for wanted in (form, ("--format", "json"), form, ("--format", "html"), form):
        done = _run(*words, *wanted, "--output", file)
        assert done.exit_code == 0, done.stderr
    empty = tmp_path / "empty.ndjson"
    empty.touch()
    assert _run("--registry", registry, "--tallies", empty, *form, "--output", file).exit_code == 3
    assert _run(*words, *form, "--output", file).exit_code == 0


def test_an_archive_never_replaces_what_it_reads(registry: Path, tmp_path: Path) -> None:
    tallies = tmp_path / "index.json"
    tallies.write_bytes(SOUND)
    refused = _archive(tmp_path, "--registry", registry, "--tallies", tallies)
    assert (refused.exit_code, f"{tallies} is an input" in refused.stderr) == (2, True)
    assert tallies.read_bytes() == SOUND


@pytest.mark.slow
def test_tallies_on_standard_input_are_not_replaced_either(registry: Path, tallies: Path) -> None:
    words = ("--registry", registry, "--tallies", "-", "--format", "html", "--output", tallies)
    status, said = _run_in_shell(f"<{tallies}", *words)
    assert (status, "is an input" in said) == (2, True)
    assert tallies.read_bytes() == SOUND


@pytest.mark.parametrize(
    ("name", "head"), [("a.txt", "Window"), ("a.json", "{"), ("a.csv", "metric,"), ("a.html", "<!doctype html>")]
)
def test_the_name_of_a_file_says_its_format(
    registry: Path, tallies: Path, tmp_path: Path, name: str, head: str
) -> None:
    done = _run("--registry", registry, "--tallies", tallies, "--output", tmp_path / name)
    assert (done.exit_code, done.stdout) == (0, "")
    assert re.search(rf"wrote {tmp_path / name}: \d+\.\d [kM]B", done.stderr)
    assert (tmp_path / name).read_text().startswith(head)


@pytest.mark.parametrize("since", ["2026-11-20", "2026-11", "2030-01-01"])
def test_a_window_without_reports_on_one_side_is_no_window_to_compare_since(
    registry: Path, tallies: Path, since: str
) -> None:
    refused = _run("--registry", registry, "--tallies", tallies, "--since", since)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"nothing can be compared since {since}: no question has reports in closed windows" in refused.stderr


def test_a_day_within_a_week_leaves_that_week_out_and_says_so(registry: Path, tallies: Path) -> None:
    text = registry.read_text().replace('window = "day"', "") + '[event.2026-11-10]\ntitle = "2.3 released"\n'
    registry.write_text(text.replace("[budget]", '[budget]\nwindow = "week"'))
    edition = Registry.load(registry).metric("dark_mode").edition
    lines = [
        {"metric": "dark_mode", "edition": edition, "window": week, "closed": True, "reports": 1000, "counts": counts}
        for week, counts in {"2026-W45": [600, 400], "2026-W46": [500, 500], "2026-W47": [400, 600]}.items()
    ]
    tallies.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    places = ("--registry", registry, "--tallies", tallies)
    told = _run(*places, "--since", "2026-11-10", "--format", "json")
    (changes,) = _json(told)["changes"]
    assert (changes["windows"], changes["left_out"]) == (2, ["2026-W46"])
    assert "2026-W46 is left out of the comparison: 2026-11-10 begins within it" in told.stderr
    on_the_edge = _run(*places, "--since", "2026-11-09", "--format", "json")
    assert ("left_out" in _json(on_the_edge)["changes"][0], "left out" in on_the_edge.stderr) == (False, False)
    lost = _run(*places, "--since", "2027-01-01")
    assert "or the day of an event: 2026-11-10 (2.3 released)" in lost.stderr


def test_chosen_metrics_are_reported_alone(registry: Path, tallies: Path) -> None:
    words = ("--registry", registry, "--tallies", tallies, "--format", "json")
    alone = _json(_run(*words, "--metric", "os"))
    assert {entry["metric"] for entry in alone["metrics"]} == {"os"}
    assert alone["skipped"] == []
    both = _json(_run(*words, "--metric", "os", "--metric", "dark_mode"))
    assert {entry["metric"] for entry in both["metrics"]} == {"os", "dark_mode"}


def test_csv_is_flat_and_keeps_texts_as_they_are(registry: Path, tallies: Path) -> None:
    result = _run("--registry", registry, "--tallies", tallies, "--preliminary", "--format", "csv")
    read = csv.DictReader(io.StringIO(result.stdout))
    rows = [row for row in read if row["statistic"] != "devices_taking_part"]
    assert [row["metric"] for row in rows] == ["dark_mode"] * 4 + ["os"] * 4 + ["startup_ms"] * 3
    assert [row["value"] for row in rows[:4]] == ["no", "yes"] * 2
    assert [row["closed"] for row in rows[:4]] == ["true"] * 2 + ["false"] * 2
    assert rows[6]["value"] == "=windows"
    assert (rows[8]["statistic"], rows[8]["estimate"], rows[8]["low"]) == ("mean", "", "100.0")
    assert [row["statistic"] for row in rows] == ["share"] * 8 + ["mean", "mean", "sum"]
    assert float(rows[10]["estimate"]) == pytest.approx(1000 * float(rows[9]["estimate"]))


def test_a_table_fits_a_terminal_and_marks_what_is_preliminary(registry: Path, tallies: Path) -> None:
    text = _run("--registry", registry, "--tallies", tallies, "--preliminary", "--verbose").stdout
    assert max(len(row) for row in text.splitlines()) <= 80
    assert "2026-11-21*" in text
    assert "*: preliminary" in text
    assert "as a random sample of a population" in text
    assert "70.0% ± 3.1" in text
    assert "no reports" in text
    assert "a system with a …" in text


def test_without_verbose_a_table_has_the_sentence_of_each_metric(registry: Path, tallies: Path) -> None:
    text = _run("--registry", registry, "--tallies", tallies, "--preliminary").stdout
    assert text.splitlines()[0] == "Window 2026-11-20; estimate ± standard error, 95% interval; --verbose shows all"
    assert "dark_mode: About 70% (63 to 76%) say yes; 1,000 reports.\n" in text
    assert "  yes     70.0% ± 3.1  63.8 to 76.0  " in text
    assert "  Other windows: yes 67% in 2026-11-21*.\n" in text
    assert "*: preliminary" in text


def test_a_table_without_open_windows_speaks_of_none(registry: Path, tallies: Path) -> None:
    result = _run("--registry", registry, "--tallies", tallies)
    assert "preliminary" not in result.stdout
    assert "skipped dark_mode" in result.stderr


def test_tallies_that_are_skipped_for_one_reason_share_a_line() -> None:
    of_days = [Skipped("os", "e1", f"2026-11-0{day}", "none such") for day in range(1, 6)]
    alone = Skipped("theme", "e2", "2026-11-01", "no such edition")
    assert list(skipped_lines([*of_days[:2], alone, *of_days[2:]], "; see history")) == [
        "skipped 5 tallies: os e1 2026-11-01, os e1 2026-11-02, os e1 2026-11-03, 2 more: none such; see history\n",
        "skipped theme e2 2026-11-01: no such edition; see history\n",
    ]


def test_central_epsilons_are_shown_where_a_delta_is_given(registry: Path, tallies: Path) -> None:
    result = _run("--registry", registry, "--tallies", tallies, "--with", "central=1e-6")
    assert (result.exit_code, result.stdout.count("at delta 1e-06, if only tallies are public")) == (0, 3)


def test_a_report_is_written_to_a_file_as_it_would_be_printed(registry: Path, tallies: Path, tmp_path: Path) -> None:
    arguments = ("--registry", registry, "--tallies", tallies, "--format", "json")
    output = tmp_path / "report.json"
    assert _run(*arguments, "--output", output).stdout == ""
    assert output.read_text() == _run(*arguments).stdout


@pytest.mark.slow
def test_a_report_of_a_file_waits_for_nothing_that_it_does_not_need(registry: Path, tallies: Path) -> None:
    others = {"estimator.audit", "estimator.rehearsal.rehearsal", "jinja2", "pandas", "pyarrow"}
    words = ["report", "--registry", str(registry), "--tallies", str(tallies), "--format", "json"]
    script = (
        "import sys; from estimator.commands.cli import command;"
        f"command({words}, standalone_mode=False); print(*sorted({others} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == ""


def test_a_target_that_cannot_be_written_is_a_plain_error(registry: Path, tallies: Path, tmp_path: Path) -> None:
    result = _run("--registry", registry, "--tallies", tallies, "--output", tmp_path / "gone" / "report.txt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "report.txt cannot be written: No such file or directory; name a file" in result.stderr


def test_windows_are_chosen(registry: Path, tallies: Path) -> None:
    chosen = ("--from", "2026-11-19", "--to", "2026-11-19", "--format", "json")
    document = _json(_run("--registry", registry, "--tallies", tallies, *chosen))
    assert [entry["window"] for entry in document["metrics"]] == ["2026-11-19"]


OTHER = line("os", [1, 2, 3, 4], edition="0" * 12)
OPEN = line("os", [1, 2, 3, 4], closed=False)


@pytest.mark.parametrize(
    ("content", "options", "status"),
    [(b"", (), 3), (OPEN, (), 3), (OTHER, (), 1), (OPEN + OTHER, (), 1), (OTHER, ("--to", "2020-01-01"), 3)],
    ids=["none", "open", "of another registry", "both", "not wanted"],
)
def test_nothing_to_report_is_said_and_is_an_exit_status(
    registry: Path, tallies: Path, content: bytes, options: tuple[str, ...], status: int
) -> None:
    tallies.write_bytes(content)
    result = _run("--registry", registry, "--tallies", tallies, *options)
    assert (result.exit_code, result.stdout[:18]) == (status, "Nothing to report:")
    printed = _run("--registry", registry, "--tallies", tallies, "--format", "json", *options)
    assert (printed.exit_code, json.loads(printed.stdout)["metrics"]) == (status, [])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "source of tallies: --collector URL or --tallies FILE"),
        (("--tallies", "a", "--collector", "http://b"), "source of tallies: --collector URL or --tallies FILE"),
        (("--collector", "http://telemetry.example.com"), "--collector must be an https:// URL, unless it is on this"),
        (("--tallies", "a", "--verbose", "--format", "json"), "--verbose is for tables; json contains every figure"),
        (("--tallies", "a", "--from", "yesterday"), "'yesterday': a window is a UTC day"),
        (("--tallies", "a", "--from", "2026-11-20", "--to", "2026-11-19"), "begins after"),
        (("--tallies", "a", "--format", "xml"), "'xml' is not one of"),
        (("--collector", "http://127.0.0.1:9"), "set HEARSAY_READ_TOKEN"),
        (("--tallies", "a", "--with", "central=1"), "'1' must be a number above 0 and below 1"),
        (
            ("--tallies", "a", "--with", "central=1e-6", "--format", "csv"),
            "the format csv cannot show these figures; choose another --format: table, html, json",
        ),
        (("--tallies", "a", "--with", "pooled", "--format", "model"), "the format model cannot show these figures"),
        (("--tallies", "a", "--with", "centrum"), "there is no extra 'centrum'; choose from: simultaneous, pooled,"),
        (("--tallies", "a", "--with", ""), "there is no extra ''; choose from: "),
        (("--tallies", "a", "--with", "clusters,"), "there is no extra ''; choose from: "),
        (("--tallies", "a", "--with", "clusters=2"), "clusters takes no value; write clusters"),
        (("--tallies", "a", "--with", "central"), "central needs a value; write central=DELTA, such as central=1e-6"),
        (("--tallies", "a", "--with", "clusters,clusters"), "clusters is given twice; keep one"),
        (("--tallies", "a", "--output", "report.xml"), "add --format, or end the name in .txt, .json, .csv, "),
        (("--tallies", "a", "--format", "csv", "--output", "a.json"), "the name of a.json does not match --format"),
        (("--tallies", "a", "--metric", "gone"), "the registry defines no metric 'gone'"),
        (("--tallies", "a", "--format", "model"), "--format model writes one model; name it with --metric"),
        (("--tallies", "a", "--format", "parquet"), "parquet is a binary format; add --output FILE"),
        (("--tallies", "a", "--metric", "os", "--alert", "dark_mode.share[yes] > .5"), "add --metric dark_mode"),
        (
            ("--tallies", "a", "--with", "range=startup_ms:2:x"),
            "the ends of the range are not two numbers; write range=METRIC:FROM:TO",
        ),
        (("--tallies", "a", "--with", "range=startup_ms:nan:3"), "the ends of the range are not two numbers"),
        (("--tallies", "a", "--with", "range=startup_ms:-inf:3"), "the ends of the range are not two numbers"),
        (("--tallies", "a", "--with", "range=startup_ms:2"), "the ends of the range are not two numbers"),
        (("--tallies", "a", "--with", "range=gone:2:3"), "the registry defines no metric 'gone'"),
        (("--tallies", "a", "--with", "range=startup_ms:2:3"), "the range of startup_ms from 2 to 3 cannot be"),
    ],
)
def test_wrong_usage_is_explained(registry: Path, arguments: tuple[str, ...], problem: str) -> None:
    result = _run("--registry", registry, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr


def test_a_broken_registry_is_named_by_metric_and_key(registry: Path, tallies: Path) -> None:
    registry.write_text(REGISTRY_TEXT.replace('kind = "boolean"', 'kind = "bolean"'))
    result = _run("--registry", registry, "--tallies", tallies)
    assert result.exit_code == 2
    assert "metric.dark_mode.kind: must be one of" in result.stderr


def test_a_missing_registry_is_named(tmp_path: Path, tallies: Path) -> None:
    result = _run("--registry", tmp_path / "gone.toml", "--tallies", tallies)
    assert result.exit_code == 2
    assert "gone.toml: cannot be read" in result.stderr


def test_tallies_that_cannot_be_read_are_a_plain_error(registry: Path, tallies: Path) -> None:
    tallies.write_bytes(b"{}\n")
    result = _run("--registry", registry, "--tallies", tallies)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "line 1 is not a tally" in result.stderr
    assert _run("--registry", registry, "--tallies", tallies.parent).exit_code == 1


def test_a_collector_that_is_none_is_wrong_usage_without_the_token(registry: Path) -> None:
    result = _run("--registry", registry, "--collector", "collector", token="sesame")  # noqa: S106 a test's token
    assert (result.exit_code, result.stdout) == (2, "")
    assert "must be a URL" in result.stderr
    assert "sesame" not in result.stderr


@pytest.mark.parametrize(
    ("options", "advice"), [((), "to include open windows, add --preliminary"), (("--preliminary",), "")]
)
def test_if_a_collector_has_nothing_the_option_for_open_windows_is_named(
    registry: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], advice: str
) -> None:
    monkeypatch.setattr("estimator.commands.report_options.fetch", lambda *_, **__: Fetched([], None))
    result = _run("--registry", registry, "--collector", "https://a.example", *options, token="sesame")  # noqa: S106 a test's token
    assert (result.exit_code, result.stdout) == (3, "Nothing to report: no requested window has a tally.\n")
    assert result.stderr == (f"only closed windows were read; {advice}\n" if advice else "")


def test_a_token_that_no_header_can_carry_is_wrong_usage(registry: Path) -> None:
    result = _run("--registry", registry, "--collector", "https://a", token="a\nb")  # noqa: S106 a test's token
    assert result.exit_code == 2
    assert "one line of ASCII" in result.stderr


@pytest.mark.parametrize("package", ["click", "numpy"])
def test_a_missing_extra_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find_spec(name))
    with pytest.raises(SystemExit) as caught:
        main()
    assert f"needs {package}: pip install 'hearsay-ldp[estimator]'" in str(caught.value.code)


def test_the_command_runs_where_nothing_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["hearsay-estimator", "--help"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0
    assert "report" in capsys.readouterr().out


NO_ROOM = "Error: the output cannot be written: No space left on device; redirect it to another place"
CLOSED = "Error: standard output is closed; redirect it to a file or a program"


@pytest.mark.slow
@pytest.mark.parametrize(("redirection", "said"), [(">/dev/full", NO_ROOM), (">&-", CLOSED)])
def test_output_that_cannot_be_written_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, registry: Path, tallies: Path, redirection: str, said: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "")
    form = "json" if said == NO_ROOM else "table"
    words = ("--registry", registry, "--tallies", tallies, "--format", form)
    assert _run_in_shell(redirection, *words) == (1, said)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("form", ["table", "--help"])
def test_output_that_finds_no_room_is_noticed_at_once(form: str, registry: Path, tallies: Path) -> None:
    words = ["--help"] if form == "--help" else ["--registry", str(registry), "--tallies", str(tallies)]
    status, *said = run_without_room(partial(command, ["report", *words]), buffered=False).splitlines()
    assert (status, [line for line in said if not line.startswith("skipped ")]) == ("1", [NO_ROOM])


def test_json_finds_a_closed_stdout_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], registry: Path, tallies: Path
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    words = ["report", "--registry", str(registry), "--tallies", str(tallies), "--format", "json"]
    with pytest.raises(SystemExit) as ended:
        command(words)
    assert (ended.value.code, capsys.readouterr().err.splitlines()[-1]) == (1, CLOSED)
