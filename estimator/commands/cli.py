"""The command ``hearsay-estimator``: its subcommands and its error messages."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import click
from click.shell_completion import get_completion_class

from client_sdk.protocol.command_line import COMPLETION_HINTS, NO_ROOM, ExitStatus, completion_path
from client_sdk.protocol.errors import HearsayError, RegistryError, UnknownMetricError
from estimator.commands.options import examples
from estimator.errors import AnswersError, AuditError, ConformanceError, PlanError, RequestError

PROGRAM: Final = "hearsay-estimator"


@click.command(
    short_help="Install shell completion.",
    epilog=examples(f"{PROGRAM} completion bash", f"{PROGRAM} completion zsh --install"),
)
@click.argument("shell", type=click.Choice(tuple(COMPLETION_HINTS)))
@click.option("--install", is_flag=True, help="Install the script for the current user.")
@click.pass_context
def completion(context: click.Context, shell: str, *, install: bool) -> None:
    """Print or install the script that completes this program's commands and options."""
    script = script_for(context.find_root().command, shell)
    if not install:
        click.echo(script, nl=False)
        return
    path = completion_path(PROGRAM, shell, Path.home(), os.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    click.echo(f"{path} is written; {COMPLETION_HINTS[shell]}")


def script_for(command: click.Command, shell: str) -> str:
    """Return the completion script of a command for a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 click knows all of these shells
    variable = f"_{PROGRAM.upper().replace('-', '_')}_COMPLETE"
    source = kind.source_template % kind(command, {}, PROGRAM, variable).source_vars()
    return source.strip() + "\n"


COMMANDS: Final = {
    "archive": "estimator.commands.archive:archive",
    "audit": "estimator.commands.audit:audit_command",
    "completion": "estimator.commands.cli:completion",
    "conformance": "estimator.commands.conformance:conformance",
    "plan": "estimator.commands.plan:plan",
    "rehearse": "estimator.commands.rehearse:rehearse",
    "rehearse-model": "estimator.commands.rehearse:rehearse_models",
    "report": "estimator.commands.report:report",
    "watch": "estimator.commands.watch:watch",
}
"""The module and the function of each command."""

USAGE_ERRORS: Final[dict[type[HearsayError], str]] = {
    AnswersError: "the answers cannot be used:\n",
    AuditError: "",
    ConformanceError: "",
    PlanError: "",
    RegistryError: "the registry cannot be used:\n",
    RequestError: "",
    UnknownMetricError: "",
}
"""The errors that the user can correct by changing the command line, and their message prefixes.

Any other error counts as a failure of the command.
"""


class Commands(click.Group):
    """The group of commands, which imports a command at its first use.

    The group converts errors to messages and exit statuses.
    """

    def main(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
        """Run the command line, and report output that cannot be written."""
        try:
            return super().main(*args, **settings)
        except OSError as error:
            if error.errno not in NO_ROOM or error.filename is not None:
                raise
            # Otherwise, the interpreter would write the buffer again on exit, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            problem = f"the output cannot be written: {error.strerror}; redirect it to another place"
            click.ClickException(problem).show()
            sys.exit(ExitStatus.FAILED)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 the same in every context
        """Return the names of all commands."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command with the given name.

        Raises:
            click.UsageError: if there is no such command. The message suggests a similar name if
                there is one.

        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], COMMANDS, 1)
            if not near or "Did you mean" in error.message:
                raise
            raise click.UsageError(f"No such command '{args[0]}'. Did you mean '{near[0]}'?", ctx) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 as above
        """Return the command with the given name, or None if there is no such command."""
        place = COMMANDS.get(cmd_name)
        return None if place is None else resolve_name(place)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command.

        Raises:
            click.UsageError: if an argument is unusable.
            click.ClickException: if the command fails for another reason.
        """
        try:
            return super().invoke(ctx)
        except HearsayError as error:
            if type(error) not in USAGE_ERRORS:
                raise click.ClickException(str(error)) from error
            message = f"{USAGE_ERRORS[type(error)]}{error}"
            raise click.UsageError(message, self._context_of_subcommand(ctx)) from error

    def _context_of_subcommand(self, ctx: click.Context) -> click.Context:
        """Return the subcommand's context.

        Error messages then begin with the subcommand's usage line.
        """
        name = ctx.invoked_subcommand or ""
        subcommand = self.get_command(ctx, name)
        return ctx if subcommand is None else click.Context(subcommand, ctx, name)


@click.group(cls=Commands)
@click.version_option(package_name="hearsay-ldp")
def command() -> None:
    """Estimate population statistics from randomized reports."""
