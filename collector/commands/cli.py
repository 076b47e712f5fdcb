"""The command line: all commands, and how they report errors."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from client_sdk.protocol.errors import HearsayError
from collector.atomic_file import NO_ROOM
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


class ErrorReportingGroup(click.Group):
    """Prints an error that the user can mend on standard error, and exits with status 1.

    The status is 2 if the command line cannot be understood, as click has it.
    """

    def main(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
        """Run the command line. If its output finds no room, say so."""
        try:
            return super().main(*args, **settings)
        except OSError as error:
            if error.errno not in NO_ROOM or error.filename is not None:
                raise
            # Otherwise the interpreter would write the buffer again at its end, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            _say(f"the output cannot be written: {error.strerror}; give it another place to go")
            sys.exit(1)

    def invoke(self, context: click.Context) -> Any:  # noqa: ANN401 as in the base
        """Run the command."""
        status = 1
        try:
            return super().invoke(context)
        except HearsayError as error:
            problem, status = str(error), 2 if isinstance(error, OptionError) else 1
        except OSError as error:  # such as a folder that may not be entered
            if error.filename is None:
                raise
            problem = f"{error.filename} cannot be used: {error.strerror}"
        _say(problem)
        sys.exit(status)


def _say(problem: str) -> None:
    click.echo(f"hearsay-collector: {problem}", err=True)


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
