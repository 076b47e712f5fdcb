"""What ``report --watch`` reads and draws."""

from __future__ import annotations

import time

import click
from msgspec.structs import replace

from client_sdk.protocol.registry.registry import Registry
from estimator.commands.printing import TableLook, stdout
from estimator.commands.watch_loop import CLEARED, Watch
from estimator.report.report import make_report
from estimator.results.report import EstimateReport
from estimator.results.request import Request, Selection
from estimator.tallies.fetch import fetch
from estimator.tallies.limits import Bounds
from estimator.tallies.read_token import read_token


def watch_collector(  # noqa: PLR0913 what a watch reads and how it draws
    registry: Registry, collector: str, *, selection: Selection, request: Request, every_s: float, look: TableLook
) -> None:
    """Draw the report of a collector again and again until Ctrl-C.

    Args:
        registry: the definitions.
        collector: its URL.
        selection: which windows are drawn.
        request: what is requested of each tally.
        every_s: seconds between two drawings.
        look: how the table is drawn.

    Raises:
        TalliesError: if the collector answers, but not with tallies.

    """
    token, bounds = read_token(), Bounds.of(registry, selection.spans)

    def drawn() -> str:
        fetched = fetch(collector, token, preliminary=True, bounds=bounds)
        report = make_report(registry, fetched.tallies, selection, request)
        report = replace(report, snapshot_at=fetched.snapshot_at)
        return look.drawn(report, stdout()) + _skipped(report)

    try:
        Watch(drawn, show=_show, wait=time.sleep, now=time.time, every_s=every_s).run()
    except KeyboardInterrupt:
        click.echo()


def _show(picture: str) -> None:
    stream = stdout()
    cleared = CLEARED if stream.isatty() else ""
    click.echo(cleared + picture, color=True)
    stream.flush()


def _skipped(report: EstimateReport) -> str:
    return "".join(
        f"skipped {tally.metric} {tally.edition} {tally.window}: {tally.reason}\n" for tally in report.skipped
    )
