"""The page on every command and option, from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from client_sdk.cli import _parser as client_parser
from client_sdk.protocol.exit_status import MEANINGS
from collector.commands.cli import cli as collector
from estimator.commands.cli import command as estimator
from estimator.commands.report import report
from estimator.commands.report_options import EXTRAS, written
from tools.reference.markdown import in_markdown, paragraphs, table

HEAD: Final = """\
# Commands

Every command and option, as `--help` shows them. `python -m tools.reference` writes this page from the commands.

All programs read the registry from `metrics.toml` in the working directory, unless `--registry FILE` names another
file, and end with the same [exit statuses](#exit-statuses).
"""

STATUSES: Final = """
## Exit statuses

"""


def page() -> str:
    """Return the page in Markdown."""
    programs = _of_click("hearsay-collector", collector) + _of_click("hearsay-estimator", estimator)
    statuses = table(("exit status", "means"), [(f"{status:d}", meaning) for status, meaning in MEANINGS.items()])
    return HEAD + _client() + programs + STATUSES + statuses


def _client() -> str:
    parser = client_parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001 argparse shows its options nowhere else
    parts = [f"\n## `hearsay-client`\n\n{parser.description}\n"]
    for name, subparser in commands.choices.items():
        rows = [row for row in map(_argument, subparser._actions) if row]  # noqa: SLF001 as above
        parts.append(_command(f"hearsay-client {name}", str(subparser.description), rows))
    return "".join(parts)


def _argument(action: argparse.Action) -> tuple[str, str, str] | None:
    if isinstance(action, argparse._HelpAction):  # noqa: SLF001 as above
        return None
    name = f"`{' '.join(filter(None, (', '.join(action.option_strings), _metavar(action))))}`"
    says, _, described = str(action.help or "").partition("  [default: ")
    required = "required" if action.required and action.option_strings else ""
    default = described.removesuffix("]") if action.default is None else f"`{action.default}`"
    return name, says, required or ("" if action.default in (False, argparse.SUPPRESS) else default)


def _metavar(action: argparse.Action) -> str:
    return "" if action.nargs == 0 else str(action.metavar or action.dest.upper())


def _of_click(name: str, group: click.Group) -> str:
    parts = [f"\n## `{name}`\n\n{paragraphs(group.help or '')}\n"]
    context = click.Context(group, info_name=name)
    for command_name, command in _commands(group, context):
        rows = [_option(parameter, context) for parameter in command.params]
        parts.append(_command(f"{name} {command_name}", paragraphs(command.help or ""), rows))
        if command is report:
            extras = [(f"`{written(name)}`", in_markdown(extra.does)) for name, extra in EXTRAS.items()]
            parts.append(f"\n{table(('extra of `--with`', 'adds'), extras)}")
    return "".join(parts)


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command and not command.hidden:
            yield name, command


def _option(parameter: click.Parameter, context: click.Context) -> tuple[str, str, str]:
    record: Mapping[str, Any] = parameter.to_info_dict()
    kind = "" if record.get("is_flag") else parameter.make_metavar(context)
    name = " ".join(filter(None, (", ".join(parameter.opts) if isinstance(parameter, click.Option) else "", kind)))
    default = record["default"]
    shown = default is not None and default is not False and default != () and getattr(parameter, "show_default", None)
    text, _, described = str(record.get("help") or "").partition("  [default: ")
    says = in_markdown(text)
    if described:
        return f"`{name}`", says, described.removesuffix("]")
    return f"`{name}`", says, "required" if record["required"] else f"`{default}`" if shown else ""


def _command(name: str, says: str, rows: list[tuple[str, str, str]]) -> str:
    options = f"\n{table(('option', 'does', 'default'), rows)}" if rows else ""
    return f"\n### `{name}`\n\n{says}\n{options}"
