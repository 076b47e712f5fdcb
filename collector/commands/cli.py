"""The collector's command line and its error messages.

Two small commands, ``key`` and ``completion``, are also in this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import click
from click.shell_completion import get_completion_class

from client_sdk.protocol.command_line import COMPLETION_HINTS, NO_ROOM, ExitStatus, completion_path
from client_sdk.protocol.errors import HearsayError, RegistryError
from collector.access import NAME, NAME_RULE, Role, digest_of, new_secret
from collector.commands.options import examples, member_option
from collector.errors import OptionError, require_option

PROGRAM: Final = "hearsay-collector"


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
    """Return the shell script that completes a program's commands and options."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 click knows all of these shells
    variable = f"_{PROGRAM.upper().replace('-', '_')}_COMPLETE"
    source = kind.source_template % kind(command, {}, PROGRAM, variable).source_vars()
    return source.strip() + "\n"


WITHOUT_UPLOAD_KEYS = (
    'note: unless the access file has an upload key, write uploads = "open" (anyone may report) or uploads = "keys" '
    "(only relays may report) above its first [[key]]"
)


@click.command(epilog=examples("hearsay-collector key dashboard --role read"))
@click.argument("name")
@click.option("--role", **member_option(Role, Role.UPLOAD), help="The purpose of the key.")
def key(name: str, role: Role) -> None:
    """Create a key, and show its secret once on standard error.

    The key's entry for the access file goes to standard output.
    """
    require_option(NAME.fullmatch(name) is not None, f"NAME {NAME_RULE}")
    secret = new_secret()
    if role is not Role.UPLOAD:
        click.echo(WITHOUT_UPLOAD_KEYS, err=True)
    entry = f'[[key]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{digest_of(secret).hex()}"\n'
    click.echo(f"the secret of {name}, shown only once: {secret}", err=True)
    click.echo(entry)


class ErrorReportingGroup(click.Group):
    """A group that imports each command only when the command runs.

    The group turns exceptions into error messages and exit statuses.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **settings: Any) -> None:  # noqa: ANN401 as in the base
        """Store the module and the function of each command, keyed by the command's name."""
        super().__init__(*args, **settings)
        self._modules = modules
        self.commands = {name: click.Command(name) for name in modules}  # the names, for help and suggestions

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 as in the base
        """Return the command with the given name, or None if there is no such command."""
        place = self._modules.get(cmd_name)
        return None if place is None else resolve_name(place)

    def main(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
        """Run the command line. If there is no space for the output, report this as an error."""
        try:
            return super().main(*args, **settings)
        except OSError as error:
            if error.errno not in NO_ROOM or error.filename is not None:
                raise
            # otherwise, the interpreter would write the buffer again when it exits, and fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            problem = f"the output cannot be written: {error.strerror}; redirect it elsewhere"
            click.ClickException(problem).show()
            sys.exit(ExitStatus.FAILED)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 as in the base
        """Run a command.

        Raises:
            click.UsageError: if the command line or the registry cannot be used.
            click.ClickException: for any other HearsayError, and if a file cannot be used.
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
        except OSError as error:  # such as a folder that the user may not enter
            if error.filename is None:
                raise
            raise click.ClickException(f"{error.filename} cannot be used: {error.strerror}") from error

    def _context_of_subcommand(self, ctx: click.Context) -> click.Context:
        """Return the context of the subcommand, whose usage click prints before an error."""
        name = ctx.invoked_subcommand or ""
        subcommand = self.get_command(ctx, name)
        return ctx if subcommand is None else click.Context(subcommand, ctx, name)


COMMANDS: Final = {
    "check": "collector.commands.check:check",
    "completion": "collector.commands.cli:completion",
    "key": "collector.commands.cli:key",
    "relay": "collector.commands.relay:relay",
    "serve": "collector.commands.serve:serve",
    "store": "collector.commands.cli:store",
}
"""The module and the function of each command."""

STORE_COMMANDS: Final = {
    "accept-loss": "collector.commands.backup:accept_loss",
    "close": "collector.commands.windows:close",
    "export": "collector.commands.backup:export_store",
    "import": "collector.commands.backup:import_store",
    "retire": "collector.commands.windows:retire",
}
"""The module and the function of each command of ``hearsay-collector store``."""


@click.group(cls=ErrorReportingGroup, modules=COMMANDS)
@click.version_option(package_name="hearsay-ldp")
def cli() -> None:
    """Collect perturbed reports, and store only tallies."""


@click.group(
    cls=ErrorReportingGroup, modules=STORE_COMMANDS, epilog=examples(f"{PROGRAM} store export --to backup.ndjson")
)
def store() -> None:
    """Back up or restore a store, close windows, and remove tallies."""
