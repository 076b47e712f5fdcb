"""What is written to stdout, whatever its encoding can show."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from client_sdk.protocol import Registry
from estimator.audit.run import Audit, audit, chosen
from estimator.commands import audit as audit_module
from estimator.commands.cli import command
from tests.support.devices.definitions import BOOLEAN, CATEGORY, registry_text

LONG = [f"a value that is far too long to be shown {number}" for number in range(3)]
PURPOSE = "Πόσοι;"

TABLES = {
    "rehearse": ("--population", "1000", "--seed", "1"),
    "plan": ("--population", "1000"),
    "plan --allocate": ("--population", "1000", "--allocate", "1"),
    "audit": ("--reports", "1000", "--metric", "letters"),
}
"""The commands that print a table; the report's has its own tests."""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(letters=CATEGORY | {"values": LONG}, yes=BOOLEAN | {"purpose": PURPOSE}), "utf-8")
    return path


def printed(registry: Path, charset: str, name: str, *options: str) -> bytes:
    result = CliRunner(charset=charset).invoke(command, [name, "--registry", str(registry), *options])
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


@pytest.mark.long
@pytest.mark.parametrize("arguments", TABLES)
def test_every_table_holds_nothing_but_ascii_where_not_all_signs_can_be_shown(
    registry: Path, arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @cache
    def played(reports: int) -> Audit:
        return audit(chosen(Registry.load(registry), ("letters",)), reports)

    monkeypatch.setattr(audit_module, "audit", lambda _, reports, **__: played(reports))  # one audit, shown twice
    name, options = arguments.partition(" ")[0], TABLES[arguments]
    plain, narrow = (printed(registry, charset, name, *options) for charset in ("utf-8", "latin-1"))
    table = narrow.partition(b"---")[0]  # a patch is no table: it repeats the registry
    assert table.isascii()
    assert max(map(len, table.decode().splitlines())) <= 80
    assert len(table.splitlines()) == len(plain.partition(b"---")[0].splitlines())


def test_columns_stand_where_they_stood(registry: Path) -> None:
    lines = printed(registry, "latin-1", "rehearse", *TABLES["rehearse"]).decode().splitlines()
    heading = next(line for line in lines if "truth" in line)
    row = next(line for line in lines if line.startswith("  a value that is.. "))
    (error,) = re.findall(r"\+- [0-9.]+", row)
    assert row.index(error) + len(error) == heading.index("s.e.") + len("s.e.")
    assert " to " in row[heading.index("interval") - 4 :]


def test_what_programs_read_is_utf_8_whatever_is_shown(registry: Path) -> None:
    output = printed(registry, "latin-1", "rehearse", *TABLES["rehearse"], "--format", "json")
    assert json.loads(output.decode())["seed"] == 1
    assert PURPOSE.encode() in printed(registry, "latin-1", "plan", "--statement")
