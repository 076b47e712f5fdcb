"""The page on metrics and logs names exactly those that exist."""

from __future__ import annotations

import re
from pathlib import Path

from collector.log import Event
from collector.monitoring.counters import new_sheet
from collector.monitoring.health import Health
from collector.monitoring.prometheus import families

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "monitoring.md").read_text(encoding="utf-8")
METRICS, LOGS = PAGE.split("## Logs")


def rows(section: str) -> list[str]:
    return re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)


def test_every_metric_is_on_the_page_with_its_labels() -> None:
    exposed = set()
    for family in families(new_sheet(), Health(is_up=True, is_noted=True, open_windows=0, closed_windows=0)):
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        named = f"{family.name}_total" if family.type == "counter" else family.name
        exposed.add((named, frozenset(labels)))
    documented = {
        (name, frozenset(labels.split(",")) - {""})
        for name, labels in re.findall(r"`(hearsay_\w+)(?:\{([\w,]+)\})?`", "\n".join(rows(METRICS)))
    }
    assert documented == exposed


def test_every_event_is_on_the_page() -> None:
    assert re.findall(r"`(\w+)`", "\n".join(rows(LOGS))) == [event.value for event in Event]
