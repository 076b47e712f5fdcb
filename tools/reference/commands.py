"""What ``--help`` prints, for every command."""

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
    """Return the help of each program and each of its commands, by their words."""
    programs = {"hearsay-collector": collector, "hearsay-estimator": estimator}
    return dict(_of_client()) | {name: text for each in programs.items() for name, text in _of_click(*each)}


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


def _of_click(program: str, group: click.Group) -> Iterator[tuple[str, str]]:
    context = click.Context(group, info_name=program, terminal_width=WIDTH)
    yield program, group.get_help(context)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command and not command.hidden:
            yield f"{program} {name}", command.get_help(click.Context(command, context, name))
