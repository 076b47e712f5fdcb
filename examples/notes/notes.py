"""Notes on the command line: an example of a short-lived program that asks before it reports."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from client_sdk import Telemetry

REGISTRY = Path(__file__).with_name("metrics.toml")
COLLECTOR = os.environ.get("NOTES_COLLECTOR", "https://telemetry.example.com")
STYLES = {"text": "{}", "json": "{!r}", "markdown": "* {}"}


class Home:
    """The user's folder: the notes, the ledger, and a file that exists if the user has said yes."""

    def __init__(self, folder: Path) -> None:
        """Make the folder; record and send nothing without the user's consent."""
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self.said_yes = folder / "notes.json", folder / "telemetry-is-on"
        self.notes: list[str] = json.loads(self.file.read_text()) if self.file.exists() else []
        self.telemetry = Telemetry(
            REGISTRY,
            collector=COLLECTOR,
            data_dir=folder / "telemetry",
            consent=self.said_yes.exists(),
            sender="process",  # a command is over before its report may leave
        )


@click.group()
@click.option("--home", envvar="NOTES_HOME", default=click.get_app_dir("notes"), type=click.Path(path_type=Path))
@click.pass_context
def main(context: click.Context, home: Path) -> None:
    """Keep notes."""
    context.obj = Home(home)
    context.with_resource(context.obj.telemetry)  # closes it when the command ends


@main.command()
@click.argument("text")
@click.pass_obj
def add(home: Home, text: str) -> None:
    """Add a note."""
    home.file.write_text(json.dumps([*home.notes, text]))
    home.telemetry.record("notes", min(len(home.notes) + 1, 1000))


@main.command()
@click.option("--style", type=click.Choice(list(STYLES)), default="text")
@click.pass_obj
def export(home: Home, style: str) -> None:
    """Print all notes."""
    click.echo("\n".join(STYLES[style].format(note) for note in home.notes))
    home.telemetry.record("export", style)


@main.command()
@click.argument("choice", type=click.Choice(["on", "off", "send", "show", "explain"]))
@click.pass_obj
def telemetry(home: Home, choice: str) -> None:
    """Turn telemetry on or off, send now, show what left this device, or explain what is asked."""
    match choice:
        case "on":
            home.said_yes.touch()
        case "off":
            home.said_yes.unlink(missing_ok=True)
            home.telemetry.forget()
        case "send":
            home.telemetry.flush(timeout_s=5)
        case "show":
            click.echo("\n".join(map(str, home.telemetry.history())) or "Nothing has left this device.")
        case "explain":
            click.echo(home.telemetry.statement())


if __name__ == "__main__":
    main()
