"""Every command prints what it printed when its output was last reviewed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from client_sdk.protocol import Registry
from tests.golden.outputs import COMMANDS, METRICS, PRINTED, outputs, unlike

LONG = {"report_everything.txt", "report_verbose.txt", "report.csv", "report.prom", "page.html", "rehearsal.json"}
"""What takes seconds and shows the figures of other files in another form."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in COMMANDS]
)
def test_a_command_prints_what_was_reviewed(name: str, tmp_path: Path) -> None:
    printed, reviewed = outputs([name], tmp_path)[name], (PRINTED / name).read_text(encoding="utf-8")
    assert unlike(name, printed, reviewed) == []


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("report.json", '{"reports": 2001, "estimate": 0.35}'),
        ("report.json", '{"reports": 2000, "estimate": 0.36}'),
        ("report.json", '{"reports": 2000, "shares": 0.35}'),
        ("report.txt", "35.1% in 2026-11-05"),
    ],
)
def test_a_number_or_word_that_no_processor_explains_is_seen(name: str, printed: str) -> None:
    reviewed = '{"reports": 2000, "estimate": 0.35}' if name == "report.json" else "35.2% in 2026-11-05"
    assert unlike(name, reviewed, reviewed) == []
    assert unlike(name, printed, reviewed) != []


@pytest.mark.parametrize(
    ("printed", "is_explained"),
    [("2,100 px", True), ("2,080 px", True), ("2,110 px", False), ("2,091 px", False), ("2,089 px", False)],
)
def test_only_the_next_ten_is_explained_where_a_report_shows_a_limit_in_tens(
    printed: str, *, is_explained: bool
) -> None:
    assert (unlike("report_verbose.txt", printed, "2,090 px") == []) == is_explained
    assert unlike("report.txt", printed, "2,090 px") != []


def test_nothing_is_kept_that_no_command_prints() -> None:
    assert {path.name for path in PRINTED.iterdir()} == set(COMMANDS)


def test_the_registry_has_every_kind_and_every_mechanism() -> None:
    """One that the registry lacks would be free to change."""
    registry, keys = Registry.load(METRICS), json.loads((PRINTED / "schema.json").read_text(encoding="utf-8"))
    named = {metric.channel.name.removeprefix("permanent ") for metric in registry.metrics.values()}
    properties = keys["properties"]["metric"]["additionalProperties"]["properties"]
    assert named | {"auto"} == set(properties["mechanism"]["enum"])
    written = {metric["kind"] for metric in tomllib.loads(METRICS.read_text())["metric"].values() if "kind" in metric}
    assert written == set(properties["kind"]["enum"])
