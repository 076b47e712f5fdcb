"""The command ``hearsay-estimator report``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import click
from msgspec.structs import replace

from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.analyses.ratios import MOST_VALUES
from estimator.api import as_model_file, check_model
from estimator.commands.options import ALERTS, REGISTRY, WindowType, examples
from estimator.commands.printing import left_out_lines, print_alerts, progress, skipped_lines, stdout
from estimator.commands.report_options import (
    COLLECTOR,
    FIRST,
    LAST,
    PLAIN_HTTP,
    TALLIES,
    WITH,
    CommandWithExtras,
    check_request,
    check_source,
    read_tallies,
    request_for,
    require_unread,
    selection_of,
)
from estimator.errors import metric_named
from estimator.output_files import is_not_ours, write_whole
from estimator.render import BINARY_FORMATS, FORMATS
from estimator.render.text.report import as_table
from estimator.render.text.style import LEAST_WIDTH, NARROWEST, PLAIN, Style
from estimator.render.text.summary import as_summary
from estimator.report.alerts import Alert, judged, read_alert
from estimator.report.report import definitions_of, make_report
from estimator.results.report import EstimateReport, Selection
from estimator.tallies import Tally

SUFFIXES: Final = {
    ".txt": "table",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".html": "html",
    ".prom": "openmetrics",
}
"""A mapping from file extension to the default format. For a model, ``--format`` is required."""

MODEL_FILE: Final = ("model", ".json")
"""The value of ``--format`` for models, and the extension of a model's file."""

NEXT_STEPS: Final = {"html": "; open it in a browser", "model": "; an app can ship it"}
"""For each format, the hint that is printed after a file was written."""

CLOSED_ONLY: Final = "only closed windows were read; to include open windows, add --preliminary"
"""The hint that is printed if a collector returned no tallies."""

STDOUT: Final = Path("-")
"""The usual file name for standard output. This command refuses the name."""

KILOBYTE, MEGABYTE = 10**3, 10**6


@click.command(
    cls=CommandWithExtras,
    short_help="Print or write a report.",
    epilog=examples(
        "hearsay-estimator report --collector https://telemetry.example.com",
        "hearsay-estimator report --tallies tallies.ndjson --output report.html",
        "hearsay-estimator report --tallies tallies.ndjson --metric os --with clusters,poisoning=0.01 --format json",
    ),
)
@REGISTRY
@COLLECTOR
@PLAIN_HTTP
@TALLIES
@click.option("--metric", "names", metavar="NAME", multiple=True, help="Report only this metric. Repeatable.")
@FIRST
@LAST
@click.option(
    "--since",
    metavar="WINDOW",
    type=WindowType(),
    help="Compare WINDOW and later windows with the windows before WINDOW. WINDOW may also be the day of an event in "
    "the registry, such as a release.",
)
@click.option("--preliminary", is_flag=True, help="Include windows that are still open, marked as preliminary.")
@WITH
@ALERTS
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, *BINARY_FORMATS, "html", "model"]),
    help="The format. The default follows from the suffix of --output: .txt (a table), .json, .csv, .parquet, .html or "
    ".prom (OpenMetrics).",
)
@click.option(
    "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to this file, not to stdout."
)
@click.option("--verbose", is_flag=True, help="Show every figure in the table, and explain the columns.")
def report(  # noqa: PLR0913 one argument for each option
    *,
    registry: Path,
    collector: str | None,
    allow_plain_http: bool,
    tallies: Path | None,
    names: tuple[str, ...],
    first: Window | None,
    last: Window | None,
    since: Window | None,
    preliminary: bool,
    extras: Mapping[str, Any],
    alerts: tuple[str, ...],
    form: str | None,
    output: Path | None,
    verbose: bool,
) -> None:
    """Print estimates, standard errors and confidence intervals of every metric and window.

    Without --output, the report goes to standard output.
    """
    check_source(collector, tallies, allow_plain_http=allow_plain_http)
    selection = dataclasses.replace(selection_of(first, last, preliminary=preliminary), names=names)
    if output == STDOUT:
        raise click.UsageError("- is not a file name here; omit --output for standard output")
    form = form or _form_of(output)
    require_unread([] if output is None else [output], [registry, tallies, extras.get("candidates")])
    _check_output(form, output, verbose=verbose)
    if alerts and preliminary:
        raise click.UsageError(
            "--alert checks closed windows only, because repeated checks of an open window would cause false alarms; "
            "omit --preliminary"
        )
    request = dataclasses.replace(request_for(extras, form=form), since=since)
    definitions = history.read(registry)
    check_request(definitions, request)
    expressions = [read_alert(definitions, text) for text in alerts]
    _check_metrics(definitions, names, form, expressions, [name for name, _, _ in request.ranges])
    received, snapshot_at = read_tallies(definitions, collector, tallies, selection)
    definitions = definitions_of(definitions, received)
    with progress("estimating", len(received)) as advance:
        estimated = make_report(definitions, received, selection, request, advance)
    estimated = replace(estimated, snapshot_at=snapshot_at)
    click.echo("".join(skipped_lines(estimated.skipped)), err=True, nl=False)
    click.echo(left_out_lines(estimated), err=True, nl=False)
    if tallies is None and not (estimated.metrics or estimated.skipped or preliminary):
        click.echo(CLOSED_ONLY, err=True)
    has_fired = print_alerts(judged(expressions, estimated.metrics, estimated.changes))
    if request.covariance:
        _name_too_large(estimated)
    if request.clusters:
        _name_without_clusters(estimated)
    _put(_content(estimated, definitions, form, names, verbose=verbose, is_file=output is not None), form, output)
    status = ExitStatus.ALERT if has_fired else _status(estimated, received, selection)
    if status is not ExitStatus.DONE:
        raise SystemExit(status)


def _form_of(output: Path | None) -> str:
    if output is None:
        return "table"
    if output.suffix not in SUFFIXES:
        raise click.UsageError(
            f"the name {output} does not say which format to write; add --format, or end the name in "
            f"{', '.join(SUFFIXES)}"
        )
    return SUFFIXES[output.suffix]


def _check_output(form: str, output: Path | None, *, verbose: bool) -> None:
    """Refuse an output that does not suit the format, or that is a file of another program."""
    if output is None and form in BINARY_FORMATS:
        raise click.UsageError(f"{form} is a binary format; add --output FILE")
    if verbose and form != "table":
        raise click.UsageError(f"--verbose is for tables; {form} contains every figure anyway, so omit --verbose")
    if output is not None and is_not_ours(output):
        raise click.UsageError(
            f"{output} was not written by a report, and was left unchanged; name another file to write"
        )
    if output is not None and SUFFIXES.get(output.suffix, form) != form and (form, output.suffix) != MODEL_FILE:
        raise click.UsageError(
            f"the name of {output} does not match --format {form}; change the name, or omit --format"
        )


def _check_metrics(
    registry: Registry, names: Sequence[str], form: str, alerts: Sequence[Alert], of_ranges: Sequence[str]
) -> None:
    """Refuse unknown metrics, and alerts or ranges about metrics that ``--metric`` leaves out."""
    for name in names:
        if name not in {metric.name for metric in registry.counted}:
            metric_named(registry, name)
    if form == "model":
        if len(names) != 1:
            raise click.UsageError("--format model writes one model; name it with --metric")
        check_model(registry, names[0])
    for option, wanted in (("--alert", [alert.metric for alert in alerts]), ("--with range", of_ranges)):
        left_out = next((name for name in wanted if names and name.partition("[")[0] not in names), None)
        if left_out is not None:
            raise click.UsageError(f"{option} needs the metric {left_out}; add --metric {left_out.partition('[')[0]}")


def _content(  # noqa: PLR0913 the contents, and their format
    estimated: EstimateReport, registry: Registry, form: str, names: Sequence[str], *, verbose: bool, is_file: bool
) -> bytes:
    if form == "table":
        return table_of(estimated, None if is_file else stdout(), verbose=verbose).encode()
    if form == "html":
        from estimator.render.html.page import as_html  # noqa: PLC0415 loads templates for 33 ms, which other formats do not need

        return as_html(estimated, registry).encode()
    if form == "model":
        return as_model_file(estimated, registry, names[0]).encode()
    return BINARY_FORMATS[form](estimated) if form in BINARY_FORMATS else FORMATS[form](estimated).encode()


def table_of(report: EstimateReport, stream: TextIO | None, *, verbose: bool) -> str:
    """Return the report as a table in the style of ``stream``, or in plain style if it is None.

    If ``verbose``, the table shows every figure and column.
    """
    narrowest = LEAST_WIDTH if verbose else NARROWEST
    style = PLAIN if stream is None else Style.from_stream(stream, narrowest=narrowest)
    return as_table(report, style) if verbose else as_summary(report, style)


def _put(content: bytes, form: str, output: Path | None) -> None:
    if output is None:
        click.echo(content, file=stdout(), nl=False)
        return
    write_whole(output, content)
    size = f"{len(content) / MEGABYTE:.1f} MB" if len(content) >= MEGABYTE / 10 else f"{len(content) / KILOBYTE:.1f} kB"
    click.echo(f"wrote {output}: {size}{NEXT_STEPS.get(form, '')}", err=True)


def _status(estimated: EstimateReport, tallies: Sequence[Tally], selection: Selection) -> ExitStatus:
    """Return the exit status, which tells whether the selected tallies could be estimated."""
    if estimated.metrics:
        return ExitStatus.DONE
    is_failed = any(
        selection.spans(tally.window) and selection.shows(tally.metric) and (tally.closed or selection.preliminary)
        for tally in tallies
    )
    return ExitStatus.FAILED if is_failed else ExitStatus.NOTHING_NEW


def _name_too_large(estimated: EstimateReport) -> None:
    for metric in estimated.metrics:
        if metric.estimates is not None and metric.reports and metric.covariance is None:
            click.echo(f"{metric.metric} {metric.window}: no covariance for more than {MOST_VALUES} shares", err=True)


def _name_without_clusters(estimated: EstimateReport) -> None:
    names = dict.fromkeys(
        each.metric for each in estimated.metrics if each.reports and each.closed and each.clusters is None
    )
    if names:
        click.echo(
            f"no clusters of {', '.join(names)}: clusters exist only for numbers, counts, scales and pairs whose "
            "distribution is estimated",
            err=True,
        )
