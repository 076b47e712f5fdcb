"""The page on monitoring names the metrics and events that exist, and every alert has a section."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from collector.log import Event
from tools.reference.parts import PARTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "monitoring.md").read_text(encoding="utf-8")
LOGS = PAGE.partition("## Logs")[2].partition("\n## ")[0]


def test_the_metrics_have_their_labels_and_say_what_they_count() -> None:
    lines = [*PARTS["metrics of a collector"]().splitlines(), *PARTS["metrics of a relay"]().splitlines()]
    rows = dict(re.findall(r"^\| `(.*?)` \| (\S.*\.) \|$", "\n".join(lines), re.MULTILINE))
    assert len(rows) == len(lines) - 4
    assert {"hearsay_reports_total{verdict}", "hearsay_window_reports{metric,window}"} <= rows.keys()
    assert {"process_open_fds{process}", "hearsay_relay_batches_total{outcome}"} <= rows.keys()


def test_every_event_is_on_the_page() -> None:
    cells = re.findall(r"^\| (`.*?) \|", LOGS, re.MULTILINE)
    assert re.findall(r"`(\w+)`", "\n".join(cells)) == [event.value for event in Event]


GROUPS = yaml.safe_load((ROOT / "docker" / "monitoring" / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
ALERTS = [rule for group in GROUPS for rule in group["rules"]]
RUNBOOK = "docs/reference/monitoring.md"


def test_every_alert_has_a_section_with_its_severity_and_a_command_to_run_first() -> None:
    page = (ROOT / RUNBOOK).read_text(encoding="utf-8")
    sections = re.findall(
        r"^### (\w+)\n\n`(\w+)`: [^`].*?\.\n\n```text\n\S.*?\n```\n\n\S", page, re.MULTILINE | re.DOTALL
    )
    assert sections == [(rule["alert"], rule["labels"]["severity"]) for rule in ALERTS]
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == [rule["alert"] for rule in ALERTS]


def test_the_runbook_of_every_alert_is_a_heading_of_the_site() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    for rule in ALERTS:
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        path = ROOT / page.removeprefix(urls["Homepage"])
        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, rule["alert"]
        assert anchor == rule["alert"].lower()
