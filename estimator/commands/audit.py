"""The command ``hearsay-estimator audit``: parse, call, print, exit code."""

from __future__ import annotations

from pathlib import Path

import click

from client_sdk.protocol import Registry, UnknownMetricError
from estimator.audit.exact import laws_walked, prove, requests_of
from estimator.audit.games import LEAST_REPORTS
from estimator.audit.run import audit, chosen, default_reports, windows_played
from estimator.commands.options import REGISTRY, load_registry
from estimator.commands.printing import put
from estimator.commands.progress import progress
from estimator.errors import AuditError
from estimator.render.text import proof as proved
from estimator.render.text.audit import FORMATS, accusation

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
@click.option("--exact", is_flag=True, help="Prove instead: walk every path of coins through what perturbs an answer.")
@click.option("--all-inputs", is_flag=True, help="With --exact: no sample of large alphabets, however long it takes.")
@click.option("--metric", "names", metavar="NAME", multiple=True, help="Only this metric; may be repeated.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True)
@click.pass_context
def audit_command(  # noqa: PLR0913 the options of the command
    context: click.Context,
    *,
    registry: Path,
    reports: int | None,
    exact: bool,
    all_inputs: bool,
    names: tuple[str, ...],
    form: str,
) -> None:
    """Try to refute the installed SDK's claims of privacy, or prove them; exit with 1 if one is refuted."""
    if exact and reports is not None:
        raise click.UsageError("--reports is for samples; --exact walks all paths, so leave it out")
    if all_inputs and not exact:
        raise click.UsageError("--all-inputs is for --exact; add that or leave it out")
    questions = _questions(registry, names)
    refuted = _exact(questions, registry, form, all_inputs=all_inputs) if exact else _sampled(questions, reports, form)
    for sentence in refuted:
        click.echo(sentence, err=True)
    context.exit(1 if refuted else 0)


def _sampled(questions: Registry, reports: int | None, form: str) -> list[str]:
    """Attack and print; return what is refuted, in sentences."""
    reports = reports or default_reports(questions)
    try:
        with progress("auditing", windows_played(questions, reports)) as advance:
            made = audit(questions, reports, after_life=advance)
    except AuditError as error:
        raise click.UsageError(str(error)) from error
    put(FORMATS, form, made)
    return [accusation(finding) for finding in made.accused]


def _exact(questions: Registry, registry: Path, form: str, *, all_inputs: bool) -> list[str]:
    """Prove and print; return what is refuted, in sentences."""
    requests = requests_of(registry.read_text(encoding="utf-8"))
    try:
        with progress("proving", laws_walked(questions, all_inputs=all_inputs)) as advance:
            made = prove(questions, requests, all_inputs=all_inputs, after_law=advance)
    except AuditError as error:
        raise click.UsageError(str(error)) from error
    put(proved.FORMATS, form, made)
    return [sentence for proof in made.refused for sentence in proved.refusals(proof)]


def _questions(registry: Path, names: tuple[str, ...]) -> Registry:
    try:
        return chosen(load_registry(registry), names)
    except UnknownMetricError as error:
        raise click.UsageError(str(error)) from error
