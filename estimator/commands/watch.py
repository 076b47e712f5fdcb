"""What ``report --watch`` reads and draws."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import click

from client_sdk.protocol import Registry
from estimator.commands.watch_loop import CLEARED, Watch
from estimator.errors import TalliesError
from estimator.render.text.report import as_table
from estimator.render.text.style import Style
from estimator.report.report import make_report
from estimator.results.report import Report
from estimator.results.request import Selection, Wanted
from estimator.tallies.bounds import Bounds
from estimator.tallies.fetch import fetch
from estimator.tallies.read_token import read_token


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
