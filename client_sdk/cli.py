"""``hearsay-client``: shows users what left their device, opts out, and looks after registries."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import time

from client_sdk import show
from client_sdk.commands import Outcome, registry_commands
from client_sdk.labels import Labeler
from client_sdk.ledger import erase, explanations, registries
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.errors import LanguageError
from client_sdk.protocol.sentences import ENGLISH, LANGUAGE

EXAMPLES = {
    "show": "--data-dir app-data --pending",
    "forget": "--data-dir app-data",
    "check": "metrics.toml",
    "init": "metrics.toml --app acme-notes",
    "codegen": "metrics.toml --output questions.py",
    "compile": "metrics.toml --target web --output hearsay.js",
    "schema": "",
    "completion": "bash",
}
"""An example of each command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 if there is no sound ledger or no output."""
    arguments = _parser().parse_args(argv)
    if "work" in arguments:
        return _end(arguments.work(arguments))
    path = Path(arguments.data_dir).absolute() / ledger_file.FILE_NAME
    try:
        return _print(arguments.command(path, arguments))
    except KeyboardInterrupt:  # whoever follows has seen enough
        return 0
    except LanguageError as error:
        return _fail(str(error))
    except Exception as error:  # noqa: BLE001 any problem with the file becomes one sentence
        return _fail(str(explanations.explain(error, path)))


def _end(outcome: Outcome) -> int:
    """Print what a command about a registry has to say."""
    sys.stderr.writelines(f"{problem}\n" for problem in outcome.problems)
    return _print(outcome.text.splitlines()) or (1 if outcome.problems else 0)


def _print(lines: Iterable[str]) -> int:
    """Print each line as soon as it is known."""
    if sys.stdout is None:
        return _fail("there is no standard output; give the answer a place to go")
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():  # a terminal that lacks a character shows a question mark
            sys.stdout.reconfigure(errors="replace")
        else:  # a file or a program must get every character, whatever the locale is
            sys.stdout.reconfigure(encoding="utf-8")
    for line in lines:
        try:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        except OSError as error:
            # Otherwise the interpreter would write the buffer again at its end, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _fail(f"the answer cannot be written: {error.strerror}; give it another place to go")
    return 0


def _fail(sentence: str) -> int:
    sys.stderr.write(f"hearsay-client: {sentence}\n")
    return 1


class _Version(argparse.Action):
    """Looks up the version only on request: an SDK that was copied into an app has none."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 as the class says

        parser.exit(_print([f"{parser.prog}, version {version('hearsay-ldp-client')}"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hearsay-client", description="What left this device, opting out, and registries."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, purpose in (
        ("show", _show, "show what has left this device, what waits, what it cost, and what was dropped"),
        ("forget", _forget, "wipe queue, history and secret; what was spent stays spent"),
    ):
        subparser = commands.add_parser(name, help=purpose, description=purpose)
        subparser.add_argument("--data-dir", required=True, metavar="DIR", help="the app's data directory")
        subparser.set_defaults(command=command)
    showing = commands.choices["show"]
    showing.add_argument("--pending", action="store_true", help="show only what waits: why, and until when")
    showing.add_argument("--json", action="store_true", help="print an object of JSON, for programs")
    showing.add_argument("--follow", action="store_true", help="go on, and show what changes, until it is interrupted")
    for reading in (showing, commands.choices["forget"]):
        reading.add_argument(
            "--language",
            metavar="TAG",
            type=_language,
            default=ENGLISH,
            help="of the sentences, such as de; default: %(default)s",
        )
    registry_commands.add_to(commands)
    for name, example in EXAMPLES.items():
        commands.choices[name].epilog = f"example: hearsay-client {name} {example}".rstrip()
    return parser


def _language(text: str) -> str:
    if LANGUAGE.fullmatch(text) is None:
        raise argparse.ArgumentTypeError("must be the tag of a language, such as de or pt-BR")
    return text


def _show(path: Path, arguments: argparse.Namespace) -> Iterator[str]:
    def read() -> list[str]:
        with contextlib.closing(show.open_copy(path)) as connection:
            view = show.look(connection, time(), arguments.language)
        if arguments.json:
            return [show.pending_as_json(view) if arguments.pending else show.as_json(view)]
        return list(show.pending_as_text(view) if arguments.pending else show.as_text(view))

    return show.followed(read) if arguments.follow else iter(read())


def _forget(path: Path, arguments: argparse.Namespace) -> Iterator[str]:
    with contextlib.closing(ledger_file.open_file(path, None, create=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        say = Labeler(registries.kept(connection)).sentences(arguments.language)
        erase.wipe(connection)
        connection.execute("COMMIT")
        erase.scrub(connection)
    erase.remove_leftovers(path)
    yield say("show.forgotten")
