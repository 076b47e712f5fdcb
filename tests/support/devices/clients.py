"""Devices for tests: a registry, a clock that a test sets, and a scripted transport."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from client_sdk import Flushed, Recorded, Registry, Telemetry
from client_sdk.ledger.file import FILE_NAME
from client_sdk.ledger.thread import READ
from client_sdk.protocol import Refusal, Report, Upload, Verdict
from client_sdk.protocol.wire.failure import Failure
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.sending.responses import Reply
from tests.support.services.processes import wait_until

COLLECTOR = "https://collector.invalid"

RARE = "zanzibarian-canary"
"""A category that occurs only in the registry. Anywhere else, it is a true value that leaked."""

DAY_S = 86_400
NOON = 1_795_176_000.0
"""2026-11-20, 12:00 UTC."""

REGISTRY = f"""
schema = 1

[app]
name = "acme"

[budget]
window = "day"
per_window = 2.5
lifetime = 4.0

[metric.dark_mode]
purpose = "Is it used?"
kind = "boolean"
epsilon = "ln 3"

[metric.sound]
purpose = "Is it used?"
kind = "boolean"
epsilon = "ln 3"

[metric.wide]
purpose = "Is it used?"
kind = "boolean"
epsilon = "ln 3"

[metric.system]
purpose = "Which?"
kind = "category"
values = ["linux", "macos", "{RARE}"]
epsilon = 1.0

[metric.size]
purpose = "How much?"
kind = "number"
low = 0
high = 10
statistic = "mean"
epsilon = 0.5

[metric.taps]
purpose = "How often?"
kind = "count"
max = 9
statistic = "mean"
epsilon = 0.5

[metric.old]
purpose = "Was it used?"
kind = "boolean"
epsilon = 0.5
expires = 2026-11-19
"""


@lru_cache(maxsize=256)
def registry(text: str = REGISTRY) -> Registry:
    """Return a registry, by default that of the tests. It is immutable, and read once."""
    return Registry.parse(text)


def many(metrics: int) -> Registry:
    """Return the registry of `many_text`."""
    return registry(many_text(metrics))


def many_text(metrics: int) -> str:
    """Return a registry of booleans ``m0``, ``m1``, ... whose budget always allows all of them."""
    head = 'schema = 1\n[app]\nname = "acme"\n[budget]\nper_window = 1e6\nlifetime = 1e9\n'
    metric = '[metric.m{}]\npurpose = "Is it used?"\nkind = "boolean"\nepsilon = "ln 3"\n'
    return head + "".join(metric.format(number) for number in range(metrics))


def ask(metrics: str, budget: str = "") -> Registry:
    """Return a registry of metrics, by default at epsilon 1, whose ceilings are never reached.

    Args:
        metrics: tables, without the keys that all share: the purpose, and epsilon.
        budget: more lines of [budget]; each replaces the default line for its key.

    """
    lines = {"per_window": "1e6", "lifetime": "1e9"} | dict(
        line.split(" = ", 1) for line in budget.splitlines() if line
    )
    head = ['schema = 1\n[app]\nname = "acme"\n[budget]', *(f"{key} = {value}" for key, value in lines.items()), ""]
    tables = []
    for table in metrics.split("[metric.")[1:]:
        epsilon = "" if "\nepsilon = " in table else "\nepsilon = 1"
        tables.append(f'[metric.{table.rstrip()}\npurpose = "Is it used?"{epsilon}\n')
    return registry("\n".join(head) + "".join(tables))


FILLED = ask(
    '[metric.m]\nkind = "boolean"\nfill_in = true\n'
    '[metric.n]\nkind = "category"\nvalues = ["a", "b", "c"]\nfill_in = true\n'
)
"""Two questions that are reported in every window, whether they are answered or not."""


class SetClock:
    """A clock that a test sets."""

    def __init__(self, now_s: float = NOON) -> None:
        self.now_s = now_s

    def wait(self, wait_s: float) -> None:
        self.now_s += wait_s

    def __call__(self) -> float:
        return self.now_s


Answer = Callable[[Upload], Reply | Failure | None]


def accept(upload: Upload) -> Reply:
    """Answer as a collector that counts everything."""
    return Reply(200, None, Verdict(len(upload.reports)).encode())


def refuse(code: Refusal) -> Answer:
    """Answer as a collector that refuses every report for one reason."""

    def answer(upload: Upload) -> Reply:
        refused = tuple((index, code) for index in range(len(upload.reports)))
        return Reply(200, None, Verdict(len(upload.reports), refused).encode())

    return answer


def status(code: int, retry_after: str | None = None) -> Answer:
    """Answer with a status and a body that is not a verdict."""
    return lambda _: Reply(code, retry_after, b"<html>")


def problem(code: int) -> Answer:
    """Answer as a collector that rejects exactly this body."""
    document = {"type": "about:blank", "title": "Bad", "status": code, "code": "invalid_json", "detail": "It is bad."}
    return lambda _: Reply(code, None, json.dumps(document).encode())


def nothing(_: Upload) -> None:
    """Answer as a network that is down."""


class ScriptedTransport:
    """Answers uploads according to a script, whose last entry repeats after its end."""

    def __init__(self, *answers: Answer) -> None:
        self.bodies: list[bytes] = []
        self._answers = list(answers or (accept,))

    @property
    def uploads(self) -> list[Upload]:
        """Every attempt, in order."""
        return [read_upload(body) for body in self.bodies]

    @property
    def reports(self) -> list[Report]:
        """The reports of every attempt, in order."""
        return [report for upload in self.uploads for report in upload.reports]

    def answer(self, *answers: Answer) -> None:
        """Continue with another script."""
        self._answers = list(answers)

    def post(self, body: bytes) -> Reply | Failure | None:
        """Note the body and answer."""
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        reply = answer(read_upload(body))
        self.bodies.append(body)
        return reply


def telemetry(data_dir: Path | None, **changes: Any) -> Telemetry:
    """Return a device at noon, by default with a transport that accepts everything."""
    options: dict[str, Any] = {
        "collector": COLLECTOR,
        "consent": True,
        "clock": SetClock(),
        "transport": ScriptedTransport(),
    }
    chosen = changes.pop("registry", None) or registry()
    return Telemetry(chosen, data_dir=data_dir, **(options | changes))


def record_in(data_dir: Path | None, *metrics: str, **changes: Any) -> None:
    """Let a program record metrics and end."""
    with telemetry(data_dir, **changes) as device:
        for metric in metrics:
            assert device.record(metric, value=True) is Recorded.QUEUED


def report_from(data_dir: Path | None, *metrics: str, **changes: Any) -> Flushed:
    """Let a program record metrics, flush and end; return what became of the flush."""
    with telemetry(data_dir, **changes) as device:
        for metric in metrics:
            assert device.record(metric, value=True) is Recorded.QUEUED
        return device.flush(timeout_s=60)


def patient(device: Telemetry, metric: str) -> Recorded:
    """Record, and repeat while the disk is slow."""
    results: list[Recorded] = []

    def recorded() -> bool:
        results.append(device.record(metric, value=True))
        return results[-1] not in (Recorded.BUSY, Recorded.WAITING)

    wait_until(recorded, what="the ledger")
    return results[-1]


def rows(data_dir: Path, query: str) -> list[tuple[Any, ...]]:
    """Query a ledger's file, as another process would."""
    with contextlib.closing(sqlite3.connect(data_dir / FILE_NAME)) as connection:
        return connection.execute(query).fetchall()


def change(data_dir: Path, statement: str) -> None:
    """Change a ledger's file, as another process would."""
    with contextlib.closing(sqlite3.connect(data_dir / FILE_NAME)) as connection, connection:
        connection.execute(statement)


def all_bytes(data_dir: Path) -> bytes:
    """Return the content of every file of a data directory."""
    return b"".join(path.read_bytes() for path in sorted(data_dir.iterdir()))


def in_child(work: Callable[[], object]) -> str:
    """Do work in a forked child that ends at once; return its result or error as text."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = str(work())
        except BaseException:  # noqa: BLE001 the child must end here, whatever it met
            text = traceback.format_exc()
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


def run_without_room(main: Callable[[], object], *, buffered: bool) -> str:
    """Run a command in a forked child whose stdout has no room; return exit status and stderr.

    At the end, stdout is flushed as by an interpreter that exits.
    """

    def work() -> str:
        sys.stderr = said = io.StringIO()
        full = io.FileIO("/dev/full", "w")
        sys.stdout = (
            io.TextIOWrapper(io.BufferedWriter(full)) if buffered else io.TextIOWrapper(full, write_through=True)
        )
        status: object = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code
        sys.stdout.flush()
        return f"{status}\n{said.getvalue()}"

    return in_child(work)


class Obstacle:
    """Work that hangs until it is released."""

    def __init__(self, work: Callable[[sqlite3.Connection], object] = lambda _: None) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()
        self._work = work

    def __call__(self, connection: sqlite3.Connection) -> None:
        self.begun.set()
        assert self.release.wait(60)
        self._work(connection)


@contextlib.contextmanager
def busy_ledger(device: Telemetry) -> Iterator[None]:
    """Make the device's ledger thread hang in a job that another thread waits for."""
    obstacle = Obstacle()
    ledger_thread = device._processes.current.ledger_thread
    thread = threading.Thread(target=ledger_thread.run, args=[obstacle, 60.0], kwargs={"begin": READ})
    thread.start()
    assert obstacle.begun.wait(60)
    try:
        yield
    finally:
        obstacle.release.set()
        thread.join()


_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
connection.close()
"""


@contextlib.contextmanager
def write_lock_held(data_dir: Path, *, stopped: bool = False) -> Iterator[None]:
    """Make another process hold the ledger's write lock, and optionally stop it."""
    command = [sys.executable, "-c", _HOLD, str(data_dir / FILE_NAME)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        if stopped:
            holder.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            if stopped:
                holder.send_signal(signal.SIGCONT)
            holder.communicate(timeout=60)


def run_python(code: str, *arguments: Sequence[str] | str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
