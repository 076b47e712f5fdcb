"""Samples that no test can run as they stand.

They are bodies of the wire, settings of others, and commands for a deployment.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import yaml

from client_sdk.protocol import Registry, Verdict
from client_sdk.protocol.wire.reading import read_upload
from collector.api.messages import OPERATIONS
from estimator.render.openmetrics import FIGURES, QUESTIONS
from tests.support.core.tables import for_each
from tools.reference.commands import helps

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HELPS = helps()
WIRE = (DOCS / "reference" / "wire.md").read_text(encoding="utf-8")
STARTER = Registry.load(ROOT / "client_sdk" / "commands" / "starter.toml")


def samples(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


CONSOLES = [
    line.removeprefix("$ ")
    for page in sorted(DOCS.rglob("*.md"))
    for sample in samples(page, "console")
    for line in sample.splitlines()
    if line.startswith("$ hearsay-")
]


def test_the_bodies_of_the_wires_page_are_read() -> None:
    upload, verdict = samples(DOCS / "reference" / "wire.md", "json")
    metric = STARTER.metric("dark_mode")
    body = upload.replace("EDITION", metric.edition).replace("WINDOW", "2026-W47")
    assert [report.metric for report in read_upload(body.encode()).reports] == ["dark_mode", "dark_mode"]
    assert Verdict.decode(verdict.encode(), reports=2).accepted == 1
    assert json.loads(verdict)["refused"][0]["code"] == "window_closed"


def test_the_page_of_the_wire_names_every_path_and_no_other() -> None:
    rows = [line for line in WIRE.splitlines() if re.match(r"\| `(GET|POST)", line)]
    named = {path for line in rows for path in re.findall(r"(/[a-z0-9/.]*)`", line.split(" | ")[0])}
    assert named == {operation.path for operation in OPERATIONS}


@for_each("line", CONSOLES)
def test_the_options_of_a_command_exist(line: str) -> None:
    program, command, *rest = shlex.split(line)
    options = set(re.findall(r"--[a-z-]+", HELPS[f"{program} {command}"]))
    assert {word for word in rest if word.startswith("--")} <= options


def test_there_are_commands_for_a_deployment() -> None:
    assert len(CONSOLES) > 2


def test_the_settings_and_queries_of_prometheus_name_what_is_exposed() -> None:
    page = DOCS / "how-to" / "grafana.md"
    (settings,) = samples(page, "yaml")
    (job,) = yaml.safe_load(settings)["scrape_configs"]
    shipped = yaml.safe_load((ROOT / "docker" / "monitoring" / "prometheus.yaml").read_text(encoding="utf-8"))
    assert job["job_name"] == shipped["scrape_configs"][0]["job_name"]
    assert job["static_configs"][0]["targets"] == ["127.0.0.1:9090"]
    exposed = set(re.findall(r"`(hearsay_\w+)", (DOCS / "reference" / "monitoring.md").read_text(encoding="utf-8")))
    series = set(re.findall(r"(hearsay_\w+)", page.read_text(encoding="utf-8")))
    assert {name.removesuffix("_bucket") for name in series} <= exposed | {*FIGURES, *QUESTIONS}


def test_the_keys_of_a_retired_question_are_some() -> None:
    stopped, retained = samples(DOCS / "how-to" / "retiring.md", "toml")
    starter = (ROOT / "client_sdk" / "commands" / "starter.toml").read_text(encoding="utf-8")
    changed = Registry.parse(stopped + starter.replace("[metric.dark_mode]\n", retained))
    assert changed.metric("dark_mode").retention_days == 365
    assert changed.stopped == (("dark_mode", "0123456789ab"),)
