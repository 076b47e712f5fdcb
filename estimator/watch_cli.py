"""What ``report --watch`` reads and draws."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import click

from client_sdk.spec import Registry
from estimator.bounds import Bounds
from estimator.errors import TalliesError
from estimator.fetch import fetch
from estimator.metric_estimate import Wanted
from estimator.read_token import read_token
from estimator.render.as_table import as_table
from estimator.render.style import Style
from estimator.report import Report, Selection, make_report
from estimator.watch import CLEARED, Watch


def watch_collector(registry: Registry, collector: str, selection: Selection, wanted: Wanted, every_s: float) -> None:
    """Draw the report of a collector anew until Ctrl-C.

    Raises:
        click.ClickException: if the collector answers, but not with tallies.

    """
    token, bounds = read_token(), Bounds.of(registry, selection.spans)

    def look() -> str:
        read = fetch(collector, token, preliminary=True, bounds=bounds)
        made = replace(make_report(registry, read.tallies, selection, wanted), snapshot_at=read.snapshot_at)
        return as_table(made, Style.of(sys.stdout)) + _skipped(made)

    try:
        Watch(look, _show, time.sleep, time.time, every_s).run()
    except TalliesError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo()


def _show(picture: str) -> None:
    cleared = CLEARED if sys.stdout.isatty() else ""
    click.echo(cleared + picture, color=True)
    sys.stdout.flush()


def _skipped(made: Report) -> str:
    return "".join(f"skipped {one.metric} {one.edition} {one.window}: {one.reason}\n" for one in made.skipped)
