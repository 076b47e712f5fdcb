"""The command ``hearsay-estimator report``: where tallies come from, and where the report goes."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from client_sdk.protocol.registry.registry import Registry
from estimator.atomic_file import write_whole
from estimator.commands.archive import Kept, keep
from estimator.commands.options import BETWEEN_0_AND_1, RANGES, REGISTRY, NumberRange, WindowType, examples
from estimator.commands.printing import TableLook, print_alerts, stdout
from estimator.commands.progress import progress
from estimator.commands.report_options import ReportOptions
from estimator.commands.watch import watch_collector
from estimator.commands.watch_loop import GREATEST_S, LEAST_S, USUAL_S
from estimator.estimates.covariance import MOST_VALUES
from estimator.formats.model_file import as_model_file, check_model
from estimator.render import BINARY_FORMATS, FORMATS
from estimator.report.alert_expressions import read_alert
from estimator.report.alerts import judged
from estimator.report.candidates import check_candidates
from estimator.report.participation import check_installs
from estimator.report.ranges import check_ranges
from estimator.report.report import make_report
from estimator.results.report import EstimateReport
from estimator.results.request import Selection
from estimator.tallies.fetch import fetch
from estimator.tallies.limits import Bounds
from estimator.tallies.read import read_file
from estimator.tallies.read_token import TOKEN_VARIABLE, read_token
from estimator.tallies.tally import Tally

MEGABYTE = 10**6


@click.command(
    epilog=examples(
        "hearsay-estimator report --registry metrics.toml --collector https://telemetry.example.com",
        "hearsay-estimator report --registry metrics.toml --tallies tallies.ndjson --html report.html",
    )
)
@REGISTRY
@click.option("--collector", metavar="URL", help=f"Read tallies over HTTP; the read token comes from {TOKEN_VARIABLE}.")
@click.option(
    "--allow-plain-http",
    is_flag=True,
    help="Let --collector be an http:// URL of another machine. Anybody on the way can read the token.",
)
@click.option(
    "--tallies", metavar="FILE", type=click.Path(path_type=Path), help="Read tallies from an NDJSON file; - is stdin."
)
@click.option("--preliminary", is_flag=True, help="Also windows that are still open; they are marked.")
@click.option("--from", "first", metavar="WINDOW", type=WindowType(), help="The first window: a day, week or month.")
@click.option("--to", "last", metavar="WINDOW", type=WindowType(), help="The last window, included.")
@click.option("--simultaneous", is_flag=True, help="Intervals that hold together for all figures of a tally.")
@click.option("--pool", is_flag=True, help="Also all windows of a metric together, and the change.")
@click.option("--covariance", is_flag=True, help="With --format json: the covariance of all shares of a metric.")
@click.option(
    "--central-delta",
    metavar="DELTA",
    type=BETWEEN_0_AND_1,
    help="The epsilon of each closed tally at this delta, if only tallies are published; not in CSV.",
)
@click.option("--clusters", is_flag=True, help="Clusters of numbers, scales and pairs, and how many; not for rows.")
@click.option(
    "--fakes",
    metavar="FRACTION",
    type=BETWEEN_0_AND_1,
    help="How far this fraction of made-up reports could move each share, and a test of each tally; not for rows.",
)
@RANGES
@click.option(
    "--candidates",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Of questions about texts: also the share of each text of this file, one a line.",
)
@click.option(
    "--installs",
    metavar="N",
    type=click.IntRange(1),
    help="Also bounds on the figures of all N installations: figures describe the devices that take part.",
)
@click.option(
    "--asked",
    metavar="SHARE",
    type=NumberRange(0, 1, min_open=True),
    help="The share of devices that are asked in a window, where the schedule does not say it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, *BINARY_FORMATS]),
    help="What is printed: a table by default, and nothing where --html stands alone.",
)
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="Write a page for the browser here.")
@click.option(
    "--model",
    metavar="METRIC FILE",
    type=(str, click.Path(path_type=Path)),
    help="Write what an app needs to predict by this model, of the last window that has one.",
)
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it here, whole, not to stdout.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="With --every window: write each closed window that is not there yet, in every form, and an index.",
)
@click.option("--every", type=click.Choice(["window"]), help="With --out: a folder for each.")
@click.option(
    "--watch",
    "watch_s",
    metavar="[SECONDS]",
    is_flag=False,
    flag_value=USUAL_S,
    type=click.IntRange(LEAST_S, GREATEST_S),
    help=f"Draw the table again every {USUAL_S} seconds, with windows that are still open, until Ctrl-C.",
)
@click.option(
    "--alert",
    "alerts",
    metavar="EXPRESSION",
    multiple=True,
    help="Such as 'crashes.mean > 2': if the whole interval is beyond, the exit status is 5; repeatable.",
)
@click.option("--verbose", is_flag=True, help="Print every figure with four decimals, its columns explained.")
@click.option("--no-color", is_flag=True, help="Print no colours; NO_COLOR in the environment does the same.")
def report(**arguments: Any) -> None:  # noqa: ANN401 what click read, by the names of `ReportOptions`
    """Print estimates, standard errors and confidence intervals of every metric and window.

    The exit status is 1 if no tally could be had, or none of a closed window could be estimated,
    and 3 if there was none of a closed window. With --out it is 0 if a window was written, 3 if
    there was nothing new, 4 if some windows were written and others failed, and 1 if all failed.
    It is 5 in place of 0 or 4 if an alert fired.
    """
    options = ReportOptions(**arguments)
    for is_mistake, sentence in options.mistakes():
        if is_mistake:
            raise click.UsageError(sentence)
    registry = Registry.read(options.registry)
    selection, request = options.selection, options.request
    check_ranges(registry, request.ranges)
    check_candidates(registry, request.candidates)
    check_installs(registry, request)
    if options.model is not None:
        check_model(registry, options.model[0])
    alerts = [read_alert(registry, text) for text in options.alerts]
    if options.watch_s is not None:
        collector = options.collector or ""
        look = TableLook(verbose=options.verbose, no_color=options.no_color)
        watch_collector(registry, collector, selection=selection, request=request, every_s=options.watch_s, look=look)
        return
    tallies, snapshot_at = _read(options, Bounds.of(registry, selection.spans))
    if options.out is not None:
        now_s = time.time()
        raise SystemExit(
            keep(options.out, registry, tallies, selection=selection, request=request, alerts=alerts, now_s=now_s)
        )
    with progress("estimating", len(tallies)) as advance:
        estimated = make_report(registry, tallies, selection, request, advance)
    estimated = replace(estimated, snapshot_at=snapshot_at)
    _name_skipped(estimated)
    has_fired = print_alerts(judged(alerts, estimated.metrics))
    if options.covariance:
        _name_too_large(estimated)
    _write(estimated, registry, options)
    status = Kept.ALERT if has_fired else _status(estimated, tallies, selection)
    if status:
        raise SystemExit(status)


def _write(estimated: EstimateReport, registry: Registry, options: ReportOptions) -> None:
    """Write or print the report in each form that was asked for."""
    if options.html is not None:
        _write_page(estimated, registry, options.html)
    if options.model is not None:
        _write_model(estimated, registry, *options.model)
    if options.printed is not None:
        _put(estimated, options, options.printed)


def _status(estimated: EstimateReport, tallies: list[Tally], selection: Selection) -> Kept:
    """Return the exit status of a printed report.

    For cron, a report without estimates is none, as with --out.
    """
    if estimated.metrics:
        return Kept.WROTE
    is_failed = any(selection.spans(tally.window) and (tally.closed or selection.preliminary) for tally in tallies)
    return Kept.FAILED if is_failed else Kept.NOTHING_NEW


def _write_page(estimated: EstimateReport, registry: Registry, html: Path) -> None:
    from estimator.render.html.document import as_html  # noqa: PLC0415 33 ms of templates for no other form

    page = as_html(estimated, registry).encode()
    write_whole(html, page)
    click.echo(f"{html} is written: {len(page) / MEGABYTE:.1f} MB, open it in a browser", err=True)


def _write_model(estimated: EstimateReport, registry: Registry, name: str, file: Path) -> None:
    write_whole(file, as_model_file(estimated, registry, name).encode())
    click.echo(f"{file} is written: the model {name}, for an app to ship", err=True)


def _put(estimated: EstimateReport, options: ReportOptions, form: str) -> None:
    if form == "table":
        look = TableLook(verbose=options.verbose, no_color=options.no_color)
        text = look.drawn(estimated, stdout() if options.output is None else None)
        content = text.encode()
    else:
        content = BINARY_FORMATS[form](estimated) if form in BINARY_FORMATS else FORMATS[form](estimated).encode()
    if options.output is None:
        click.echo(content, file=stdout(), nl=False)
    else:
        write_whole(options.output, content)


def _read(options: ReportOptions, bounds: Bounds) -> tuple[list[Tally], datetime | None]:
    """Return the tallies, and when the collector read its open windows.

    None where it does not say so.
    """
    if options.tallies is not None:
        return read_file(options.tallies, bounds), None
    fetched = fetch(options.collector or "", read_token(), preliminary=options.preliminary, bounds=bounds)
    return fetched.tallies, fetched.snapshot_at


def _name_too_large(estimated: EstimateReport) -> None:
    for metric in estimated.metrics:
        if metric.estimates is not None and metric.reports and metric.covariance is None:
            click.echo(f"{metric.metric} {metric.window}: no covariance of more than {MOST_VALUES} shares", err=True)


def _name_skipped(estimated: EstimateReport) -> None:
    for tally in estimated.skipped:
        click.echo(f"skipped {tally.metric} {tally.edition} {tally.window}: {tally.reason}", err=True)
