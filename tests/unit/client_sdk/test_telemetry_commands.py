"""The commands of an app, by click, by Typer and as plain functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
import typer
import typer.testing
from click.testing import CliRunner

from client_sdk import consent
from client_sdk.ledger.file import FILE_NAME
from client_sdk.telemetry_commands import TelemetryCommands
from tests.support.devices.clients import ask, record_in, rows
from tests.support.devices.clients import telemetry as device_of

REGISTRY = ask('[metric.used]\nkind = "boolean"\n')


@pytest.fixture(params=["click", "typer"])
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command of an app that was made with either framework; return what it prints."""
    for name in ("DO_NOT_TRACK", *consent.CI_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(consent, "machine_files", lambda: ())
    commands = TelemetryCommands(
        registry=REGISTRY, collector="https://a.example", data_dir=tmp_path, variable="ACME_TELEMETRY"
    )
    if request.param == "click":
        app = click.Group(commands=[commands.click_group()])
        return lambda *words: CliRunner().invoke(app, ["telemetry", *words]).output
    group = typer.Typer()
    for command in commands:
        group.command()(command)
    typer_app = typer.Typer()
    typer_app.add_typer(group, name="telemetry")
    return lambda *words: typer.testing.CliRunner().invoke(typer_app, ["telemetry", *words]).output


def today(tmp_path: Path) -> str:
    choice = consent._read(tmp_path)
    assert choice is not None
    return choice.day


@pytest.mark.slow
def test_a_user_switches_it_on_reads_what_left_and_switches_it_off(run: Any, tmp_path: Path) -> None:
    assert run("status") == "Telemetry is off. You have not been asked yet.\n"
    assert run("show") == "Nothing has left this device.\n"
    assert run("forget") == "The data about your answers has been erased.\n"
    assert run("on") == f"Your choice is stored.\nTelemetry is on. You agreed on {today(tmp_path)}.\n"
    with device_of(tmp_path, registry=REGISTRY) as device:
        device.record("used", value=True)
        device.flush(5)
    assert "used" in run("show")
    assert run("off") == (
        f"Your choice is stored.\nTelemetry is off. You declined on {today(tmp_path)}.\n"
        "The data about your answers has been erased.\n"
    )
    assert "used" not in run("show")
    with device_of(tmp_path, registry=REGISTRY, consent=False) as device:
        assert device.budget().lifetime_spent > 0
    assert "# What acme asks" in run("statement")
    assert f"hearsay-client forget --data-dir {tmp_path}\n" in run("statement")


def test_forget_erases_what_a_trial_left_too(run: Any, tmp_path: Path) -> None:
    record_in(tmp_path, "used", registry=REGISTRY, collector="http://127.0.0.1:9", trial=True)
    run("forget")
    assert rows(tmp_path / "trial", "SELECT * FROM history UNION ALL SELECT * FROM history") == []


def test_show_shows_what_a_trial_reported_too(run: Any, tmp_path: Path) -> None:
    record_in(tmp_path, "used", registry=REGISTRY, collector="http://127.0.0.1:9", trial=True)
    own, trial = (f"--all --data-dir {folder}\n" for folder in (tmp_path, tmp_path / "trial"))
    shown = run("show")
    assert (own in shown, trial in shown) == (False, True)
    record_in(tmp_path, "used", registry=REGISTRY)
    shown = run("show")
    assert shown.index(own) < shown.index(trial)


def test_the_status_says_that_a_damaged_ledger_records_nothing_and_what_to_do(run: Any, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no ledger")
    off = "Telemetry is off. You have not been asked yet.\n"
    assert run("status") == off
    said = run("on")
    on, problem = f"Telemetry is on. You agreed on {today(tmp_path)}.\n", f"Error: {tmp_path / FILE_NAME} is damaged"
    assert on in said
    assert problem in said
    assert "restore the file, or delete it by hand" in said
    assert run("status").startswith(f"{on}{problem}")
    assert (tmp_path / FILE_NAME).read_bytes() == b"no ledger"


def test_forget_keeps_the_choice(run: Any, tmp_path: Path) -> None:
    run("on")
    record_in(tmp_path, "used", registry=REGISTRY)
    run("forget")
    assert run("status") == f"Telemetry is on. You agreed on {today(tmp_path)}.\n"


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("DO_NOT_TRACK", "1", "suppressed for this run, because DO_NOT_TRACK is set"),
        ("CI", "true", "suppressed for this run, because CI is set"),
        ("ACME_TELEMETRY", "0", "suppressed for this run, because ACME_TELEMETRY is set to a value other than 1"),
        ("ACME_TELEMETRY", "1", "on for this run, because ACME_TELEMETRY is 1"),
    ],
)
def test_the_status_names_the_rule_that_applies(
    run: Any, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert says in run("status")
    assert says in run("on")


def test_the_status_names_what_is_paused_and_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "decide", lambda *given: given[2])
    consent.choose(REGISTRY, consent=True, collector="https://a.example", data_dir=tmp_path)
    say = REGISTRY.sentences("en")

    def status(registry: Any, collector: str) -> str:
        decision = consent.current(registry, collector=collector, data_dir=tmp_path)
        return "\n".join(consent.status(registry, decision, say))

    more = ask('[metric.used]\nkind = "boolean"\n[metric.broke]\nkind = "boolean"\n')
    assert status(more, "https://a.example").endswith("\nOff until you agree: broke.")
    assert status(REGISTRY, "https://b.example").startswith("Telemetry is paused: since you agreed on")


def test_a_choice_that_cannot_be_stored_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    commands = TelemetryCommands(registry=REGISTRY, collector="https://a.example", data_dir=tmp_path / "file")
    with pytest.raises(SystemExit, match=r"the choice cannot be stored in .*file: File exists"):
        commands.on()
