"""``hearsay-collector retire``: tallies of old closed windows go for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from client_sdk.protocol import Window
from collector.commands.open_store import open_store
from collector.commands.options import (
    ErrorsForPeople,
    cluster_option,
    copies_option,
    data_dir_option,
    durability_option,
    redis_option,
)
from collector.text import plural
from collector.upkeep.redis_retirement import RedisRetirement
from collector.upkeep.retention import TallyName, before


@click.command()
@click.option("--before", "first_kept", required=True, metavar="WINDOW", help="The first window that stays.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@data_dir_option
@redis_option
@cluster_option
@durability_option
@copies_option
def retire(first_kept: str, *, dry_run: bool, **store: Any) -> None:  # noqa: ANN401 each is typed by its option and by open_store
    """Remove the tallies of all closed windows that ended before a window, for good.

    They stay closed: a report of one that comes later is refused. Windows that are open are left alone, however old.
    --durability and --copies are those of the service: tallies are gone where, and as often as, reports are kept.
    """
    with ErrorsForPeople():
        window = Window.parse(first_kept)
        retirement = RedisRetirement(open_store(**store))
        names = before(retirement, window)
        if not dry_run:
            retirement.retire(names)
        for line in _said(names, "would remove" if dry_run else "removed"):
            click.echo(line)


def _said(names: Sequence[TallyName], what: str) -> list[str]:
    windows = Counter(name.window for name in names)
    lines = sorted(f"{window}: {plural(count, 'tally', 'tallies')}" for window, count in windows.items())
    tallies = plural(len(names), "tally", "tallies")
    return [*lines, f"{what} {tallies} of {plural(len(windows), 'closed window')}"]
