"""The archive of a running collection: a folder for each closed window, written once.

```
DIR/index.html  index.json      the index of all windows, newest first
DIR/2026-11-20/report.json …    one window, in every form
DIR/.lock                       held while a run is at work
DIR/.part-…                     what a run is writing; if interrupted, the next run removes it
```

A folder appears whole, because it is renamed into place, and is never written to again: a closed
window does not change.
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

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window
from estimator.errors import BusyError, OutputError
from estimator.output_files import is_not_ours, write_through

OF_A_COLLECTOR: Final = ("appendonlydir", "store.log", "store.address", "store.mark")
"""The files in the data directory of a collector's embedded store. A job must not write to such a
directory.
"""

INDEX: Final = "index.json"
PAGE: Final = "index.html"
LOCK: Final = ".lock"
PART: Final = ".part-"
REPORT: Final = "report.json"
"""Every finished window has this file. A folder without it belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder of all windows.

    Attributes:
        folder: its path. It may not exist yet.

    """

    folder: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out, and remove what an interrupted run left.

        Raises:
            BusyError: if another run is at work.
            OutputError: if the folder cannot be created or written to, or is a collector's.

        """
        try:
            if any((self.folder / name).exists() for name in OF_A_COLLECTOR):
                raise OutputError(
                    f"{self.folder} is a collector's data directory; name a folder of its own for reports"
                )
            self._require_no_other_index()
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / LOCK).open("ab") as lock:
                _lock(lock.fileno(), self.folder)
                for left in self.folder.glob(f"{PART}*"):
                    shutil.rmtree(left)
                yield
        except OSError as error:
            raise OutputError(
                f"{self.folder} cannot be used: {error.strerror}; name a folder that may be written to"
            ) from error

    def _require_no_other_index(self) -> None:
        """Refuse a folder that no run has used and whose index belongs to others, such as a site's.

        In an archive a damaged index is written again.
        """
        foreign = next(filter(is_not_ours, (self.folder / name for name in (INDEX, PAGE))), None)
        if foreign is not None and not (self.folder / LOCK).exists():
            raise OutputError(
                f"{foreign} was not written by a report, and is left as it is; name a folder of its own for reports"
            )

    def windows(self) -> list[Window]:
        """Return the windows in the archive, the newest first. Other folders are ignored."""
        windows = [window for path in self.folder.iterdir() if (window := _window_of(path)) is not None]
        return sorted(windows, key=lambda window: (window.ends_at, window.starts_at), reverse=True)

    def has(self, window: Window) -> bool:
        """Return whether a window has been written."""
        return _window_of(self.folder / window.text) is not None

    def path(self, window: Window) -> Path:
        """Return the folder of a window."""
        return self.folder / window.text

    def write(self, window: Window, files: Mapping[str, bytes]) -> None:
        """Write a window that is not there yet. All of its files appear at once, or none of them.

        Args:
            window: which one.
            files: the content of each file by its name.

        Raises:
            OutputError: if it cannot be written, or the folder is there already.

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
    """Take the lock. The system releases it when this process ends, however it ends."""
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
