"""``hearsay-collector store close`` and ``retire``: close a window early, or remove tallies."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from client_sdk.protocol.window import Window
from collector.commands.opening import open_store
from collector.commands.options import examples, store_options, window_of
from collector.errors import ConfigError, StoreUnavailableError, plural, require
from collector.retention import RedisRetirement, TallyName, before
from collector.store.redis_store import RedisStore


@click.command(
    short_help="Close a window early, and for good.",
    epilog=examples(
        "hearsay-collector store close --window 2026-W47 --data-dir hearsay-data",
        "hearsay-collector store close --window 2026-11-20 --yes",
    ),
)
@click.option(
    "--window",
    required=True,
    metavar="WINDOW",
    callback=window_of,
    help="The window, such as 2026-11-20, 2026-W47 or 2026-11.",
)
@click.option("--yes", is_flag=True, help="Close the window without confirmation, in scripts.")
@store_options
def close(window: Window, *, yes: bool, **store: Any) -> None:  # noqa: ANN401 each is typed by its option and by open_store
    """Close a window early and for good.

    The window then accepts no more reports, and its tallies are final. The command shows what the
    window contains, and asks for confirmation. The command uses the --durability and --copies of
    the collector that last started on the store.
    """
    if window.starts_at > time.time():
        raise ConfigError(f"the window {window} has not begun; only a window that has begun can be closed")
    opened = open_store(**store)
    was_closed = window.text in opened.closed_windows()
    if not was_closed:
        content = _content(opened, window)
        if not yes:
            require(
                is_terminal(),
                f"closing window {window} cannot be undone, and there is no terminal to confirm it: add --yes",
            )
        click.echo(f"closing window {window} for good: {content}; later reports for it are refused")
        if not yes:
            click.confirm("Close it?", abort=True)
    try:
        opened.close(window)  # even if the window was closed before, so that no failover can reopen it
    except StoreUnavailableError as error:
        raise StoreUnavailableError(
            f"{error}; part of the store may already refuse reports for {window}: run this command again"
        ) from error
    click.echo(f"window {window} {'was closed already' if was_closed else 'is closed'}")


def _content(store: RedisStore, window: Window) -> str:
    """Describe how many reports a window contains.

    The number of reports reveals nothing about answers. The minimum time between two snapshots of
    open windows therefore does not apply.

    Raises:
        ConfigError: if the store has no reports yet, or none in a window of the same kind (day,
            week or month). The operator has then probably named the wrong window.
    """
    tallied = store.tallied_windows() | store.closed_windows()
    kinds = {Window.parse(name).kind for name in tallied}
    if not kinds:
        raise ConfigError("there is nothing to close: the store has no reports yet")
    if window.kind not in kinds:
        known = " and ".join(sorted(kinds))
        raise ConfigError(f"the store has no {window.kind} windows, only {known} windows; choose --window accordingly")
    tallies = list(store.open_tallies(frozenset(tallied - {window.text})))
    metrics, reports = len({tally.metric for tally in tallies}), sum(sum(tally.counts) for tally in tallies)
    if not reports:
        return "it has no reports yet"
    return f"it has {plural(reports, 'report')} of {plural(metrics, 'question')}"


def is_terminal() -> bool:
    """Return whether standard input is a terminal, where a person can answer a question."""
    return sys.stdin.isatty()


@click.command(
    short_help="Delete tallies before a window.",
    epilog=examples("hearsay-collector store retire --before 2026-01-01 --dry-run"),
)
@click.option(
    "--before", "first_kept", required=True, metavar="WINDOW", callback=window_of, help="The first window to keep."
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@store_options
def retire(first_kept: Window, *, dry_run: bool, **store: Any) -> None:  # noqa: ANN401 each is typed by its option and by open_store
    """Permanently delete the tallies of closed windows before a given window.

    An interrupted removal is completed first. The windows remain closed, so late reports are
    refused. Tallies of open windows are never removed. The command uses the --durability and
    --copies of the collector that last started on the store.
    """
    retirement = RedisRetirement(open_store(**store))
    names = sorted(retirement.begun().union(before(retirement, first_kept)))
    if not dry_run:
        retirement.retire(names)
    for line in _lines(names, "would remove" if dry_run else "removed"):
        click.echo(line)


def _lines(names: Sequence[TallyName], action: str) -> list[str]:
    windows = Counter(name.window for name in names)
    lines = sorted(f"{window}: {plural(count, 'tally', 'tallies')}" for window, count in windows.items())
    tallies = plural(len(names), "tally", "tallies")
    return [*lines, f"{action} {tallies} of {plural(len(windows), 'closed window')}"]
