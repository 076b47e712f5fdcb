"""A folder a closed window, written once: what a job keeps of a running collection.

```
DIR/index.html  index.json      every window that is there, newest first
DIR/2026-11-20/report.json …    one window, in every form
DIR/.lock                       held while a run is at work
DIR/.part-…                     what a run was writing; the next one takes away what an interrupted one left
```

A folder appears whole, by being renamed, and is never written to again: a closed window does not change.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from client_sdk.protocol import Window, WindowError
from estimator.atomic_file import write_through
from estimator.errors import BusyError, OutputError

OF_A_COLLECTOR: Final = ("appendonlydir", "store.log", "store.address", "store.mark")
"""What lies in the data directory of a collector's embedded store, which a job must not write to."""

LOCK: Final = ".lock"
PART: Final = ".part-"
REPORT: Final = "report.json"
"""Every finished window has it: a folder without it is not one of ours."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder of all windows.

    Attributes:
        folder: which may not exist yet.

    """

    folder: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out, and take away what an interrupted one left.

        Raises:
            BusyError: if another run is at work.
            OutputError: if the folder cannot be made or written to, or is a collector's.

        """
        try:
            if any((self.folder / name).exists() for name in OF_A_COLLECTOR):
                raise OutputError(
                    f"{self.folder} is a collector's data directory; name a folder of its own for reports"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / LOCK).open("wb") as lock:
                _lock(lock.fileno(), self.folder)
                for left in self.folder.glob(f"{PART}*"):
                    shutil.rmtree(left)
                yield
        except OSError as error:
            raise OutputError(
                f"{self.folder} cannot be used: {error.strerror}; name a folder that may be written to"
            ) from error

    def windows(self) -> list[Window]:
        """Return the windows that are there, the newest first; folders that are no window's are left alone."""
        found = [window for path in self.folder.iterdir() if (window := _window_of(path)) is not None]
        return sorted(found, key=lambda one: (one.ends_at, one.starts_at), reverse=True)

    def has(self, window: Window) -> bool:
        """Whether a window has been written."""
        return _window_of(self.folder / window.text) is not None

    def path(self, window: Window) -> Path:
        """Return the folder of a window."""
        return self.folder / window.text

    def write(self, window: Window, files: Mapping[str, bytes]) -> None:
        """Write a window that is not there yet: all of its files appear at once, or none.

        Raises:
            OutputError: if that cannot be done.

        """
        if self.path(window).exists():
            raise OutputError(f"{self.path(window)} is there already, without {REPORT}; move it away")
        part = self.folder / f"{PART}{window.text}-{secrets.token_hex(4)}"
        try:
            part.mkdir()
            for name, content in files.items():
                write_through(part / name, content)
            _sync(part)
            part.rename(self.path(window))
            _sync(self.folder)
        except OSError as error:
            raise OutputError(f"{self.path(window)} cannot be written: {error.strerror}") from error
        finally:
            with suppress(OSError):
                shutil.rmtree(part)


def _window_of(path: Path) -> Window | None:
    if not (path / REPORT).is_file():
        return None
    try:
        return Window.parse(path.name)
    except WindowError:
        return None


def _lock(descriptor: int, folder: Path) -> None:
    """Take the lock, which the system gives back when this process ends, however it ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError(f"another run is writing to {folder}; this one leaves it to that") from None


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
