"""Samples that no test can run as they stand.

They are settings of others, and commands for a deployment.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from client_sdk.protocol import Registry
from estimator.render.openmetrics import FIGURES, METRICS
from tests.support.core.tables import for_each
from tools.reference.commands import helps
from tools.reference.parts import PARTS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HELPS = helps()


def samples(page: Path, language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


CONSOLES = [
    line.strip().removeprefix("$ ")
    for page in sorted(DOCS.rglob("*.md"))
    for sample in samples(page, "console")
    for line in sample.splitlines()
    if line.strip().startswith("$ hearsay-")
]


@for_each("line", CONSOLES)
def test_the_options_of_a_command_exist(line: str) -> None:
    words = shlex.split(line)
    command = max((name for name in HELPS if f"{line} ".startswith(f"{name} ")), key=len)
    options = set(re.findall(r"--[a-z-]+", HELPS[command]))
    assert " " in command
    assert {word for word in words if word.startswith("--")} <= options


def test_there_are_commands_for_a_deployment() -> None:
    assert len(CONSOLES) > 2


def test_the_settings_and_queries_of_prometheus_name_what_is_exposed() -> None:
    page = DOCS / "reference" / "monitoring.md"
    (settings,) = samples(page, "yaml")
    job, *_ = yaml.safe_load(settings)["scrape_configs"]
    shipped = yaml.safe_load((ROOT / "docker" / "monitoring" / "prometheus.yaml").read_text(encoding="utf-8"))
    assert job["job_name"] == shipped["scrape_configs"][0]["job_name"]
    assert job["static_configs"][0]["targets"] == ["127.0.0.1:9090"]
    exposed = set(
        re.findall(r"`(hearsay_\w+)", "".join(PARTS[f"metrics of a {who}"]() for who in ("collector", "relay")))
    )
    series = set(re.findall(r"(hearsay_\w*[a-z])\b", page.read_text(encoding="utf-8")))
    assert {name.removesuffix("_bucket") for name in series} <= exposed | {*FIGURES, *METRICS}


def test_the_keys_of_a_retired_metric_are_some() -> None:
    retained, stopped = samples(DOCS / "reference" / "changing.md", "toml")
    starter = (ROOT / "client_sdk" / "commands" / "starter.toml").read_text(encoding="utf-8")
    changed = Registry.parse(stopped + starter.replace("[metric.dark_mode]\n", retained))
    assert changed.metric("dark_mode").retention_days == 365
    assert changed.stopped == (("dark_mode", "0123456789ab"),)
