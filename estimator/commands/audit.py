"""The command ``hearsay-estimator audit``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.registry.registry import Registry
from estimator.audit.black_box import OtherSdk
from estimator.audit.compare import requests_of
from estimator.audit.proof import proved
from estimator.audit.prove import laws_walked, prove
from estimator.audit.run import LEAST_REPORTS, audit, chosen, default_reports, windows_played
from estimator.commands.options import REGISTRY, WholeRange, examples
from estimator.commands.printing import progress, put
from estimator.render.text import audit as exact_forms
from estimator.render.text.audit import AUDIT_FORMATS, accusation

MAX_REPORTS = 10**7
"""The maximum value of ``--reports``. More data might not fit into memory."""


@click.command(
    "audit",
    short_help="Test or prove the SDK's privacy claims.",
    epilog=examples(
        "hearsay-estimator audit --registry metrics.toml --metric dark_mode --reports 6000",
        "hearsay-estimator audit --registry metrics.toml --exact",
        'hearsay-estimator audit --registry metrics.toml --sdk "npx hearsay-audit hearsay.js"',
    ),
)
@REGISTRY
@click.option(
    "--reports",
    metavar="N",
    type=WholeRange(LEAST_REPORTS, MAX_REPORTS),
    help="The number of reports for each answer.  [default: a number that takes a few minutes]",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Prove the claims by enumerating every possible sequence of coins in the randomization.",
)
@click.option("--all-inputs", is_flag=True, help="With --exact: enumerate all inputs, even if this takes a long time.")
@click.option("--metric", "names", metavar="NAME", multiple=True, help="Audit only this metric. Repeatable.")
@click.option(
    "--sdk",
    "program",
    metavar="COMMAND",
    help="Audit another SDK, through a program that exchanges JSON on standard input and output.",
)
@click.option(
    "--format", "form", type=click.Choice(list(AUDIT_FORMATS)), default="table", show_default=True, help="The format."
)
@click.pass_context
def audit_command(  # noqa: PLR0913 the options of the command
    context: click.Context,
    *,
    registry: Path,
    reports: int | None,
    exact: bool,
    all_inputs: bool,
    names: tuple[str, ...],
    program: str | None,
    form: str,
) -> None:
    """Test the privacy claims of the installed SDK, or prove them.

    Exit with status 1 if a claim is refuted.
    """
    if exact and reports is not None:
        raise click.UsageError("--reports is for samples, but --exact enumerates all outcomes; omit --reports")
    if all_inputs and not exact:
        raise click.UsageError("--all-inputs requires --exact; add --exact, or omit --all-inputs")
    if exact and program is not None:
        raise click.UsageError("--exact works only for the Python SDK; omit --sdk or --exact")
    metrics = chosen(Registry.read(registry), names)
    if exact:
        refuted = _prove(metrics, registry.read_text(encoding="utf-8"), form, all_inputs=all_inputs)
    else:
        refuted = _attack(metrics, reports or default_reports(metrics), form, program)
    for sentence in refuted:
        click.echo(sentence, err=True)
    context.exit(ExitStatus.FAILED if refuted else ExitStatus.DONE)


def _attack(metrics: Registry, reports: int, form: str, program: str | None) -> list[str]:
    with progress("auditing", windows_played(metrics, reports)) as advance:
        play = partial(audit, metrics, reports, after_life=advance)
        if program is None:
            outcome = play()
        else:
            with OtherSdk(program) as other:
                outcome = play(make_device=other.device)
    put(AUDIT_FORMATS, form, outcome)
    return [accusation(finding) for finding in outcome.findings if finding.accused]


def _prove(metrics: Registry, registry_text: str, form: str, *, all_inputs: bool) -> list[str]:
    requests = requests_of(registry_text)
    with progress("proving", laws_walked(metrics, all_inputs=all_inputs)) as advance:
        walked = prove(metrics, requests, all_inputs=all_inputs, after_law=advance)
    outcome = proved(walked, as_float(metrics.budget.lifetime_nanos))
    put(exact_forms.PROOF_FORMATS, form, outcome)
    return [sentence for proof in outcome.proofs for sentence in exact_forms.refusals(proof)]
