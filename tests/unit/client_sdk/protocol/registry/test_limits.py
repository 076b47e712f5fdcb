"""A registry that reveals more than the limits needs a reason, wherever releases are checked."""

from __future__ import annotations

import logging
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from client_sdk.commands.registry_commands import check
from client_sdk.protocol import Registry
from client_sdk.protocol.registry.limits import excesses, remarks
from client_sdk.protocol.statement import statement
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, Field, Toml

ROOT = Path(__file__).parents[5]
TODAY = date(2026, 11, 24)

BUDGET: dict[str, Field] = {"per_window": 20, "lifetime": 4}


def text_of(budget: dict[str, Field], **metrics: dict[str, Field]) -> str:
    tables: dict[str, dict[str, Field]] = {
        "app": {"name": "acme", "owner": "owner@example.com"},
        "budget": BUDGET | budget,
    }
    tables |= {f"metric.{name}": BOOLEAN | fields for name, fields in metrics.items()}
    return "schema = 1\n" + "".join(
        f"[{name}]\n" + "".join(f"{key} = {written(value)}\n" for key, value in fields.items())
        for name, fields in tables.items()
    )


def written(value: Field) -> str:
    return f'"{value}"' if isinstance(value, str) and not isinstance(value, Toml) else str(value)


@pytest.mark.parametrize(
    ("epsilon", "sensitive", "sentences"),
    [
        *(("ln 9", "false", 0), (2.1972, "false", 0), (2.1973, "false", 1), ("ln 9.001", "false", 1)),
        *(("ln 3", "true", 0), (1.0986, "true", 0), (1.0987, "true", 1), ("ln 9", "true", 1), (12, "false", 1)),
    ],
)
def test_a_report_may_cost_ln_9_and_a_sensitive_one_ln_3(epsilon: Field, sensitive: str, sentences: int) -> None:
    budget: dict[str, Field] = {"lifetime": 20, "web_year": 9999, "per_window": 20}
    metric: dict[str, Field] = {"epsilon": epsilon, "sensitive": Toml(sensitive), "window": "month"}
    found = [line for line in excesses(Registry.parse(text_of(budget, sick=metric)), TODAY) if "metric.sick" in line]
    assert len(found) == sentences
    assert all("[budget] accept" in line for line in found)


@pytest.mark.parametrize(("lifetime", "places"), [(5, []), (5.000000001, ["budget"]), (1000, ["budget"])])
def test_a_year_may_cost_5_as_the_ledger_counts_it(lifetime: float, places: list[str]) -> None:
    registry = Registry.parse(text_of({"lifetime": lifetime}, dark_mode={"epsilon": 1}))
    assert [line.split(":")[0] for line in excesses(registry, TODAY)] == places


def test_the_year_of_a_browser_is_that_of_a_storage_that_lasts_and_the_other_one_is_printed() -> None:
    registry = Registry.parse(text_of({"web_year": 366}, dark_mode={"epsilon": 1}))
    assert excesses(registry, TODAY) == []
    (line,) = remarks(registry, TODAY)
    assert "up to epsilon 366 within a year; web_year states 366" in line


def test_a_metric_that_has_expired_exceeds_nothing() -> None:
    text = text_of({}, dark_mode={"epsilon": 3, "expires": Toml(str(TODAY - timedelta(days=1)))})
    assert excesses(Registry.parse(text), TODAY) == []
    assert len(excesses(Registry.parse(text), TODAY - timedelta(days=1))) == 1


def test_a_reason_is_accepted_and_printed_with_what_it_is_for(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(text_of({"lifetime": 1000}, sick={"epsilon": 12}), encoding="utf-8")
    refused = check(path, TODAY)
    assert refused.text == ""
    assert [re.sub(r"^.*metrics.toml: ([^:]*):.*$", r"\1", line) for line in refused.problems] == [
        "metric.sick.epsilon",
        "budget",
    ]
    path.write_text(text_of({"lifetime": 1000, "accept": "A study with consent."}, sick={"epsilon": 12}))
    accepted = check(path, TODAY)
    assert accepted.problems == ()
    assert "limits are exceeded by metric.sick.epsilon and budget; the reason given is: A study" in accepted.text


def test_marking_a_metric_or_giving_a_reason_redraws_nothing() -> None:
    plain = Registry.parse(text_of({}, dark_mode={}))
    marked = Registry.parse(text_of({"accept": "A reason."}, dark_mode={"sensitive": Toml("true")}))
    assert plain.metric("dark_mode").edition == marked.metric("dark_mode").edition


def test_loading_a_registry_logs_once_what_a_check_refuses(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(text_of({"lifetime": 1000}, sick={"epsilon": 12}), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        registries = [Registry.load(path, today=TODAY) for _ in range(2)]
    assert registries[0] == registries[1]
    assert [record.getMessage().split(": ")[1] for record in caplog.records] == ["metric.sick.epsilon", "budget"]
    caplog.clear()
    path.write_text(text_of({"lifetime": 1000, "accept": "A study."}, sick={"epsilon": 12}), encoding="utf-8")
    Registry.load(path, today=TODAY)
    assert caplog.records == []


SHIPPED = [ROOT / "client_sdk" / "commands" / "starter.toml", *sorted((ROOT / "examples").glob("*/metrics.toml"))]

ON_PAGES = [
    pytest.param(sample, id=f"{page.relative_to(ROOT)}-{number}")
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
    for number, sample in enumerate(
        re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )
    if "[budget]" in sample and "[app]" in sample and "[metric." in sample
]


@for_each("path", SHIPPED)
def test_everything_that_ships_to_be_copied_is_within_the_limits(path: Path) -> None:
    registry = Registry.read(path)
    assert registry.objections(TODAY) == []
    assert not registry.budget.accept


@pytest.mark.parametrize("sample", ON_PAGES)
def test_every_registry_on_a_page_is_within_the_limits(sample: str) -> None:
    registry = Registry.parse(sample)
    assert registry.objections(TODAY) == []
    assert not registry.budget.accept


def test_there_are_registries_to_copy() -> None:
    assert len(SHIPPED) > 4
    assert len(ON_PAGES) > 1


@pytest.mark.parametrize(("language", "words"), [("en", "Its team gives"), ("de", "Das Team nennt")])
def test_the_statement_for_users_gives_the_reason(language: str, words: str) -> None:
    plain = Registry.parse(text_of({}, dark_mode={}))
    accepted = Registry.parse(text_of({"accept": "A *study*."}, dark_mode={}))
    page = " ".join(statement(accepted, language).split())
    assert words in page
    assert r"A \*study\*." in page
    assert words not in " ".join(statement(plain, language).split())
