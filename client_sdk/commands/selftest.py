"""Checks that this system and disk behave as the SDK requires (``hearsay-client selftest``).

Every check uses the SDK's own code in a temporary folder. Nothing is sent. The self-test cannot
check that a commit survives a power cut.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import platform
import shutil
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

from client_sdk.answers.reporting import report
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.commands import Outcome
from client_sdk.host import detached, files, forks
from client_sdk.host.clock import check_sane
from client_sdk.ledger import charges, origin
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.thread import WRITE, LedgerThread
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.results import ClockError, LedgerBusyError, LedgerError, Recorded

APP: Final = "hearsay-selftest"

PATIENCE_S: Final = 10.0
"""How long, in seconds, a check waits for a process or a disk."""

AFFORDABLE: Final = 200
"""The number of metrics that the test registry's budget can pay for."""

EACH: Final = 60
"""The number of reports that a process would write if it were not killed."""

KILLED_AFTER: Final = (5, 20, 40)
"""For each process that is killed, the number of acknowledged reports after which it is killed,
while it writes the next report."""

LOOKS: Final = 100_000
"""The number of readings of the clock, which together take a few hundredths of a second."""

SET_S: Final = 1.0
"""The largest accepted drift, in seconds, between the wall clock and the monotonic clock during the
check. Imprecise clocks and a busy processor cause smaller differences."""

DESCRIPTORS: Final = 256
"""The number of file descriptors that a child process examines to find an inherited ledger. A
self-test opens only a dozen."""

INSTANT_S: Final = 1_782_907_200.0
"""The Unix time of all reports, 2026-07-01 at noon (UTC). All reports belong to one window."""

FIRST_YEAR: Final = 2026
"""The earliest year that a correct clock can show: the year in which this check was written."""

MOUNTS: Final = Path("/proc/mounts")


class Clocks(NamedTuple):
    """A system's clocks, in seconds: the wall clock and the monotonic clock."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


class _BrokenError(Exception):
    """The system, or the SDK on this system, does not work correctly. The message says why."""


class _AbsentError(Exception):
    """The system lacks the feature that a check tests."""


def selftest(data_dir: Path | None, clocks: Clocks = Clocks()) -> Outcome:  # noqa: B008 the default is a constant
    """Run all checks; return a line for each, and a last line to paste into a bug report."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="hearsay-selftest-", dir=data_dir, ignore_cleanup_errors=True)
    except OSError as error:
        return Outcome(problems=(f"{data_dir} cannot be used: {error.strerror}; name a writable folder",))
    lines, failed, passed = [], [], 0
    with folder as name:
        for check, work in CHECKS.items():
            place = Path(name).absolute() / check
            place.mkdir()
            try:
                lines.append(f"ok       {check}: {work(place / ledger_file.FILE_NAME, clocks)}")
                passed += 1
            except _AbsentError as error:
                lines.append(f"absent   {check}: {error}")
            except Exception as error:  # noqa: BLE001 a check may find any error
                sentence = str(error) if isinstance(error, _BrokenError) else f"{type(error).__name__}: {error}"
                lines.append(f"FAILED   {check}: {sentence}")
                failed.append(check)
        lines.append(f"{_about(Path(name))}: {passed} of {passed + len(failed)} checks passed{_named(failed)}")
    return Outcome("\n".join(lines) + "\n", (f"failed: {', '.join(failed)}",) if failed else ())


def _named(failed: list[str]) -> str:
    return f", failed: {', '.join(failed)}" if failed else ""


def _about(folder: Path) -> str:
    try:
        number = version("hearsay-ldp-client")
    except PackageNotFoundError:  # the SDK was copied into an app
        number = "without a version"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"Hearsay SDK {number}, {python}, {platform.platform()}, SQLite {sqlite3.sqlite_version}, {_disk(folder)}"


def _disk(folder: Path) -> str:
    """Return the type of a folder's file system, if known."""
    try:
        mounts = [line.split()[1:3] for line in MOUNTS.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return "unknown file system"
    holding = [(len(Path(point).parts), kind) for point, kind in mounts if folder.resolve().is_relative_to(point)]
    return max(holding, default=(0, "unknown file system"))[1]


def _check_clock(_: Path, clocks: Clocks) -> str:
    begin_s, started_s = clocks.now(), clocks.monotonic()
    latest_s = begin_s
    for _look in range(LOOKS):
        now_s = clocks.now()
        if now_s < latest_s:
            raise _BrokenError(f"the clock went back by {latest_s - now_s:.6g} s")
        latest_s = now_s
    passed_s = clocks.monotonic() - started_s
    if abs(latest_s - begin_s - passed_s) > SET_S:
        raise _BrokenError(f"the clock jumped by {latest_s - begin_s - passed_s:+.6g} s during the check")
    try:
        check_sane(latest_s)
    except ClockError as error:
        raise _BrokenError(str(error)) from None
    day = datetime.fromtimestamp(latest_s, UTC).date()
    if day.year < FIRST_YEAR:
        raise _BrokenError(f"the clock shows {day}; set it")
    return f"the clock shows {day} (UTC), and does not go back"


def _check_ledger(path: Path, _: Clocks) -> str:
    """Charge metrics up to the budget's ceiling, and check that the charges were stored."""
    with _opened(path) as ledger:
        _expect(Recorded.QUEUED, *(_record(ledger, number) for number in range(AFFORDABLE)))
        _expect(Recorded.ALREADY_RECORDED, _record(ledger, 0))
        _expect(Recorded.OUT_OF_BUDGET, _record(ledger, AFFORDABLE))
    with _opened(path) as ledger:
        _expect(Recorded.ALREADY_RECORDED, *(_record(ledger, number) for number in (0, AFFORDABLE - 1)))
        _expect(Recorded.OUT_OF_BUDGET, _record(ledger, AFFORDABLE))
        mode = ledger.run(lambda connection: connection.execute("PRAGMA journal_mode").fetchone()[0], PATIENCE_S)
    _sound(path, set(range(AFFORDABLE)))
    if mode != "wal":
        raise _BrokenError(f"SQLite cannot use a write-ahead log here; it uses {mode}")
    return f"{AFFORDABLE} charges were stored, and none above the ceiling was accepted"


def _check_locks(path: Path, _: Clocks) -> str:
    """Write while another process writes: the second process must wait, and no data may be lost."""
    with _opened(path) as ledger:
        _expect(Recorded.QUEUED, _record(ledger, 0))
        with _process("spawn", hold, path) as child:
            child.receive()
            with contextlib.suppress(LedgerBusyError):
                _record(ledger, 1)
                raise _BrokenError("two processes wrote to one ledger at the same time")
            ledger.run(charges.lifetime_nanos, PATIENCE_S, begin="")  # readers do not wait
            with detached.alone(_lock_of(path)) as held:
                if held is not None:
                    raise _BrokenError("two processes locked the same file")
            child.told.send("let go")
            child.receive()
        with detached.alone(_lock_of(path)) as held:
            if held is None:
                raise _BrokenError("a file stays locked after a process has unlocked it")
        _expect(Recorded.QUEUED, _record(ledger, 1))
    _sound(path, {0, 1})
    return "a second process waits for the ledger and for a file lock"


def _check_start(method: str, path: Path, _: Clocks) -> str:
    """Check that a process and its child process can record in the same ledger."""
    if method not in multiprocessing.get_all_start_methods():
        raise _AbsentError("not available on this system")
    with _opened(path) as ledger:
        _expect(Recorded.QUEUED, _record(ledger, 0))
        with _process(method, write, path, range(1, 3)) as child:
            received = [child.receive(), child.receive()]
        _expect(Recorded.ALREADY_RECORDED, *(_record(ledger, number) for number in received))
        _expect(Recorded.QUEUED, _record(ledger, 3))
    _sound(path, {0, 1, 2, 3})
    return "parent and child processes share one ledger"


def _check_kill(path: Path, _: Clocks) -> str:
    """Kill processes while they write, and check that no acknowledged report is lost."""
    acknowledged: set[int] = set()
    for round_, killed_after in enumerate(KILLED_AFTER):
        numbers = range(round_ * EACH, (round_ + 1) * EACH)
        with _process("spawn", write, path, numbers) as child:
            received = [child.receive() for _ack in range(killed_after)]
            child.kill()
            acknowledged |= {*received, *child.rest()}
        _sound(path, acknowledged)
    with _opened(path) as ledger:
        _expect(Recorded.ALREADY_RECORDED, *(_record(ledger, number) for number in sorted(acknowledged)))
    return f"{len(KILLED_AFTER)} processes were killed, and none of {len(acknowledged)} acknowledged reports were lost"


def _check_machine(path: Path, _: Clocks) -> str:
    """Check that a copied ledger and a ledger from another machine are refused."""
    with _opened(path) as ledger:
        _expect(Recorded.QUEUED, _record(ledger, 0))
    copy = path.with_name("copy.sqlite3")
    shutil.copy2(path, copy)
    has_numbers = _origin(path) is not None
    if has_numbers and not _is_refused(copy):
        raise _BrokenError("a copied ledger was not detected")
    here, elsewhere = origin.machine_id(APP), origin.machine_id(f"{APP} elsewhere")
    if here is None:
        return "this machine has no id; a copied ledger is detected only by the inode and creation time of its file"
    with contextlib.closing(ledger_file.open_file(path, None, create=False)) as connection:
        connection.execute("UPDATE device SET host = ?", (elsewhere,))
    if not _is_refused(path):
        raise _BrokenError("a ledger from another machine was not detected")
    with contextlib.closing(ledger_file.open_file(path, None, create=False)) as connection:
        connection.execute("UPDATE device SET host = ?", (here,))
    with _opened(path) as ledger:
        _expect(Recorded.ALREADY_RECORDED, _record(ledger, 0))
    return (
        "a copied ledger and a ledger from another machine are detected"
        if has_numbers
        else "a ledger from another machine is detected, but a copied ledger is not"
    )


CHECKS: Final[dict[str, Callable[[Path, Clocks], str]]] = {
    "clock": _check_clock,
    "ledger": _check_ledger,
    "locks": _check_locks,
    "spawn": partial(_check_start, "spawn"),
    "fork": partial(_check_start, "fork"),
    "kill": _check_kill,
    "machine id": _check_machine,
}
"""The checks, in running order. Each check gets the path of a ledger that does not exist yet."""


@cache
def _registry() -> Registry:
    metrics = (
        f'[metric.m{number}]\npurpose = "p"\nkind = "boolean"\nepsilon = 1\n' for number in range(AFFORDABLE + 1)
    )
    ceilings = f"per_window = {AFFORDABLE}\nlifetime = {AFFORDABLE}\n"
    return Registry.parse(f'schema = 1\n[app]\nname = "{APP}"\n[budget]\n{ceilings}' + "".join(metrics))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[LedgerThread]:
    open_ledger = partial(ledger_file.open_own, path, APP, forks.this_process(), lambda: True)
    thread = LedgerThread(path, open_ledger)
    try:
        yield thread
    finally:
        thread.close(PATIENCE_S)


def _record(ledger: LedgerThread, number: int) -> Recorded:
    """Charge and queue the report of metric ``number``, like `Telemetry.record`."""
    definition = _registry().metric(f"m{number}")

    def work(connection: sqlite3.Connection) -> Recorded:
        window = Window.at(definition.window, INSTANT_S)
        return report(connection, _registry(), SystemCoins(), definition, 0, window=window, instant_s=INSTANT_S)

    return ledger.run(work, PATIENCE_S)


def _expect(result: Recorded, *results: Recorded) -> None:
    for each in results:
        if each is not result:
            raise _BrokenError(f"a report was {each} instead of {result}")


def _sound(path: Path, acknowledged: set[int]) -> None:
    """Check that a ledger is undamaged.

    The ledger must contain one report per charge, and every acknowledged report.
    """
    with contextlib.closing(ledger_file.open_file(path, APP, create=False)) as connection:
        damage = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        charged = {name for (name,) in connection.execute("SELECT metric FROM charges")}
        queued = {name for (name,) in connection.execute("SELECT metric FROM queue")}
    if damage != "ok":
        raise _BrokenError(f"the ledger is damaged: {damage}")
    if charged != queued:
        raise _BrokenError(f"{len(charged ^ queued)} charges and reports do not match")
    if lost := {f"m{number}" for number in acknowledged} - charged:
        raise _BrokenError(f"{len(lost)} acknowledged reports were lost")


def _origin(path: Path) -> str | None:
    """Return the inode number that a ledger contains.

    Returns None if the file system has no permanent inode numbers.
    """
    with contextlib.closing(ledger_file.open_file(path, APP, create=False)) as connection:
        inode: str | None = connection.execute("SELECT inode FROM device").fetchone()[0]
    return inode


def _is_refused(path: Path) -> bool:
    try:
        ledger_file.open_file(path, APP, create=False).close()
    except LedgerError:
        return True
    return False


def _lock_of(path: Path) -> Path:
    return path.with_name("lock")


class _Child:
    """A child process that sends messages to this process."""

    def __init__(self, method: str, work: Callable[..., None], *arguments: object) -> None:
        """Start the process.

        ``method`` is one of the start methods of `multiprocessing`.
        """
        context: Any = multiprocessing.get_context(method)
        self.told, there = context.Pipe()
        self._process = context.Process(target=work, args=(there, *arguments), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # Python warns about forks with threads, but this check needs a fork
            self._process.start()
        there.close()

    def receive(self) -> Any:  # noqa: ANN401 the process may send any object
        with contextlib.suppress(EOFError, OSError):
            if self.told.poll(PATIENCE_S):
                received = self.told.recv()
                if isinstance(received, _BrokenError):
                    raise received
                return received
            raise _BrokenError(f"a child process did not respond for {PATIENCE_S:g} s")
        raise _BrokenError("a child process ended too early")

    def kill(self) -> None:
        """Kill the process if it still runs."""
        self._process.kill()
        self._process.join(PATIENCE_S)

    def rest(self) -> Iterator[Any]:
        """Yield the messages that the process sent before it was killed."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                yield self.told.recv()


@contextlib.contextmanager
def _process(method: str, work: Callable[..., None], *arguments: object) -> Iterator[_Child]:
    child = _Child(method, work, *arguments)
    try:
        yield child
    finally:
        child.kill()
        child.told.close()


def _is_open(path: Path, descriptor: int) -> bool:
    with contextlib.suppress(OSError):
        status = os.fstat(descriptor)
        return (status.st_dev, status.st_ino) == files.identify(path)
    return False


def hold(told: Connection, path: Path) -> None:
    """In a child process, lock a ledger and a file until the parent sends a message."""
    with (
        detached.alone(_lock_of(path)),
        contextlib.closing(ledger_file.open_file(path, APP, create=False)) as connection,
    ):
        connection.execute(WRITE)
        told.send("holds")
        told.recv()
        connection.execute("ROLLBACK")
    told.send("let go")


def write(told: Connection, path: Path, numbers: range) -> None:
    """In a child process, commit reports.

    After each commit, send the report's number to the parent process.
    """
    if any(_is_open(path, descriptor) for descriptor in range(DESCRIPTORS)):
        told.send(_BrokenError("a child process inherited the open ledger, whose locks it would break"))
        return
    with _opened(path) as ledger:
        for number in numbers:
            _expect(Recorded.QUEUED, _record(ledger, number))
            told.send(number)
