"""The record of a deployment, for the registry of OpenDP."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft202012Validator, FormatChecker

from client_sdk.protocol.registry.registry import Registry
from estimator.commands.cli import command
from estimator.plan.record import as_yaml, deployment_record
from tests.support.devices.definitions import BOOLEAN, Toml, registry_text
from tests.support.services.git import ROOT

SCHEMA = json.loads((Path(__file__).parent / "deployment-record.schema.json").read_text(encoding="utf-8"))

TODAY = date(2026, 11, 28)

REGISTRIES = ("client_sdk/commands/starter.toml", "examples/web/metrics.toml", "tests/golden/metrics.toml")


def _record(text: str, population: int | None = None) -> dict[str, dict[str, Any]]:
    record = deployment_record(Registry.parse(text), TODAY, population)
    Draft202012Validator(SCHEMA, format_checker=FormatChecker()).validate(record)
    assert yaml.safe_load(as_yaml(record)) == record
    deployment: dict[str, dict[str, Any]] = record["deployment"]
    return deployment


@pytest.mark.parametrize("path", REGISTRIES)
def test_the_record_of_every_registry_fits_the_schema_of_the_deployments_registry(path: str) -> None:
    deployment = _record((ROOT / path).read_text(encoding="utf-8"), 5_000)
    assert deployment["privacy_loss"]["number_of_privacy_units"] == 5_000
    assert deployment["administrative"]["tier"] == 3


@pytest.mark.parametrize(
    "purpose", ["# no: comment", "- 'a' \\\\ \\\"b\\\"", "* star | pipe", "%TAG 日本 🎉", "null", "1e3"]
)
def test_no_wording_of_a_purpose_breaks_the_yaml(purpose: str) -> None:
    metric = BOOLEAN | {"purpose": Toml(f'"{purpose}"'), "owner": Toml(f'"{purpose}"')}
    assert purpose.replace("\\\\", "\\").replace('\\"', '"') in str(
        _record(registry_text(a=metric))["basic"]["intended_use"]
    )


def test_the_parameters_are_those_of_a_device_over_its_life_or_of_a_year_where_a_browser_forgets() -> None:
    losses = {path: _record((ROOT / path).read_text(encoding="utf-8"))["privacy_loss"] for path in REGISTRIES}
    units = {path: (loss["privacy_unit"], loss["privacy_parameters"]) for path, loss in losses.items()}
    registry = Registry.read(ROOT / REGISTRIES[0])
    assert units[REGISTRIES[0]] == ("a device, over its life", {"epsilon": registry.budget.lifetime_nanos / 1e9})
    assert units[REGISTRIES[1]][0] == "a device, within a calendar year"
    assert set(units[REGISTRIES[2]][1]) == {"epsilon", "delta"}


def test_strata_silence_and_the_disk_are_named_as_unprotected() -> None:
    told = str(_record((ROOT / REGISTRIES[2]).read_text(encoding="utf-8"))["dp_variant"]["unprotected_quantities"])
    strata = "platform=linux; platform=windows"
    assert f"`seen`: the device's public stratum, which is sent unchanged. Strata: {strata}." in told
    assert "`constant`: the answers that occurred, which stay on the device's own disk" in told
    silent = next(line for line in told.splitlines() if "reports are sent only then" in line)
    assert "`dark_mode`" in silent
    assert "`seen`" not in silent


def test_the_page_shows_what_its_command_prints() -> None:
    page = (ROOT / "docs" / "privacy" / "templates.md").read_text(encoding="utf-8")
    pattern = r"```console\n\$ hearsay-estimator (.+)\n```\n\n```yaml\n(.+?)```"
    ((line, printed),) = re.findall(pattern, page, re.DOTALL)
    result = CliRunner().invoke(command, [str(ROOT / word) if "/" in word else word for word in line.split()])
    assert result.stdout == printed, f"paste what it prints: hearsay-estimator {line}"


def test_the_command_prints_the_record_of_the_registry(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(a=BOOLEAN))
    result = CliRunner().invoke(command, ["plan", "--registry", str(path), "--record", "--today", TODAY.isoformat()])
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout) == deployment_record(Registry.read(path), TODAY, None)
    assert "  # FILL IN: Government, Industry or Nonprofit\n" in result.stdout
    assert result.stderr.splitlines() == [
        "data_product_sector is missing: add Technology, Healthcare, Education, Government, Energy or Finance",
        "number_of_privacy_units is missing: pass the number of devices as --population",
    ]
