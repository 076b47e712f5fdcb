"""An app whose every command is a process of its own, as command-line apps are.

Run it by ``python -m tests.support.devices.commands DATA_DIR COLLECTOR SENDER AHEAD_S COMMAND``. At
its end, a command waits longer than the SDK would: a busy machine needs longer for a request.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import click

from client_sdk import Registry, Telemetry, per_process

NO_COLLECTOR = "-"
"""Takes the place of a collector if the app has no telemetry."""

PATIENCE_S = 60.0
"""How long a command waits for a request that is under way."""

REGISTRY = """
schema = 1
[app]
name = "acme"
[budget]
per_window = 4
lifetime = 100
[metric.added]
purpose = "Is add used?"
kind = "boolean"
epsilon = 1
[metric.removed]
purpose = "Is remove used?"
kind = "boolean"
epsilon = 1
"""


@click.group()
@click.argument("data_dir", type=click.Path(path_type=Path))
@click.argument("collector")
@click.argument("sender", type=click.Choice(["thread", "process"]))
@click.argument("ahead_s", type=float)
@click.pass_context
def app(
    context: click.Context, data_dir: Path, collector: str, sender: Literal["thread", "process"], ahead_s: float
) -> None:
    """Keep a list, by a clock that is some seconds ahead."""
    if collector != NO_COLLECTOR:
        context.obj = Telemetry(
            Registry.parse(REGISTRY),
            collector=collector,
            data_dir=data_dir,
            consent=True,
            clock=lambda: time.time() + ahead_s,
            sender=sender,
        )


@app.command()
@click.pass_obj
def add(telemetry: Telemetry | None) -> None:
    """Add something."""
    if telemetry is not None:
        click.echo(telemetry.record("added", value=True))


@app.command()
@click.pass_obj
def remove(telemetry: Telemetry | None) -> None:
    """Remove something."""
    if telemetry is not None:
        click.echo(telemetry.record("removed", value=True))


if __name__ == "__main__":
    per_process.REQUEST_DEADLINE_S = PATIENCE_S
    app()
