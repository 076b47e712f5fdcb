"""A fuzzer holds the real service to the OpenAPI document, with every check that it has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.services.collecting import OPEN, key_entry
from tests.support.services.processes import run_command, running_collector

SECRETS = {"read": "read-key-of-the-fuzzer-000000000", "relay": "relay-key-of-the-fuzzer-00000000"}
HOOKS = "tests.support.services.fuzzer_hooks"
EXAMPLES = 60

BATCHES = """
[[operations]]
include-path = "/v1/uploads"
checks.negative_data_rejection.enabled = false
"""
"""A problem with a line is reported in a line of the answer, whose status is 200."""


@pytest.mark.long
def test_every_answer_of_the_service_is_one_that_its_document_has(registry_file: Path, tmp_path: Path) -> None:
    access, settings = tmp_path / "access.toml", tmp_path / "fuzzer.toml"
    access.write_text(OPEN + "".join(key_entry(role, role, secret) for role, secret in SECRETS.items()))
    keys = "".join(f'[auth.openapi.{role}Key]\nbearer = "{secret}"\n' for role, secret in SECRETS.items())
    settings.write_text(keys + BATCHES)
    with running_collector(
        registry_file, tmp_path / "data", "--access", str(access), environment={"HEARSAY_READ_TOKEN": None}
    ) as collector:
        fuzzed = run_command(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings)),
                *("run", f"{collector.url}/v1/openapi.json", "--phases", "coverage,fuzzing"),
                *("--max-examples", str(EXAMPLES), "--generation-deterministic", "--no-color"),
            ],
            SCHEMATHESIS_HOOKS=HOOKS,
            PYTHONPATH=str(Path(__file__).parents[2]),
        )
    assert fuzzed.returncode == 0, fuzzed.stdout + fuzzed.stderr
    assert "Warnings:" not in fuzzed.stdout, fuzzed.stdout
    assert "ERROR" not in collector.output.read_text()
