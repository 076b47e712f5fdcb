"""The file in which a relay keeps the stops that it hands out.

The file names questions, and nothing of any device. Several relays on one machine may share it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collector.atomic_file import whole_file
from collector.errors import ConfigError
from collector.relay.stops import MAX_FILE_BYTES, Stops


class StopsFile:
    """A file that is read and replaced as a whole.

    Attributes:
        path: its path. Beside it lies an empty file whose name ends in ``.lock``.

    """

    def __init__(self, path: Path) -> None:
        """Name the file."""
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other relays from the file while the context is entered.

        Otherwise a relay could undo what another has just written.

        Raises:
            ConfigError: if the lock cannot be made.

        """
        try:
            lock = os.open(f"{self.path.resolve()}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(
                f"{self.path}.lock cannot be made: {error.strerror}; name a file with --state in a folder that this "
                "user can write"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def read(self) -> Stops:
        """Return what the file says; without a file, nothing is known.

        Raises:
            ConfigError: if it is damaged or cannot be read; it says what to do.

        """
        try:
            with self.path.open("rb") as file:
                return Stops.decode(file.read(MAX_FILE_BYTES + 1))
        except FileNotFoundError:
            return Stops()
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be read: {error.strerror}; name the relay's own file with --state"
            ) from error
        except ValueError:
            raise ConfigError(
                f"{self.path} is damaged: put back a copy of it; without one, delete it, and keep the same stops in "
                "the collector's file, so that devices that have not heard of them do so a day later"
            ) from None

    def write(self, stops: Stops) -> None:
        """Replace the file; it is on disk when this returns.

        Raises:
            ConfigError: if it cannot be written.

        """
        with whole_file(self.path) as file:
            file.write(stops.encode())
