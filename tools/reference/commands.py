"""The output of ``--help`` for every command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

import click

from client_sdk.cli import _parser as client_parser
from collector.commands.cli import cli as collector
from estimator.commands.cli import command as estimator

WIDTH: Final = 80


def helps() -> dict[str, str]:
    """Return the help of each program and command, by its name, such as ``hearsay-client show``."""
    programs = {"hearsay-collector": collector, "hearsay-estimator": estimator}
    of_click = [context for program, group in programs.items() for context in contexts(program, group)]
    return dict(_of_client()) | {context.command_path: context.command.get_help(context) for context in of_click}


def sections() -> str:
    """Return a section for each program and each of its commands, in Markdown."""
    return "\n".join(
        f"{'###' if ' ' in name else '##'} `{name}`\n\n```text\n{text}\n```\n" for name, text in helps().items()
    )


def _of_client() -> Iterator[tuple[str, str]]:
    parser = client_parser()
    yield "hearsay-client", parser.format_help().rstrip()
    for action in parser._actions:  # noqa: SLF001 argparse shows its commands nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 as above
            yield from (
                (f"hearsay-client {name}", each.format_help().rstrip()) for name, each in action.choices.items()
            )


def contexts(name: str, command: click.Command, parent: click.Context | None = None) -> Iterator[click.Context]:
    """Yield click's context of a command and, for a group, of all its commands."""
    context = click.Context(command, parent, name, terminal_width=WIDTH)
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            subcommand = command.get_command(context, each)
            if subcommand and not subcommand.hidden:
                yield from contexts(each, subcommand, context)
