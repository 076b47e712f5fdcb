"""The page on metrics and logs names exactly those that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from collector.counters import new_shared_counters
from collector.log import Event
from collector.maintenance import Health
from collector.prometheus import families, relay_families

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "monitoring.md").read_text(encoding="utf-8")
METRICS, LOGS = PAGE.split("## Logs")
HEALTH = Health(
    is_up=True, is_noted=True, open_windows=1, closed_windows=0, open_reports={("dark_mode", "2026-11-20"): 1}
)


def rows(section: str) -> list[str]:
    return re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)


def test_every_metric_is_on_the_page_with_its_labels() -> None:
    exposed = set()
    for family in (*families(new_shared_counters(), HEALTH), *relay_families(new_shared_counters())):
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        named = f"{family.name}_total" if family.type == "counter" else family.name
        exposed.add((named, frozenset(labels)))
    documented = {
        (name, frozenset(labels.split(",")) - {""})
        for name, labels in re.findall(r"`((?:hearsay|process)_\w+)(?:\{([\w,]+)\})?`", "\n".join(rows(METRICS)))
    }
    assert documented == exposed


def test_every_event_is_on_the_page() -> None:
    assert re.findall(r"`(\w+)`", "\n".join(rows(LOGS))) == [event.value for event in Event]


GROUPS = yaml.safe_load((ROOT / "docker" / "monitoring" / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
ALERTS = [rule for group in GROUPS for rule in group["rules"]]
RUNBOOK = "docs/reference/alerts.md"


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
