"""The arguments of the commands that need no device: those about a registry, and completion."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeAlias

from client_sdk.commands import Outcome
from client_sdk.commands.check import check
from client_sdk.commands.codegen import codegen
from client_sdk.commands.compile import Target, compile_registry
from client_sdk.commands.completion import SHELLS, completion, words_of
from client_sdk.commands.init import init
from client_sdk.commands.json_schema import schema
from client_sdk.commands.release import release
from client_sdk.protocol.toml_table import MAX_TEXT, is_text

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 it has no public name

_REGISTRY = Path("metrics.toml")


def add_to(commands: Subparsers) -> None:
    """Add the commands to a parser; ``work`` of the parsed arguments does what was asked."""
    checking = _add(
        commands,
        "check",
        "List every mistake in a registry, and check whether it can work.",
        lambda given: check(given.registry, _today(), given.against),
    )
    checking.add_argument(
        "--against", metavar="FILE", type=Path, help="The registry released before: say what the change means."
    )
    releasing = _add(
        commands,
        "release",
        "Put a registry into its history, so that reports of released apps still count after a change.",
        lambda given: release(given.registry, given.history, _today(), only_checks=given.check),
    )
    releasing.add_argument(
        "--history", metavar="FILE", type=Path, help="The history.  [default: beside the registry, *.history.toml]"
    )
    releasing.add_argument("--check", action="store_true", help="Only check whether the registry is in its history.")
    starting = _add(commands, "init", "Write a registry to start from.", _init)
    starting.add_argument("--app", metavar="NAME", type=_app_name, help="The app's name.")
    writing = _add(
        commands,
        "codegen",
        "Write a typed Python module of its metrics.",
        lambda given: codegen(given.registry, given.output),
    )
    writing.add_argument("--output", metavar="FILE", type=Path, help="The file to write.  [default: standard output]")
    compiling = _add(
        commands,
        "compile",
        "Compile the metrics for the SDK for browsers and Node.",
        _compile,
    )
    compiling.add_argument("--target", choices=[to.value for to in Target], required=True, help="Where the app runs.")
    compiling.add_argument(
        "--output", metavar="FILE.js", type=Path, help="The file to write.  [default: standard output]"
    )
    compiling.add_argument("--check", action="store_true", help="Only check whether the file is up to date.")
    of_schema = commands.add_parser("schema", usage="%(prog)s [OPTIONS]", help=_SCHEMA, description=_SCHEMA)
    of_schema.set_defaults(work=lambda _: schema())
    completing = commands.add_parser(
        "completion", usage="%(prog)s [OPTIONS] SHELL", help=_COMPLETION, description=_COMPLETION
    )
    completing.add_argument("shell", choices=SHELLS, help="The shell.")
    completing.set_defaults(work=lambda given: completion(given.shell, words_of(commands.choices)))


_SCHEMA = "Print the JSON Schema of registries, for editors."
_COMPLETION = "Print the script that completes commands and options in a shell."


def _add(
    commands: Subparsers, name: str, purpose: str, work: Callable[[argparse.Namespace], Outcome]
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, usage="%(prog)s [OPTIONS]", help=purpose, description=purpose)
    parser.add_argument(
        "--registry", metavar="FILE", type=Path, default=_REGISTRY, help="The file of metrics.  [default: %(default)s]"
    )
    parser.set_defaults(work=work)
    return parser


def _app_name(text: str) -> str:
    if not is_text(text):
        raise argparse.ArgumentTypeError(f"must be a text of 1 to {MAX_TEXT} printable characters; name the app")
    return text


def _compile(given: argparse.Namespace) -> Outcome:
    if given.check and given.output is None:
        given.refuse("--check needs the file of --output")
    return compile_registry(given.registry, Target(given.target), given.output, check=given.check)


def _init(given: argparse.Namespace) -> Outcome:
    return init(given.registry, given.app, _today())


def _today() -> date:
    return datetime.now(UTC).date()
