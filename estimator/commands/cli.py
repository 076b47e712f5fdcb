"""The command line: parse, call, print, exit code (0 done; 1 no tallies or estimates, or an accusation; 2 usage)."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

_HOMES: Final = {
    "audit": "estimator.commands.audit:audit_command",
    "plan": "estimator.commands.plan:plan",
    "rehearse": "estimator.commands.rehearse:rehearse",
    "report": "estimator.commands.report:report",
}
"""The module and the name of each command."""


class _Commands(click.Group):
    """The commands; each is loaded when it is asked for, so that no report waits for what others need."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 the same in every context
        """Return the names of all commands."""
        return list(_HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 as above
        """Return the command of a name, or none."""
        if cmd_name not in _HOMES:
            return None
        module, _, name = _HOMES[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_Commands)
@click.version_option(package_name="hearsay-ldp")
def command() -> None:
    """Estimate what is true of a population from perturbed reports."""
