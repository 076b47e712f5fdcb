"""The command ``upgrade-registry``, and what a plan says of schema 2."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry
from estimator.commands.cli import command
from estimator.plan.plan import PlanRequest, make_plan
from estimator.render.text.plan import plan_as_table
from tests.support.devices.definitions import BOOLEAN, NUMBER, registry_text

TEXT = registry_text(dark_mode=BOOLEAN, visits=NUMBER | {"epsilon": 2}).replace("schema = 1", "schema = 1  # ours")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(TEXT)
    return path


def run(registry: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["upgrade-registry", "--registry", str(registry), *arguments])


def test_it_shows_what_changes_and_writes_nothing(registry: Path) -> None:
    shown = run(registry)
    assert shown.exit_code == 0
    assert "visits: hybrid > optimal-mean, " in shown.output
    assert "as before, with the same edition: dark_mode" in shown.output
    assert "A running collector refuses the new file" in shown.output
    assert "-schema = 1  # ours\n+schema = 2  # ours\n" in shown.output
    assert registry.read_text() == TEXT


def test_it_writes_on_request_and_keeps_everything_else(registry: Path) -> None:
    assert run(registry, "--write").exit_code == 0
    assert registry.read_text() == TEXT.replace("schema = 1", "schema = 2")
    again = run(registry)
    assert again.exit_code == 2
    assert "has schema 2 already" in again.output


@pytest.mark.slow
def test_a_plan_says_what_schema_2_would_save_of_a_file_of_schema_1_only() -> None:
    def planned(text: str) -> str:
        return plan_as_table(make_plan(Registry.parse(text), PlanRequest(1000, date(2026, 11, 20))))

    assert "  in schema 2: optimal-mean, " in planned(TEXT)
    assert "in schema 2" not in planned(TEXT.replace("schema = 1", "schema = 2"))
