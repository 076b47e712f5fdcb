"""``hearsay-client``: what left this device, for its user, and opting out."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk import ledger, ledger_file, outbox
from client_sdk.spec.epsilon import as_float

if TYPE_CHECKING:
    import sqlite3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, or 1 if there is no sound ledger."""
    arguments = _parser().parse_args(argv)
    path = Path(arguments.data_dir).absolute() / ledger_file.FILE_NAME
    try:
        with contextlib.closing(ledger_file.open_file(path, None, create=False)) as connection:
            arguments.command(connection)
    except Exception as error:  # noqa: BLE001 whatever is wrong with the file becomes one sentence
        sys.stderr.write(f"hearsay-client: {ledger_file.explain(error, path)}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hearsay-client", description="What left this device, and opting out.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, purpose in (
        ("show", _show, "show every report that has left this device, what it cost, and what was dropped"),
        ("forget", _forget, "wipe queue, history and secret; what was spent stays spent"),
    ):
        subparser = commands.add_parser(name, help=purpose, description=purpose)
        subparser.add_argument("--data-dir", required=True, metavar="DIR", help="the app's data directory")
        subparser.set_defaults(command=command)
    return parser


def _show(connection: sqlite3.Connection) -> None:
    rows = [(entry.metric, entry.window, str(entry.symbol), entry.outcome) for entry in outbox.history(connection)]
    if rows:
        _print_table([("metric", "window", "sent", "outcome"), *rows])
        sys.stdout.write("\nThe number sent was drawn at random around your answer; it is not your answer.\n")
    else:
        sys.stdout.write("Nothing has left this device.\n")
    _, lifetime_nanos = ledger.spent_nanos(connection, "")
    sys.stdout.write(f"Privacy loss spent so far: epsilon {as_float(lifetime_nanos):.9f}\n")
    sys.stdout.write(f"Waiting to be sent: {outbox.waiting(connection)}\n")
    for reason, reports in outbox.dropped(connection).items():
        sys.stdout.write(f"Dropped ({reason}): {reports}\n")


def _forget(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    outbox.wipe(connection)
    connection.execute("COMMIT")
    ledger_file.scrub(connection)
    sys.stdout.write("Queue, history and secret are wiped. Switch telemetry off in the app, too.\n")


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")
