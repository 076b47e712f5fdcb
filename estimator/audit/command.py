"""The command ``hearsay-estimator audit``: parse, call, print, exit code."""

from __future__ import annotations

from pathlib import Path

import click

from client_sdk.spec import Registry, UnknownMetricError
from estimator.audit.contests import LEAST_REPORTS
from estimator.audit.run import audit, chosen, default_reports, windows_played
from estimator.errors import AuditError
from estimator.options import REGISTRY, load_registry
from estimator.printing import put
from estimator.progress import progress
from estimator.render.audited import FORMATS, accusation

MAX_REPORTS = 10**7
"""An hour a million: more does not fit into the memory."""


@click.command("audit")
@REGISTRY
@click.option(
    "--reports",
    metavar="N",
    type=click.IntRange(LEAST_REPORTS, MAX_REPORTS),
    help="Reports of each answer; by default as many as take a few minutes.",
)
@click.option("--metric", "names", metavar="NAME", multiple=True, help="Only this metric; may be repeated.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True)
@click.pass_context
def audit_command(
    context: click.Context, *, registry: Path, reports: int | None, names: tuple[str, ...], form: str
) -> None:
    """Try to refute the installed SDK's claims of privacy; exit with 1 if one is refuted."""
    questions = _questions(registry, names)
    reports = reports or default_reports(questions)
    try:
        with progress("auditing", windows_played(questions, reports)) as advance:
            made = audit(questions, reports, after_life=advance)
    except AuditError as error:
        raise click.UsageError(str(error)) from error
    put(FORMATS, form, made)
    for finding in made.accused:
        click.echo(accusation(finding), err=True)
    context.exit(1 if made.accused else 0)


def _questions(registry: Path, names: tuple[str, ...]) -> Registry:
    try:
        return chosen(load_registry(registry), names)
    except UnknownMetricError as error:
        raise click.UsageError(str(error)) from error
