"""All commands and samples of the README, and of pages that follow one registry, run in order."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from client_sdk.protocol import Registry, Window, WindowKind
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.horizon import Horizon, most_nanos
from estimator.commands.cli import command as estimator_command
from estimator.plan.plan import PlanRequest, make_plan, year_words
from tests.support.services.processes import free_port, wait_until
from tools.tutorial import blocks, reading

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES_OF_SAMPLES = (
    *("reference/metrics", "reference/expert", "reference/sdk", "reference/operating"),
    *("reference/upgrading", "reference/reports"),
)
"""Pages whose samples continue one another: they share a registry, a collector and a folder."""
ELSEWHERE = re.compile(
    r"^## On Debian\n.*?(?=^## Before each deployment\n)|^## Upgrade and roll back\n.*?(?=^## Compatibility\n)",
    re.MULTILINE | re.DOTALL,
)
"""The parts of pages whose samples test_debian.py and test_upgrading.py run."""
PAGES = {name: ELSEWHERE.sub("", (DOCS / f"{name}.md").read_text(encoding="utf-8")) for name in PAGES_OF_SAMPLES}
MOST_WORDS_OF_THE_README = 700
"""Outside of code."""
FIVE_MINUTES_S = 300.0
EXAMPLE_ADDRESS = "127.0.0.1:8080"
EXAMPLE_COLLECTOR = "https://telemetry.example.com"


def samples(language: str) -> list[str]:
    """Return the samples in a language, in the order of the pages."""
    return re.findall(rf"^```{language}\n(.*?)^```$", "\n".join(PAGES.values()), re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Return every command line of the shell samples."""
    return [line for sample in samples("sh") for line in sample.splitlines() if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the registry of the pages."""
    (tmp_path / "metrics.toml").write_text(samples("toml")[0], encoding="utf-8")
    return tmp_path


def changed(text: str, changes: dict[str, str]) -> str:
    """Return a text with other lines for some of its keys."""
    for line, new in changes.items():
        assert line in text
        text = text.replace(line, new)
    return text


def with_all_metrics() -> str:
    """Return the first registry with the further questions of its page, and a budget for all."""
    first, more, *_ = samples("toml")
    ceilings = {"per_window = 2.5": "per_window = 9.5", "lifetime = 5.0": "lifetime = 500", 'strategy = "pace"': ""}
    return changed(first, ceilings) + more


class Shell:
    """Runs command lines in one folder, as a reader would."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self._environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def export(self, line: str) -> None:
        name, _, value = line.removeprefix("export ").partition("=")
        self._environment[name] = value

    def start(self, line: str, output: Path) -> subprocess.Popen[bytes]:
        with output.open("wb") as sink:
            return subprocess.Popen(
                shlex.split(self._here(line)), cwd=self._folder, env=self._environment, stdout=sink, stderr=sink
            )

    def run(self, line: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", self._here(line)],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout

    def _here(self, line: str) -> str:
        return line.replace(EXAMPLE_ADDRESS, self._address)


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def shell(folder: Path, address: str) -> Iterator[Shell]:
    """A shell in which the collector of the pages runs."""
    opened = Shell(folder, address)
    export, serve = (next(line for line in commands() if start in line) for start in ("export ", "collector serve"))
    opened.export(export)
    output = folder / "collector.out"
    collector = opened.start(serve, output)
    try:
        wait_until(lambda: b"is ready on" in output.read_bytes() or collector.poll() is not None, what="the collector")
        assert collector.poll() is None, output.read_text()
        yield opened
    finally:
        collector.terminate()
        collector.wait()


def test_the_registry_of_the_pages_is_sound() -> None:
    first, _, *kinds = samples("toml")
    registry = Registry.parse(first)
    assert list(registry.metrics) == ["dark_mode", "os", "startup_ms"]
    assert registry.objections(date(2026, 11, 22)) == []
    everything = Registry.parse(with_all_metrics())
    assert list(everything.metrics)[3:] == ["mood", "stars", "languages", "crashes", "dark_mode_by_os"]
    assert everything.shortages(date(2026, 11, 22)) == []
    budget = '[app]\nname = "notes"\nowner = "notes@example.com"\n[budget]\nper_window = 9\nlifetime = 500\n'
    for kind in kinds:
        assert Registry.parse(f"schema = 1\n{budget}{kind}").shortages(date(2026, 11, 22)) == []


def test_the_year_of_the_first_registry_is_what_its_page_says() -> None:
    registry, today = Registry.parse(samples("toml")[0]), date(2026, 11, 22)
    assert most_nanos(registry, Horizon.YEAR, today) == 5 * NANOS
    assert "149 to 1" in year_words(registry, today)
    plan = make_plan(registry, PlanRequest(50_000, today))
    assert {metric.reports for metric in plan.metrics} == {1694}
    quarter = math.sqrt(13)
    dark_mode, system, start = plan.metrics
    assert dark_mode.share is not None
    assert system.share is not None
    assert start.mean is not None
    assert dark_mode.share.standard_error_uniform < system.share.standard_error_uniform < 0.0135 * quarter
    assert 37.5 < start.mean.standard_error_worst / quarter < 38.5


def test_make_has_the_targets_that_the_readme_names() -> None:
    alone = re.findall(r"^```sh\nmake (\w+)\n```$", README, re.MULTILINE)
    assert alone == ["demo", "test"]
    targets = [*alone, *re.findall(r"`make (\w+)`", README)]
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)  # noqa: S607 on the PATH


def test_the_readme_is_short() -> None:
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= MOST_WORDS_OF_THE_README


@pytest.mark.long
def test_the_five_minutes_of_the_readme_work_when_they_are_copied(tmp_path: Path) -> None:
    _, _, _, serving, reporting = (block.text for block in blocks(ROOT / "README.md") if block.language == "sh")
    assert "range(500)" in reporting  # fifty devices show as much as a test can see
    started_s = time.monotonic()
    with reading(tmp_path) as reader:
        shown = reader.run(serving) + reader.run(reporting.replace("range(500)", "range(50)"))
    assert time.monotonic() - started_s < FIVE_MINUTES_S
    for metric in ("dark_mode", "os", "startup_ms"):
        assert metric in shown
    assert "the collector's answer: accepted" in shown
    assert "A trial: " in shown
    assert "50 reports" in " ".join(shown.split())


@pytest.mark.long
def test_embedding_serving_and_reporting_work_as_the_pages_say(
    folder: Path, address: str, shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    registry = folder / "metrics.toml"
    lines = registry.read_text(encoding="utf-8").splitlines(keepends=True)
    in_the_first_weeks = "".join(line for line in lines if not line.startswith("strategy"))
    registry.write_text(in_the_first_weeks, encoding="utf-8")  # so that each week is asked
    (embedding,) = (sample for sample in samples("python") if EXAMPLE_COLLECTOR in sample)
    names = {"__file__": str(folder / "app.py"), "app_data_dir": folder / "app-data", "user_said_yes": True}
    exec(embedding.replace(EXAMPLE_COLLECTOR, f"http://{address}"), names)  # noqa: S102 the page's own sample
    assert "dark_mode" in capsys.readouterr().out
    names["telemetry"].close()  # type: ignore[attr-defined] # what the sample made

    operating = {"check", "export", "import", "retire", "selftest"}
    ran = {"make", "export", "serve", *operating}
    show, forget, close, table, preliminary, page, installs, archive = (
        line for line in commands() if not ran & set(line.split()[:3])
    )
    assert "dark_mode" in shell.run(show)
    assert "is closed" in shell.run(_of_this_week(close))
    assert "dark_mode" in shell.run(table)
    document = json.loads(shell.run(preliminary))
    (metric,) = document["metrics"]
    assert "snapshot_at" in document
    assert (metric["metric"], metric["reports"]) == ("dark_mode", 1)
    assert shell.run(page) == ""
    assert "dark_mode" in (folder / "report.html").read_text(encoding="utf-8")
    assert "dark_mode" in shell.run(installs)
    for line in commands():
        if operating & set(line.split()[1:3]):
            shell.run(line)
    assert "wrote reports/" in shell.run(archive)
    shell.run(forget)
    assert "accepted" not in shell.run(show)


def _of_this_week(close: str) -> str:
    """Return the command that closes a window for the present one, without a question.

    Reports of the present window have come.
    """
    this_week = Window.at(WindowKind.WEEK, time.time()).text
    whole = close if "--yes" in close else f"{close} --yes"
    return re.sub(r'--window ("[^"]*"|\S+)', f"--window {this_week}", whole)


def test_reporting_from_python_works_as_the_pages_say(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    edition = Registry.load(folder / "metrics.toml").metric("dark_mode").edition
    tally = {"metric": "dark_mode", "edition": edition, "window": "2026-W47", "closed": True, "reports": 1000}
    (folder / "tallies.ndjson").write_text(json.dumps(tally | {"counts": [400, 600]}), encoding="utf-8")
    places = ("--registry", "metrics.toml", "--tallies", "tallies.ndjson", "--output", "report.json")
    assert CliRunner().invoke(estimator_command, ["report", *places, "--format", "json"]).exit_code == 0
    (reporting,) = (sample for sample in samples("python") if "load_report" in sample)
    names: dict[str, Any] = {}
    exec(reporting, names)  # noqa: S102 the page's own sample
    assert "dark_mode 2026-W47 1000" in capsys.readouterr().out
    keep = math.exp(0.75) / (1 + math.exp(0.75))
    yes = (0.6 - (1 - keep)) / (2 * keep - 1)
    assert list(names["frame"]["estimate"]) == pytest.approx([1 - yes, yes])


def test_every_command_line_of_the_readme_explains_itself() -> None:
    lines = [*commands(), *README.splitlines()]
    for command in ("hearsay-client", "hearsay-collector", "hearsay-estimator"):
        shown = Shell(ROOT, EXAMPLE_ADDRESS).run(f"{command} --help")
        for line in lines:
            if line.startswith(command):
                assert line.split()[1] in shown


OTHER_PAGES = ("README", "CONTRIBUTING", "RELEASING", "SECURITY")
PAGES_WITH_LINKS = (*(ROOT / f"{name}.md" for name in OTHER_PAGES), *sorted(DOCS.rglob("*.md")))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_of_a_page_leads_to_a_file_and_a_heading() -> None:
    links = [
        (page, *link)
        for page in PAGES_WITH_LINKS
        for link in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text("utf-8"))
    ]
    assert len(links) > 100
    targets = [(page, page.parent / file if file else page, anchor) for page, file, anchor in links]
    assert [(page.name, target.name) for page, target, _ in targets if not target.exists()] == []
    astray = [(page.name, anchor) for page, target, anchor in targets if anchor and anchor not in anchors(target)]
    assert astray == []


def test_the_first_page_leads_to_every_page() -> None:
    first = DOCS / "index.md"
    linked = {(DOCS / link).resolve() for link in re.findall(r"\]\(([^):#]+\.md)\)", first.read_text("utf-8"))}
    assert linked == set(DOCS.rglob("*.md")) - {first}
