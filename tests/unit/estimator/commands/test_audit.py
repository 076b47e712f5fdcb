"""The command ``audit``: its forms, its exit codes, and every wrong use."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from client_sdk import Telemetry
from estimator.audit.black_box import COLLECTOR
from estimator.audit.run import LEAST_REPORTS, audit
from estimator.commands import audit as audit_module
from estimator.commands.cli import command
from estimator.errors import AuditError
from tests.support.devices.definitions import BOOLEAN, CATEGORY, registry_text
from tests.support.mutants.audits import LongerIfTrue, SeededCoins, seeded

SEED = 4


def _written(folder: Path) -> Path:
    path = folder / "metrics.toml"
    path.write_text(registry_text(dark_mode=BOOLEAN, os=CATEGORY | {"values": ["a " * 20, "b", "c"]}))
    return path


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return _written(tmp_path)


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["audit", *(str(argument) for argument in arguments)])


@pytest.fixture(scope="module")
def leaked(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What is said of an SDK that gives every answer away: the fewest reports refute its claim."""
    registry, device = _written(tmp_path_factory.mktemp("leaked")), partial(LongerIfTrue, coins=SeededCoins(SEED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_module, "audit", partial(audit, make_device=device))
        return _run("--registry", registry, "--reports", LEAST_REPORTS, "--metric", "dark_mode")


@pytest.fixture
def right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "audit", partial(audit, make_device=seeded(SEED)))


@pytest.mark.slow
@pytest.mark.usefixtures("right")
def test_the_table_has_a_block_a_horizon_within_80_columns(registry: Path) -> None:
    result = _run("--registry", registry, "--reports", LEAST_REPORTS)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.partition(":")[0] for line in lines if ": n = " in line] == [
        "one report",
        "30 windows, all answers differ",
        "30 windows, one answer differs",
        "a window, all answers differ",
        "a window, one answer differs",
    ]
    assert "accused" not in result.output


@pytest.mark.long
@pytest.mark.usefixtures("right")
def test_the_verdict_says_what_so_many_reports_could_at_best_have_proved(registry: Path) -> None:
    few = " ".join(_run("--registry", registry, "--reports", LEAST_REPORTS, "--metric", "dark_mode").stdout.split())
    assert "Verdict: no claim was refuted in 3 comparisons. Of these, 2 could not refute anything: " in few
    assert "observations prove at most epsilon 0.00, even if the SDK reveals more." in few
    assert few.endswith(
        "Of these, 1 could prove little: twice the claimed epsilon would probably go unnoticed; use more --reports."
    )
    many = " ".join(_run("--registry", registry, "--reports", 900, "--metric", "dark_mode").stdout.split())
    assert "2 could not refute anything: 30 observations prove at most epsilon 0.00" in many
    assert re.search(r"In 1 of these, an excess of 0\.\d\d over the claim would probably be noticed\.$", many)


@pytest.mark.slow
def test_the_verdict_names_a_refutation(leaked: Result) -> None:
    assert leaked.stdout.splitlines()[-1].startswith(
        "Verdict: REFUTED: 1 of 3 comparisons proved more than is claimed (*)."
    )


@pytest.mark.slow
@pytest.mark.usefixtures("right")
def test_json_is_what_programs_are_promised_and_no_socket_is_opened(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(COLLECTOR)

    monkeypatch.setattr("socket.socket", refuse)
    result = _run("--registry", registry, "--reports", LEAST_REPORTS, "--metric", "dark_mode", "--format", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert list(document) == ["reports", "false_accusation", "accused", "lifetime", "findings"]
    assert (document["reports"], document["false_accusation"], document["accused"]) == (LEAST_REPORTS, 1e-6, False)
    first, *more = document["findings"]
    assert {finding["metric"] for finding in document["findings"]} == {"dark_mode"}
    assert len(more) == 2
    assert (
        first.items()
        >= {
            "metric": "dark_mode",
            "horizon": "one report",
            "answers": ["false", "true"],
            "claimed_epsilon": 1.0,
            "claimed_delta": 0.0,
            "observations": LEAST_REPORTS,
            "accused": False,
        }.items()
    )
    assert set(first) - {"proved_epsilon", "used", "provable_epsilon", "detectable_excess"} == set(list(first)[:5]) | {
        "observations",
        "accused",
    }


@pytest.mark.slow
def test_an_accusation_says_what_is_refuted_and_by_how_much(leaked: Result) -> None:
    assert leaked.exit_code == 1
    assert "accused: dark_mode, one report, false or true: epsilon is at least " in leaked.stderr
    assert "above the claimed 1.0000" in leaked.stderr
    assert " *\n" in leaked.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metric", "dark_mod"], "dark_mod"),
        (["--reports", LEAST_REPORTS - 1], "120"),
        (["--reports", "many"], "many"),
        (["--format", "csv"], "csv"),
    ],
)
def test_wrong_use_is_said(registry: Path, arguments: list[object], said: str) -> None:
    result = _run("--registry", registry, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_registry_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    result = _run("--registry", tmp_path / "none.toml")
    assert result.exit_code == 2
    assert "the registry cannot be used" in result.stderr


def test_an_sdk_that_does_not_send_is_said(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Telemetry, "flush", lambda *_: False)
    result = _run("--registry", registry, "--reports", LEAST_REPORTS)
    assert result.exit_code == 2
    assert "did not send" in result.stderr
    assert issubclass(AuditError, Exception)
