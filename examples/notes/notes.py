"""A program for notes on the command line that asks its user for consent before reporting."""

import json
import os
from pathlib import Path
from typing import Any

import click

from client_sdk import Telemetry, consent
from client_sdk.telemetry_commands import TelemetryCommands

HOME = Path(os.environ.get("NOTES_HOME", click.get_app_dir("notes")))
FILE = HOME / "notes.json"
STYLES = {"text": "{}", "json": "{!r}", "markdown": "* {}"}
TELEMETRY: dict[str, Any] = {
    "registry": Path(__file__).with_name("metrics.toml"),
    "collector": os.environ.get("NOTES_COLLECTOR", "https://telemetry.example.com"),
    "data_dir": HOME / "telemetry",
}


def record(metric: str, answer: object) -> None:
    """Record an answer. Ask the user for consent unless the user has already decided."""
    decision = consent.ask(**TELEMETRY, variable="NOTES_TELEMETRY")
    with Telemetry(**TELEMETRY, consent=decision, sender="process") as telemetry:  # sends after the command
        telemetry.record(metric, answer)


@click.group()
def main() -> None:
    """Keep notes."""
    HOME.mkdir(parents=True, exist_ok=True)


@main.command()
@click.argument("text")
def add(text: str) -> None:
    """Add a note."""
    notes = [*(json.loads(FILE.read_text()) if FILE.exists() else []), text]
    FILE.write_text(json.dumps(notes))
    record("notes", min(len(notes), 1000))


@main.command()
@click.option("--style", type=click.Choice(list(STYLES)), default="text")
def export(style: str) -> None:
    """Print all notes."""
    click.echo("\n".join(STYLES[style].format(note) for note in json.loads(FILE.read_text())))
    record("export", style)


main.add_command(TelemetryCommands(**TELEMETRY, variable="NOTES_TELEMETRY").click_group())

if __name__ == "__main__":
    main()
