"""Named wrong SDKs that keep, log or send a true answer beside its report.

Each takes the index of the answer among the labels of its question, or a number made of it, and
puts it where no test for a spelling of the answer would look.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import pickle
import socket
import sqlite3
import sys
import tempfile
import threading
import warnings
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Recorded, Telemetry
from client_sdk.answers.schedule import Schedule
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.host import detached
from client_sdk.ledger import queue
from client_sdk.ledger.thread import BARE, WRITE
from client_sdk.protocol import Coins, Metric, Upload
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse

Leak = Callable[[Telemetry, int], object]
"""Puts the number of an answer somewhere."""

Mutant = Callable[[pytest.MonkeyPatch], None]
"""Turns the SDK into a wrong one."""

PATIENCE_S = 60.0


def number_of(metric: Metric, answer: object) -> int:
    """Return the index of an answer, or a small number that depends on it."""
    labels = list(metric.labels)
    return labels.index(answer) if answer in labels else zlib.crc32(repr(answer).encode()) % 97


def by_recording(leak: Leak) -> Mutant:
    """Return a mutant that leaks what is recorded."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        right = Telemetry.record

        def record(self: Telemetry, metric: str, value: object) -> Recorded:
            recorded = right(self, metric, value)
            if recorded is Recorded.QUEUED:
                leak(self, number_of(self._registry.metric(metric), value))
            return recorded

        patch.setattr(Telemetry, "record", record)

    return apply


def _folder(device: Telemetry) -> Path:
    assert device._path is not None
    return device._path.parent


def _in_ledger(*statements: str) -> Leak:
    """Return a leak through SQL statements, each a transaction; ``{}`` is the number."""

    def leak(device: Telemetry, number: int) -> None:
        thread = device._processes.current.ledger_thread
        for statement in statements:
            begin = BARE if statement.startswith("PRAGMA") else WRITE
            thread.run(partial(_execute, statement=statement, number=number), PATIENCE_S, begin=begin)

    return leak


def _execute(connection: sqlite3.Connection, statement: str, number: int) -> None:
    given = (pickle.dumps(number),) if "?" in statement else ()
    connection.execute(statement.format(number), given).fetchall()


def _log(device: Telemetry, number: int, **options: Any) -> None:  # noqa: ARG001 every leak's
    logging.getLogger("client_sdk").warning("a slow answer", **options)


def _debug(_: Telemetry, number: int) -> None:
    logger = logging.getLogger("urllib3.of.nobody")
    logger.propagate = False
    logger.debug("took %d ms", number)


def _temporary(_: Telemetry, number: int) -> None:
    with tempfile.NamedTemporaryFile(prefix=f"cache-{number}-"):
        pass


def _rename_thread(device: Telemetry, number: int) -> None:
    thread = device._processes.current.ledger_thread._thread
    assert thread is not None
    thread.name = f"hearsay-ledger-{number}"


def _ask(device: Telemetry, number: int) -> None:  # noqa: ARG001 every leak's
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", 40_000 + number))


def _toss(device: Telemetry, number: int) -> None:
    for _ in range(number):
        device._coins.bernoulli(1)


def _outside(_: Telemetry, number: int) -> None:
    Path(os.devnull).write_text(str(number), encoding="utf-8")


def _problem(device: Telemetry, number: int) -> None:
    device._clock.problem = f"option {number} came late"


def _helpers_arguments(patch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []
    by_recording(lambda _, number: numbers.append(number))(patch)
    right = detached._options
    patch.setattr(detached, "_options", lambda: [*right(), *(f"-Xhint={number}" for number in numbers[-1:])])


def _helpers_job(patch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []
    by_recording(lambda _, number: numbers.append(number))(patch)
    right = detached.start
    hints = {"hint": ""}

    def start(module: str, lock: Path, **arguments: Any) -> None:
        groups = hints | {f"option {number}": "" for number in numbers[-1:]}
        right(module, lock, **(arguments | {"groups": groups}))

    patch.setattr(detached, "start", start)


def _order_of_keys(patch: pytest.MonkeyPatch) -> None:
    numbers = [0]
    by_recording(lambda _, number: numbers.append(number))(patch)
    right = Upload.encode

    def encode(self: Upload) -> bytes:
        document = json.loads(right(self))
        keys = sorted(document, reverse=bool(numbers[-1] % 2))
        return json.dumps({key: document[key] for key in keys}, separators=(",", ":")).encode()

    patch.setattr(Upload, "encode", encode)


def _time_to_leave(patch: pytest.MonkeyPatch) -> None:
    numbers = [0]
    right_randomize, right_record = Schedule.randomize, Schedule.record

    def randomize(self: Schedule, definition: Metric, encode: Callable[[Coins], Any], *rest: Any) -> Any:
        numbers.append(zlib.crc32(repr(encode(SystemCoins())).encode()) % 97)
        return right_randomize(self, definition, encode, *rest)

    def record(self: Schedule, *rest: Any) -> Recorded:
        *known, leaves_s = rest
        return right_record(self, *known, leaves_s + numbers[-1] / 1000)  # type: ignore[call-arg] # all as they came

    patch.setattr(Schedule, "randomize", randomize)
    patch.setattr(Schedule, "record", record)


def _result(patch: pytest.MonkeyPatch) -> None:
    right = Telemetry.record

    def record(self: Telemetry, metric: str, value: object) -> Recorded:
        recorded = right(self, metric, value)
        is_odd = recorded is Recorded.QUEUED and number_of(self._registry.metric(metric), value) % 2
        return Recorded.WAITING if is_odd else recorded

    patch.setattr(Telemetry, "record", record)


def _coin_for_lies_only(patch: pytest.MonkeyPatch) -> None:
    def perturb(self: KAryRandomizedResponse, value: int, coins: Coins) -> int:
        keep = coins.bernoulli(self.keep_numerator)
        return value if keep else (value + 1 + coins.below(self.inputs - 1)) % self.inputs

    patch.setattr(KAryRandomizedResponse, "perturb", perturb)


def _every_count_on_disk(patch: pytest.MonkeyPatch) -> None:
    right = Schedule.count

    def count(self: Schedule, connection: Any, clock_s: float, definition: Metric, by: int) -> Recorded:
        connection.execute("INSERT OR REPLACE INTO drops VALUES ('counted', ?)", (by,))
        return right(self, connection, clock_s, definition, by)

    patch.setattr(Schedule, "count", count)


def _days_in_a_file(patch: pytest.MonkeyPatch) -> None:
    right = Telemetry.active

    def active(self: Telemetry, metric: str) -> Recorded:
        (_folder(self) / "days").write_bytes(metric.encode())
        return right(self, metric)

    patch.setattr(Telemetry, "active", active)


LEAK_MUTANTS: dict[str, Mutant] = {
    "the index in a file beside the ledger": by_recording(
        lambda device, number: (_folder(device) / "cache").write_text(str(number), encoding="utf-8")
    ),
    "base64 in a file beside the ledger": by_recording(
        lambda device, number: (_folder(device) / "cache").write_bytes(base64.b64encode(b"option %d" % number))
    ),
    "as many zeros in a file": by_recording(
        lambda device, number: (_folder(device) / "padding").write_bytes(bytes(number))
    ),
    "the name of an empty folder": by_recording(
        lambda device, number: (_folder(device) / f"v{number}").mkdir(exist_ok=True)
    ),
    "where a link leads": by_recording(
        lambda device, number: (_folder(device) / f"link-{len(list(_folder(device).iterdir()))}").symlink_to(
            str(number)
        )
    ),
    "the name of a file that is gone at once": by_recording(_temporary),
    "a file outside": by_recording(_outside),
    "the times of the ledger's file": by_recording(lambda device, number: os.utime(_folder(device), (number, number))),
    "a time within the step": by_recording(
        lambda device, number: os.utime(
            _folder(device), ns=(0, _folder(device).stat().st_mtime_ns // 1000 * 1000 + number)
        )
    ),
    "the rights of a folder": by_recording(lambda device, number: _folder(device).chmod(0o700 + number % 8)),
    "an attribute of a folder": by_recording(
        lambda device, number: os.setxattr(_folder(device), "user.hint", b"%d" % number)
    ),
    "a pickled BLOB in the ledger": by_recording(_in_ledger("INSERT OR REPLACE INTO registries VALUES (-1, '', ?)")),
    "a count of losses": by_recording(
        lambda device, number: device._processes.current.ledger_thread.run(
            lambda connection: queue.count_dropped(connection, "busy", number), PATIENCE_S
        )
    ),
    "the application's id in the ledger": by_recording(_in_ledger("PRAGMA application_id = {}")),
    "the version of the ledger, for a moment": by_recording(
        _in_ledger("PRAGMA user_version = {}", "PRAGMA user_version = 5")
    ),
    "a row that is deleted and not overwritten": by_recording(
        _in_ledger(
            "PRAGMA secure_delete = OFF",
            "INSERT INTO problems VALUES ('option', 'option {}', 0)",
            "DELETE FROM problems WHERE about = 'option'",
        )
    ),
    "the order of rows": by_recording(_in_ledger("UPDATE queue SET id = id * ({} % 2 * 2 - 1)")),
    "the fraction of the second at which a report leaves": _time_to_leave,
    "the order of the keys in an upload": _order_of_keys,
    "an argument of a warning in the log": by_recording(
        lambda _, number: logging.getLogger("client_sdk").warning("recorded option %s", number)
    ),
    "an extra field in the log": by_recording(lambda device, number: _log(device, number, extra={"ms": number})),
    "an error in the log": by_recording(lambda device, number: _log(device, number, exc_info=ValueError(number))),
    "a silent logger": by_recording(_debug),
    "a warning of Python's": by_recording(
        lambda _, number: warnings.warn(f"option {number}", RuntimeWarning, stacklevel=2)
    ),
    "what is printed": by_recording(lambda _, number: sys.stdout.write(str(number))),
    "what is printed past Python": by_recording(lambda _, number: os.write(2, b"%d" % number)),
    "the environment": by_recording(lambda _, number: os.environ.update(HINT=str(number))),
    "the arguments of a helper": _helpers_arguments,
    "the job of a helper": _helpers_job,
    "the name of a thread": by_recording(_rename_thread),
    "the name of a thread that is over": by_recording(
        lambda _, number: threading.Thread(target=os.getpid, name=f"option {number}").start()
    ),
    "the last error of the interpreter": by_recording(lambda _, number: setattr(sys, "last_value", ValueError(number))),
    "the problem that is shown": by_recording(_problem),
    "the program's arguments": by_recording(lambda _, number: sys.argv.append(str(number))),
    "the port of a datagram": by_recording(_ask),
    "the result of recording": _result,
    "the number of coins": by_recording(_toss),
    "random bytes": by_recording(lambda _, number: [os.urandom(1) for _ in range(number)]),
    "a coin for lies only": _coin_for_lies_only,
    "a count that does not persist": _every_count_on_disk,
    "days of use in a file": _days_in_a_file,
}
"""Wrong SDKs."""
