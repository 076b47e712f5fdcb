"""``hearsay-collector close``: ends a window early."""

from __future__ import annotations

import sys
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
    examples,
    redis_option,
    window_of,
)
from collector.errors import ConfigError, StoreUnavailableError
from collector.plural import plural
from collector.store.redis_store import RedisStore


@click.command(
    epilog=examples(
        "hearsay-collector close --window 2026-W47 --data-dir hearsay-data",
        "hearsay-collector close --window 2026-11-20 --yes",
    )
)
@click.option(
    "--window",
    required=True,
    metavar="WINDOW",
    callback=window_of,
    help="The window, such as 2026-11-20, 2026-W47 or 2026-11.",
)
@click.option("--yes", is_flag=True, help="Close it without confirmation, in scripts.")
@data_dir_option
@redis_option
@cluster_option
@durability_option
@copies_option
def close(window: Window, *, yes: bool, **store: Any) -> None:  # noqa: ANN401 each is typed by its option and by open_store
    """Close a window early and for good: it accepts no more reports, and its tallies are final.

    Show what the window holds, and ask for confirmation. Use the service's --durability and
    --copies, so that the closing is stored as safely as reports are.
    """
    if window.starts_at > time.time():
        raise ConfigError(f"the window {window} has not begun; only a window that has begun can be closed")
    opened = open_store(**store)
    was_closed = window.text in opened.closed_windows()
    if not was_closed:
        click.echo(f"closing window {window} for good: {_content(opened, window)}; later reports for it are refused")
        if not yes:
            _ask(window)
    _close(opened, window)
    click.echo(f"window {window} {'was closed already' if was_closed else 'is closed'}")


def _close(store: RedisStore, window: Window) -> None:
    """Close a window. Of one that is closed, make sure that no failover takes it back.

    Raises:
        StoreUnavailableError: if it may be closed in part; it says what to do.

    """
    try:
        store.close(window)
    except StoreUnavailableError as error:
        raise StoreUnavailableError(
            f"{error}; a part of the store may refuse reports for {window} already: run this again"
        ) from error


def _content(store: RedisStore, window: Window) -> str:
    """Return how much a window holds, in words.

    Numbers of reports alone show nothing of an answer, so that they are no look at an open window.

    Raises:
        ConfigError: if the store has no tally of a window of this kind: no metric has it.

    """
    tallied = store.tallied_windows() | store.closed_windows()
    kinds = {Window.parse(name).kind for name in tallied}
    if window.kind not in kinds:
        known = f"only reports by {' and by '.join(sorted(kinds))}" if kinds else "no report yet"
        raise ConfigError(f"no metric reports by {window.kind}: the store has {known}; name another --window")
    tallies = list(store.open_tallies(frozenset(tallied - {window.text})))
    metrics, reports = len({tally.metric for tally in tallies}), sum(sum(tally.counts) for tally in tallies)
    if not reports:
        return "it has no report yet"
    return f"it has {plural(reports, 'report')} of {plural(metrics, 'metric')}"


def _ask(window: Window) -> None:
    """Ask whether to close a window.

    Raises:
        ConfigError: if nobody can answer.
        click.Abort: if the answer is no.

    """
    if not is_terminal():
        raise ConfigError(f"closing the window {window} cannot be undone, and nobody can be asked here: add --yes")
    click.confirm("Close it?", abort=True)


def is_terminal() -> bool:
    """Return whether somebody can answer a question."""
    return sys.stdin.isatty()
