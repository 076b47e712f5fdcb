"""Output on stdout, and progress bars on stderr.

Tables use only characters that stdout can show. Output in any other format is in UTF-8.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

import click

from estimator.formats.json_documents import as_line
from estimator.render.text.style import Style
from estimator.report.alerts import JudgedAlert
from estimator.results.report import EstimateReport, Skipped
from estimator.words import shown_of


def left_out_lines(report: EstimateReport) -> str:
    """Return a line for each window that is left out because it contains the ``--since`` date."""
    windows = {(window, changes.since): None for changes in report.changes for window in changes.left_out}
    return "".join(f"{window} is left out of the comparison: {since} begins within it\n" for window, since in windows)


def print_alerts(alerts: Sequence[JudgedAlert]) -> bool:
    """Print the outcome of each alert in each window, and return whether any alert fired.

    Each outcome is a line of JSON on stderr, because stdout is reserved for the report.
    """
    for alert in alerts:
        click.echo(as_line(alert).encode(), nl=False, err=True)
    return any(alert.fired for alert in alerts)


NAMED: Final = 3
"""The maximum number of skipped tallies that are listed for each reason."""


def skipped_lines(skipped: Iterable[Skipped], remedy: str = "") -> Iterator[str]:
    """Yield a line for each reason why tallies were skipped. Each line ends with ``remedy``."""
    by_reason: dict[str, list[str]] = {}
    for tally in skipped:
        by_reason.setdefault(tally.reason, []).append(f"{tally.metric} {tally.edition} {tally.window}")
    for reason, names in by_reason.items():
        shown = shown_of(len(names), NAMED)
        more = [f"{len(names) - shown} more"] if len(names) > shown else []
        number = f"{len(names)} tallies: " if len(names) > 1 else ""
        yield f"skipped {number}{', '.join(names[:shown] + more)}: {reason}{remedy}\n"


def put(forms: Mapping[str, Callable[..., str]], form: str, *results: object) -> None:
    """Print results in one of several formats.

    A table is adapted to the width of stdout, and is colored only if stdout supports colors.

    ``forms`` contains, for each format, a function that converts the results to text.
    """
    style = (Style.from_stream(stdout()),) if form == "table" else ()
    put_document(forms[form](*results, *style))


def put_document(text: str) -> None:
    """Print a string in UTF-8 with unchanged line breaks."""
    click.echo(text.encode(), file=stdout(), nl=False)


def stdout() -> TextIO:
    """Return stdout.

    Raises:
        click.ClickException: if the calling program has closed stdout.
    """
    if sys.stdout is None:
        raise click.ClickException("standard output is closed; redirect it to a file or a program")
    return sys.stdout


REDRAWS = 1000
"""The maximum number of redraws of a progress bar."""


@contextmanager
def progress(label: str, steps: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr if stderr is a terminal.

    Yields:
        A function to call with the number of steps completed since the last call.
    """
    with click.progressbar(
        length=steps,
        label=label,
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        update_min_steps=max(1, steps // REDRAWS),
    ) as bar:
        yield bar.update
