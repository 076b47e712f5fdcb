"""Runs the command ``hearsay-client``, for the users and the developers of an app."""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import time
from typing import NoReturn

from client_sdk import show
from client_sdk.commands import Outcome, registry_commands
from client_sdk.labels import Labeler
from client_sdk.ledger import erase, explanations, registries
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.errors import LanguageError, RegistryError
from client_sdk.protocol.registry.registry import FOLDER
from client_sdk.protocol.sentences import ENGLISH, LANGUAGE

EXAMPLES = {
    "show": "--data-dir app-data --pending",
    "forget": "--data-dir app-data",
    "check": "--registry metrics.toml",
    "release": "--registry metrics.toml",
    "init": "--app acme-notes",
    "codegen": "--output questions.py",
    "compile": "--target web --output hearsay.js",
    "schema": "",
    "selftest": "--data-dir app-data",
    "completion": "bash",
}
"""Maps each command to the arguments of the example in its help text."""


def main(argv: Sequence[str] | None = None) -> ExitStatus:
    """Run the command and return its exit status."""
    arguments, unknown = _parser().parse_known_args(argv)
    if unknown:
        arguments.refuse(f"unrecognized arguments: {' '.join(unknown)}")
    if "work" in arguments:
        try:
            outcome = arguments.work(arguments)
        except RegistryError as error:
            arguments.refuse(f"the registry cannot be used:\n{error}")
        return _end(outcome)
    path = Path(arguments.data_dir).absolute() / ledger_file.FILE_NAME
    trial = path.parent / FOLDER
    try:
        if not ledger_file.exists(path) and ledger_file.exists(trial / path.name):
            return _fail(
                f"there is no ledger at {path}, only the ledger of a trial: use --data-dir {shlex.quote(str(trial))}"
            )
        return _print(arguments.command(path, arguments))
    except KeyboardInterrupt:  # the user has pressed Ctrl+C
        return ExitStatus.DONE
    except LanguageError as error:
        return _fail(str(error))
    except Exception as error:  # noqa: BLE001 every problem with the file becomes one sentence
        return _fail(str(explanations.explain(error, path)))


def _end(outcome: Outcome) -> ExitStatus:
    sys.stderr.writelines(f"{problem}\n" for problem in outcome.problems)
    return _print(outcome.text.splitlines()) or (ExitStatus.FAILED if outcome.problems else ExitStatus.DONE)


def _print(lines: Iterable[str]) -> ExitStatus:
    if sys.stdout is None:
        return _fail("standard output is closed; redirect it to a file or a program")
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():  # show a question mark for a character that the terminal lacks
            sys.stdout.reconfigure(errors="replace")
        else:  # a file or program must get every character, whatever the locale is
            sys.stdout.reconfigure(encoding="utf-8")
    for line in lines:
        try:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        except OSError as error:
            # Otherwise the interpreter would write the buffer again when it exits, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if error.errno == errno.EPIPE:  # the reading program, such as head, has closed the pipe
                return ExitStatus.DONE
            return _fail(f"cannot write the output: {error.strerror}; redirect it to another place")
    return ExitStatus.DONE


def _fail(sentence: str) -> ExitStatus:
    sys.stderr.write(f"Error: {sentence}\n")
    return ExitStatus.FAILED


class _Parser(argparse.ArgumentParser):
    """Reports usage errors in the format of click, which the project's other commands use."""

    def error(self, message: str) -> NoReturn:
        message += "".join(f". Did you mean {each!r}?" for each in _near(message, self))
        usage = self.format_usage().partition(": ")[2]
        self.exit(ExitStatus.USAGE, f"Usage: {usage}Try '{self.prog} --help' for help.\n\nError: {message}\n")


def _near(message: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return the valid option or command that is most similar to the rejected one."""
    from difflib import get_close_matches  # noqa: PLC0415 takes 5 ms, and only a mistake needs it

    unknown = re.search(r"invalid choice: '([^']+)'|unrecognized arguments: (\S+)", message)
    if unknown is None:
        return []
    choices = [choice for action in parser._actions for choice in (*(action.choices or ()), *action.option_strings)]  # noqa: SLF001 there is no public list
    return get_close_matches(unknown[1] or unknown[2].partition("=")[0], map(str, choices), 1)


class _Version(argparse.Action):
    """Looks up the version only on request, because the lookup fails if the SDK was copied.

    An SDK whose files were copied into an app has no package metadata.
    """

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 as the class says

        parser.exit(_print([f"{parser.prog}, version {version('hearsay-ldp-client')}"]))


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog="hearsay-client",
        usage="%(prog)s [OPTIONS] COMMAND [ARGS]...",
        description="Show sent reports, opt out, and work with registries.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="Show the version and exit.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog=parser.prog)
    for name, command, purpose in (
        ("show", _show, "Show sent, waiting and dropped reports, and the spent budget."),
        ("forget", _forget, "Erase the queue, the history and the secret. Spent budget stays spent."),
    ):
        subparser = commands.add_parser(name, usage="%(prog)s [OPTIONS]", help=purpose, description=purpose)
        subparser.add_argument("--data-dir", required=True, metavar="DIR", help="The app's data directory.")
        subparser.set_defaults(command=command)
    showing = commands.choices["show"]
    showing.add_argument(
        "--all", action="store_true", help="Show all reports, ceilings, reasons for drops, and stopped questions."
    )
    showing.add_argument(
        "--pending", action="store_true", help="Show only waiting reports, with the reason and the deadline."
    )
    showing.add_argument("--json", action="store_true", help="Print a JSON object.")
    showing.add_argument("--follow", action="store_true", help="Keep running, and print changes until interrupted.")
    for reading in (showing, commands.choices["forget"]):
        reading.add_argument(
            "--language",
            metavar="TAG",
            type=_language,
            default=ENGLISH,
            help="The language of the output, such as de.  [default: %(default)s]",
        )
    registry_commands.add_to(commands)
    for name, example in EXAMPLES.items():
        commands.choices[name].set_defaults(refuse=commands.choices[name].error)
        commands.choices[name].epilog = f"example: hearsay-client {name} {example}".rstrip()
    return parser


def _language(text: str) -> str:
    if re.fullmatch(LANGUAGE, text) is None:
        raise argparse.ArgumentTypeError("must be a language tag, such as de or pt-BR")
    return text


def _show(path: Path, arguments: argparse.Namespace) -> Iterator[str]:
    def read() -> list[str]:
        with contextlib.closing(show.open_copy(path)) as connection:
            is_plain = not (arguments.all or arguments.json)
            view = show.look(connection, time(), arguments.language, is_plain=is_plain)
        if arguments.json:
            return [show.pending_as_json(view) if arguments.pending else show.as_json(view)]
        if arguments.pending:
            return list(show.pending_as_text(view))
        if arguments.all:
            return list(show.everything_as_text(view))
        return list(show.as_text(view, shlex.quote(arguments.data_dir)))

    return show.followed(read) if arguments.follow else iter(read())


def _forget(path: Path, arguments: argparse.Namespace) -> Iterator[str]:
    with contextlib.closing(show.open_copy(path)) as connection:
        say = Labeler(registries.kept(connection)).sentences(arguments.language)
    erase.forget(path)
    yield say("show.forgotten")
