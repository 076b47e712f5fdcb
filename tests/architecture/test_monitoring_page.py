"""The page on metrics and logs names exactly those that exist."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from collector.counters import new_sheet
from collector.log import Event
from collector.maintenance import Health
from collector.prometheus import families

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
    for family in families(new_sheet(), HEALTH):
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


def test_every_alert_is_on_the_page_with_its_severity() -> None:
    rules = yaml.safe_load((ROOT / "docker" / "monitoring" / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]
    named = re.findall(r"^\| ((?:`Hearsay\w+`(?:, )?)+) \| (\w+) \|", PAGE, re.MULTILINE)
    documented = {alert: severity for names, severity in named for alert in re.findall(r"`(\w+)`", names)}
    assert documented == {rule["alert"]: rule["labels"]["severity"] for rule in rules["rules"]}
