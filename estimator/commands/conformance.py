"""The command ``hearsay-estimator conformance``, also available as ``hearsay-conformance``."""

from __future__ import annotations

import click

from client_sdk.protocol.command_line import ExitStatus
from estimator.commands.options import examples
from estimator.conformance.outcome import CaseClass, lines
from estimator.conformance.program import Program
from estimator.conformance.run import play


@click.command(
    "conformance",
    short_help="Check an SDK against the protocol.",
    epilog=examples(
        'hearsay-estimator conformance "node client.js"',
        'hearsay-estimator conformance --class ledger --class consent "node client.js"',
    ),
)
@click.version_option(package_name="hearsay-ldp", prog_name="hearsay-conformance")
@click.argument("program", metavar="COMMAND")
@click.option(
    "--class",
    "labels",
    metavar="CLASS",
    multiple=True,
    type=click.Choice([each.label for each in CaseClass]),
    help=f"Run only this class of cases: {', '.join(each.label for each in CaseClass)}. Repeatable.",
)
@click.pass_context
def conformance(context: click.Context, *, program: str, labels: tuple[str, ...]) -> None:
    """Check that an SDK follows the protocol, through a program that exchanges lines of JSON.

    Each failure names the number of the violated rule in docs/protocol. Exit with status 1 if there
    is a failure.
    """
    classes = [each for each in CaseClass if not labels or each.label in labels]
    with Program(program) as sdk:
        cases = list(play(sdk, classes))
        for line in lines(sdk.name, cases):
            click.echo(line)
    has_passed = any(case.breach is None and not case.lacks for case in cases)
    is_broken = any(case.breach is not None for case in cases)
    context.exit(ExitStatus.DONE if has_passed and not is_broken else ExitStatus.FAILED)
