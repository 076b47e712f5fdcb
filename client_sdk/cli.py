"""``hearsay-client``: shows users what left their device, and opts out."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.ledger import charges, erase, history, outbox
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.epsilon import as_float

if TYPE_CHECKING:
    import sqlite3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 if there is no sound ledger or no output."""
    arguments = _parser().parse_args(argv)
    path = Path(arguments.data_dir).absolute() / ledger_file.FILE_NAME
    try:
        with contextlib.closing(ledger_file.open_file(path, None, create=False)) as connection:
            text = "".join(f"{line}\n" for line in arguments.command(connection, path))
    except Exception as error:  # noqa: BLE001 any problem with the file becomes one sentence
        return _fail(str(ledger_file.explain(error, path)))
    return _print(text)


def _print(text: str) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a terminal that lacks a character shows a question mark
        sys.stdout.reconfigure(errors="replace")
    try:
        sys.stdout.write(text)
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

        parser.exit(_print(f"{parser.prog}, version {version('hearsay-ldp-client')}\n"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hearsay-client", description="What left this device, and opting out.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, purpose in (
        ("show", _show, "show every report that has left this device, what it cost, and what was dropped"),
        ("forget", _forget, "wipe queue, history and secret; what was spent stays spent"),
    ):
        subparser = commands.add_parser(name, help=purpose, description=purpose)
        subparser.add_argument("--data-dir", required=True, metavar="DIR", help="the app's data directory")
        subparser.set_defaults(command=command)
    return parser


def _show(connection: sqlite3.Connection, _path: Path) -> Iterator[str]:
    rows = [(entry.metric, entry.window, str(entry.symbol), entry.outcome) for entry in history.entries(connection)]
    if rows:
        yield from _table([("metric", "window", "sent", "outcome"), *rows])
        yield ""
        yield "The number sent was drawn at random around your answer; it is not your answer."
    else:
        yield "Nothing has left this device."
    yield f"Privacy loss spent so far: epsilon {as_float(charges.lifetime_nanos(connection)):.9f}"
    yield f"Waiting to be sent or answered: {outbox.waiting(connection)}"
    for reason, reports in history.dropped(connection).items():
        yield f"Dropped ({reason}): {reports}"


def _forget(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    connection.execute("BEGIN IMMEDIATE")
    erase.wipe(connection)
    connection.execute("COMMIT")
    ledger_file.scrub(connection)
    ledger_file.remove_leftovers(path)
    yield "Queue, history and secret are wiped. Switch telemetry off in the app, too."


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
