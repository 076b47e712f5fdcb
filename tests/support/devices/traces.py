"""Every visible trace of a device: it lives in its own world, which is inspected after each step.

Everything that could differ between two lives for a reason other than their answers is injected,
and therefore the same: the path, random bytes (of each thread), both clocks, where the ledger's
file was born, and SQLite's own generator, which salts the write-ahead log. The traces are compared
as they are, except for the numbers that `logging` puts into every record itself, the times of
files, and the files that Python reads during imports. A file's time must lie within the step that
changed it, and anything that sets it is noticed (`EVENTS`).
"""

from __future__ import annotations

import _sqlite3
import contextlib
import ctypes
import hashlib
import io
import json
import logging
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import pytest

from client_sdk import Telemetry, gathering
from client_sdk.answers import provider
from client_sdk.ledger import losses, origin
from client_sdk.ledger.file import FILE_NAME
from client_sdk.sending import uploader
from tests.support.devices.declared import DECLARED

Seen = dict[str, object]
"""The visible traces after a step, by place."""

EVENTS = ("os.", "shutil.", "tempfile.", "sqlite3.", "subprocess.", "socket.", "fcntl.", "mmap.", "syslog.")
"""The audit events of a process that changes something outside of itself; see the table of audit
events in Python's library reference."""

READING = {"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.listxattr", "os.getxattr"}
"""The events among these that change nothing."""

BY_LOGGING = {"created", "msecs", "relativeCreated", "thread", "process"}
"""The fields that `logging` writes into every record and that cannot be replaced."""

UNSET_S = 1e9
"""The monotonic clock of a world that begins."""

PATIENCE_S = 60.0

_PRNG_SEED = 28
"""SQLITE_TESTCTRL_PRNG_SEED of sqlite3_test_control()."""

_listening: list[Callable[[str, tuple[Any, ...]], None]] = []
_hooked = threading.Event()


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    for listen in tuple(_listening):
        listen(event, arguments)


class World:
    """The folder, the clocks and the noise around one device.

    Attributes:
        folder: everything that the device may write; ``app`` in it is its ``data_dir``.
        now_s: Unix seconds of the device's clock.
        started: the helper processes that it started: what each was given.
        is_declared: whether the lives differ in declared exceptions on the disk.
        outside: the paths outside of the folder that were opened to be written.

    """

    def __init__(self, folder: Path, now_s: float, *, is_declared: bool = False) -> None:
        self.folder = folder
        self.now_s = now_s
        self.is_declared = is_declared
        self.outside: list[str] = []
        self.started: list[dict[str, Any]] = []
        self._scratch = folder.with_name(f"{folder.name}-scratch")
        self._monotonic_s = UNSET_S
        self._drawn: defaultdict[str, int] = defaultdict(int)
        self._events: defaultdict[str, list[object]] = defaultdict(list)
        self._logged: list[object] = []
        self._warned: list[warnings.WarningMessage] = []
        self._printed = self._scratch.with_suffix(".printed")
        self._looked_ns = time.time_ns()
        self._times: dict[str, tuple[int, int]] = {}

    @contextlib.contextmanager
    def lived_in(self) -> Iterator[None]:
        """Begin empty; put everything back at the end."""
        for folder in (self.folder, self._scratch):
            shutil.rmtree(folder, ignore_errors=True)
        for name in ("tmp", "home", "here"):
            (self.folder / name).mkdir(parents=True)
        self._scratch.mkdir()
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as self._warned:
            warnings.simplefilter("always")
            self._inject(patch)
            if not _hooked.is_set():
                _hooked.set()
                sys.addaudithook(_audit)
            with self._printing(), self._receiving():
                yield
        for folder in (self.folder, self._scratch):
            shutil.rmtree(folder)
        self._printed.unlink()

    def clock(self) -> float:
        """Return the device's Unix seconds."""
        return self.now_s

    def monotonic(self) -> float:
        """Return the seconds of the clock that only goes forward."""
        return self._monotonic_s

    def advance(self, by_s: float) -> None:
        """Let time pass, or set the device's clock back."""
        self.now_s += by_s
        self._monotonic_s += max(by_s, 0.0)

    def see(self, device: Telemetry | None) -> Seen:
        """Wait until a device has finished its work; return what is then visible."""
        if device is not None:
            come_to_rest(device)
        else:
            _wait_until(lambda: all(thread.name != "hearsay-provider" for thread in threading.enumerate()))
        with self._deaf():
            seen: Seen = {f"file {name}": entry for name, entry in self._files()}
            self._looked_ns = time.time_ns()
        threads = sorted(thread.name for thread in threading.enumerate())
        seen |= {f"events of {name}": list(events) for name, events in self._events.items()}
        seen |= {
            "log": list(self._logged),
            "warnings": [(str(each.message), each.category, each.filename, each.lineno) for each in self._warned],
            "printed": self._printed.read_bytes(),
            "environment": dict(os.environ),
            "folder": str(Path.cwd()),
            "arguments": list(sys.argv),
            "umask": _umask(),
            "helpers": list(self.started),
            "threads": threads,
            "last error": [repr(getattr(sys, name, None)) for name in ("last_type", "last_value", "last_exc")],
            "problem": None if device is None else device.problem,
            "drawn": dict(self._drawn),
        }
        for noted in (self._events, self._logged, self._warned):
            noted.clear()
        return seen

    def _inject(self, patch: pytest.MonkeyPatch) -> None:
        """Inject everything that the world decides into the device."""
        for module, name in _users_of_urandom(tuple(map(id, sys.modules.values()))):
            patch.setattr(module, name, self._urandom)
        clocks = SimpleNamespace(monotonic=self.monotonic)
        for module in (uploader, losses, provider, gathering):
            patch.setattr(module, "time", clocks)
        born = origin.Origin("1", "2", "3")
        patch.setattr(origin, "origin_of", lambda _: born)
        patch.setattr(subprocess, "Popen", self._popen)
        for name, folder in (("TMPDIR", "tmp"), ("HOME", "home"), ("XDG_RUNTIME_DIR", "tmp")):
            patch.setenv(name, str(self.folder / folder))
        patch.setattr(tempfile, "tempdir", str(self.folder / "tmp"))
        patch.setattr(tempfile, "_name_sequence", None)
        patch.setattr(tempfile, "_get_candidate_names", lambda: iter(lambda: self._urandom(8).hex(), None))
        patch.chdir(self.folder / "here")
        patch.setattr(sys, "argv", list(sys.argv))
        patch.setattr(logging.Logger, "isEnabledFor", lambda *_: True)
        patch.setattr(logging.Logger, "handle", lambda _, record: self._handle(record))
        start = threading.Thread.start

        def noted(thread: threading.Thread) -> None:
            self._note("a thread starts", (thread.name,))
            start(thread)

        patch.setattr(threading.Thread, "start", noted)
        random.seed(1)
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_test_control(_PRNG_SEED, ctypes.c_int(1), ctypes.c_void_p(None))
        library.sqlite3_randomness(0, None)

    def _urandom(self, size: int) -> bytes:
        thread = threading.current_thread().name
        self._drawn[thread] += 1
        return hashlib.shake_256(f"{thread} {self._drawn[thread]}".encode()).digest(size)

    def _popen(self, command: object, **options: Any) -> Helper:
        return Helper(self.started, command, options)

    def _handle(self, record: logging.LogRecord) -> None:
        noted = {name: _plain(value) for name, value in vars(record).items() if name not in BY_LOGGING}
        trace = record.exc_info[1] if record.exc_info else None
        self._logged.append(noted | {"message": record.getMessage(), "error": repr(trace)})

    @contextlib.contextmanager
    def _printing(self) -> Iterator[None]:
        """Redirect everything that any process prints to one file."""
        sys.stdout.flush()
        sys.stderr.flush()
        before = os.dup(1), os.dup(2)
        with self._printed.open("wb", buffering=0) as printed, io.TextIOWrapper(printed, write_through=True) as text:
            for descriptor in (1, 2):
                os.dup2(printed.fileno(), descriptor)
            try:
                with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                    yield
            finally:
                for descriptor, saved in zip((1, 2), before, strict=True):
                    os.dup2(saved, descriptor)
                    os.close(saved)

    @contextlib.contextmanager
    def _receiving(self) -> Iterator[None]:
        _listening.append(self._receive)
        try:
            yield
        finally:
            _listening.remove(self._receive)

    @contextlib.contextmanager
    def _deaf(self) -> Iterator[None]:
        _listening.remove(self._receive)
        try:
            yield
        finally:
            _listening.append(self._receive)

    def _receive(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return
            self._note(event, (path, mode, flags))
            if isinstance(path, str | bytes) and not Path(os.fsdecode(path)).is_relative_to(self.folder):
                self.outside.append(os.fsdecode(path))
        elif event.startswith(EVENTS) and event not in READING:
            self._note(event, arguments)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        thread = threading._active.get(threading.get_ident())  # type: ignore[attr-defined] # makes no thread known
        self._events["" if thread is None else thread.name].append((event, _plain(arguments)))

    def _files(self) -> Iterator[tuple[str, object]]:
        """Yield every file and folder, and check that its times were not set."""
        ends_ns = time.time_ns()
        times = {}
        for path in sorted(self.folder.rglob("*")):
            name, status = str(path.relative_to(self.folder)), path.lstat()
            times[name] = status.st_mtime_ns, status.st_ctime_ns
            content: object = None
            if path.is_symlink():
                content = str(path.readlink())
            elif path.is_file():
                content = self._content(path)
            attributes = {
                key: os.getxattr(path, key, follow_symlinks=False) for key in os.listxattr(path, follow_symlinks=False)
            }
            yield name, (status.st_mode, status.st_nlink, status.st_uid, status.st_gid, attributes, content)
            is_within = self._looked_ns - CLOCK_TICK_NS <= status.st_mtime_ns <= ends_ns + CLOCK_TICK_NS
            yield f"{name}, its time", is_within or times[name] == self._times.get(name)
        self._times = times

    def _content(self, path: Path) -> bytes | None:
        if path.name == f"{FILE_NAME}-shm" and not self.is_declared:
            index = path.read_bytes()
            return index[: _MARKS.start] + index[_MARKS.stop :]
        if not self.is_declared or not path.name.startswith(FILE_NAME):
            return path.read_bytes()
        if path.name != FILE_NAME:
            return None if path.name.endswith(("-wal", "-shm")) else path.read_bytes()
        return undeclared(path, self._scratch)


_MARKS = slice(96, 136)
"""The part of a write-ahead log's index that says where readers began and how far pages were
copied. It depends on which thread came first, and contains nothing that is written (SQLite,
"WAL-mode File Format", section 2.1).
"""

CLOCK_TICK_NS = 10_000_000
"""The maximum lag of a file's time behind the clock: a tick of the kernel's."""


class Helper:
    """Stands in for a process: notes what it is given, and does nothing."""

    def __init__(self, started: list[dict[str, Any]], command: object, options: dict[str, Any]) -> None:
        self._given = b""
        environment = options.pop("env", None) or dict(os.environ)
        options["pass_fds"] = len(options.get("pass_fds", ()))  # which number is free is the system's choice
        self._noted = {"command": command, "options": _plain(options), "environment": environment}
        started.append(self._noted)
        self.stdin = self
        self.returncode: int | None = None
        self.pid = os.getpid()

    def __enter__(self) -> Self:
        return self

    def write(self, given: bytes) -> None:
        """Do a part of the job."""
        self._given += given

    def __exit__(self, *_: object) -> None:
        job = json.loads(self._given)
        del job["arguments"]["held"]
        self._noted["input"], self._noted["job"] = json.dumps(job), job["arguments"]


def undeclared(path: Path, scratch: Path) -> bytes:
    """Return a ledger's file without its declared exceptions and free pages."""
    copy, rewritten = scratch / FILE_NAME, scratch / "rewritten"
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + suffix))
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for each in DECLARED:
            connection.execute(each.blanked)
        connection.execute("VACUUM INTO ?", (str(rewritten),))
    content = rewritten.read_bytes()
    for left in scratch.iterdir():
        left.unlink()
    return content


@cache
def _users_of_urandom(_: tuple[int, ...]) -> list[tuple[ModuleType, str]]:
    """Return the modules that name `os.urandom`, and how; they are searched again after an import.

    The argument has the identity of each imported module.
    """
    return [
        (module, name)
        for module in tuple(sys.modules.values())
        for name, value in tuple(getattr(module, "__dict__", {}).items())
        if value is os.urandom
    ]


class _Rest:
    """A job for a ledger thread that does nothing and ends at once."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.result = self

    def cancelled(self) -> bool:
        self.reached.set()
        return True


def come_to_rest(device: Telemetry, *, is_provider_asleep: bool = False) -> None:
    """Wait until no thread of a device has work by its clocks, which a thread may not know."""
    process = device._processes.current
    sender, ledger = process.uploader, process.ledger_thread

    def rests() -> bool:
        now_s = uploader.time.monotonic()  # type: ignore[attr-defined] # its module's
        if process.provider is not None and not is_provider_asleep:
            with process.provider._changed:
                looks = [each.next_s for each in process.provider._provided.values()]
                if not process.provider._has_ended and not (_waits(process.provider._changed) and min(looks) > now_s):
                    return False
        with sender._changed:
            if sender._thread is None or sender._has_ended:
                return True
            return _waits(sender._changed) and sender._departures.next_look_s > now_s

    _wait_until(rests)
    if ledger._thread is not None and ledger._thread.is_alive() and not ledger._is_stopped:
        rest = _Rest()
        ledger._jobs.put(rest)  # type: ignore[arg-type] # what the thread looks at, it has
        assert rest.reached.wait(PATIENCE_S)
    _wait_until(rests)


def _waits(condition: threading.Condition) -> bool:
    """Whether a thread waits for a condition."""
    return bool(condition._waiters)  # type: ignore[attr-defined] # they have no public name


def _wait_until(condition: Callable[[], bool]) -> None:
    """Poll often: a device rests within a millisecond or two, and lives have many steps."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "a thread of the device never rests"
        time.sleep(0.0005)


def wake(device: Telemetry) -> None:
    """Let a device see that time has passed."""
    sender = device._processes.current.uploader
    with sender._changed:
        sender._changed.notify_all()


def wake_provider(device: Telemetry) -> bool:
    """Let a provider see that time has passed; return whether a call is under way."""
    wake(device)
    come_to_rest(device, is_provider_asleep=True)  # two threads that wake at once write in any order
    provider = device._processes.current.provider
    if provider is None:
        return False
    with provider._changed:
        provider._changed.notify_all()
    come_to_rest(device)
    with provider._changed:
        return any(each.call is not None for each in provider._provided.values())


def settle_calls(gate: threading.Event) -> None:
    """Wait until every function that was called has returned, or waits for the gate."""

    def are_settled() -> bool:
        running = sum(thread.name == "hearsay-provided" for thread in threading.enumerate())
        return running <= len(gate._cond._waiters)  # type: ignore[attr-defined] # they have no public name

    _wait_until(are_settled)


def difference(seen: Seen, other: Seen, unlike: AbstractSet[str]) -> str | None:
    """Return where two lives differ after a step, except where they may; None if nowhere."""
    for where in sorted((seen.keys() | other.keys()) - unlike):
        if seen.get(where) != other.get(where):
            return f"{seen.get('step')}: {where}: {_beginning(seen.get(where), other.get(where))}"
    return None


def _beginning(first: object, second: object) -> str:
    """Return the surroundings of the first difference of two representations."""
    texts = repr(first), repr(second)
    at = next((index for index, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), 0)
    return " | ".join(text[max(0, at - 60) : at + 60] for text in texts)


def _plain(value: Any) -> object:
    """Return a value in a comparable form; for other objects, their type."""
    if isinstance(value, dict):
        return {_plain(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, str | bytes | int | float | None):
        return value
    return str(value) if isinstance(value, os.PathLike) else type(value).__qualname__


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
