"""The command line: all commands, and how they report errors."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.errors import HearsayError, RegistryError
from collector.commands.accept_loss import accept_loss
from collector.commands.backup import export_store, import_store
from collector.commands.check import check
from collector.commands.close import close
from collector.commands.completion import completion
from collector.commands.key import key
from collector.commands.relay import relay
from collector.commands.retire import retire
from collector.commands.serve import serve
from collector.errors import OptionError
from collector.files import NO_ROOM


class ErrorReportingGroup(click.Group):
    """Turns errors into messages and exit statuses."""

    def main(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
        """Run the command line. If its output finds no room, say so."""
        try:
            return super().main(*args, **settings)
        except OSError as error:
            if error.errno not in NO_ROOM or error.filename is not None:
                raise
            # Otherwise the interpreter would write the buffer again at its end, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            problem = f"the output cannot be written: {error.strerror}; give it another place to go"
            click.ClickException(problem).show()
            sys.exit(ExitStatus.FAILED)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 as in the base
        """Run a command.

        Raises:
            click.UsageError: if the command line or the registry cannot be used.
            click.ClickException: if something else fails.

        """
        try:
            return super().invoke(ctx)
        except OptionError as error:
            raise click.UsageError(str(error), self._context_of_subcommand(ctx)) from error
        except RegistryError as error:
            message = f"the registry cannot be used:\n{error}"
            raise click.UsageError(message, self._context_of_subcommand(ctx)) from error
        except HearsayError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:  # such as a folder that may not be entered
            if error.filename is None:
                raise
            raise click.ClickException(f"{error.filename} cannot be used: {error.strerror}") from error

    def _context_of_subcommand(self, ctx: click.Context) -> click.Context:
        """Return the context whose usage line stands above a message."""
        name = ctx.invoked_subcommand or ""
        subcommand = self.get_command(ctx, name)
        return ctx if subcommand is None else click.Context(subcommand, ctx, name)


@click.group(cls=ErrorReportingGroup)
@click.version_option(package_name="hearsay-ldp")
def cli() -> None:
    """Collect perturbed reports, and keep nothing but their tallies."""


for command in (
    accept_loss,
    check,
    close,
    completion,
    export_store,
    import_store,
    key,
    relay,
    retire,
    serve,
):
    cli.add_command(command)
