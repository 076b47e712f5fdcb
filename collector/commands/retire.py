"""``hearsay-collector retire``: removes the tallies of old closed windows for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
from collector.plural import plural
from collector.upkeep.retention import RedisRetirement, TallyName, before


@click.command(epilog=examples("hearsay-collector retire --before 2026-01-01 --dry-run"))
@click.option(
    "--before",
    "first_kept",
    required=True,
    metavar="WINDOW",
    callback=window_of,
    help="The first window to keep.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@data_dir_option
@redis_option
@cluster_option
@durability_option
@copies_option
def retire(first_kept: Window, *, dry_run: bool, **store: Any) -> None:  # noqa: ANN401 each is typed by its option and by open_store
    """Delete the tallies of all windows that closed before a window, for good.

    A removal that was interrupted is completed first. The windows stay closed, so late reports are
    refused. Open windows are never removed. Use the service's --durability and --copies, so that
    the removal is stored as safely as reports are.
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
