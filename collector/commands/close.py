"""``hearsay-collector close``: ends a window early."""

from __future__ import annotations

import time
from typing import Any

import click

from client_sdk.protocol.window import Window
from collector.commands.open_store import open_store
from collector.commands.options import (
    cluster_option,
    copies_option,
    data_dir_option,
    durability_option,
    redis_option,
)
from collector.errors import ConfigError


@click.command()
@click.option("--window", "name", required=True, metavar="WINDOW", help="Such as 2026-11-20, 2026-W47 or 2026-11.")
@data_dir_option
@redis_option
@cluster_option
@durability_option
@copies_option
def close(name: str, **store: Any) -> None:  # noqa: ANN401 each is typed by its option and by open_store
    """Close a window early and for good: it takes no further report, and its tallies are final.

    Give the --durability and --copies of the service: the closing is kept as safely as reports are.
    """
    window = Window.parse(name)
    if window.starts_at > time.time():
        raise ConfigError(f"the window {window} has not begun; only a window that has begun can be closed")
    open_store(**store).close(window)
    click.echo(f"window {window} is closed")
