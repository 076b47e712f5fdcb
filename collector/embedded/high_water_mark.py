"""The *mark*, a file that records the lengths of the embedded store's files.

About once a second, the collector records the length of each increment file (see `aof`). It also
records a checksum of the bytes within this length. These bytes are acknowledged data.

The server does not detect changed bytes in the middle of a file. It also accepts a file whose end
is missing, even if acknowledged data is missing. The mark reveals these losses.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from collector.embedded.aof import (
    MANIFEST,
    STORE_DIR,
    DataLoss,
    Reach,
    extended,
    find_losses,
    how_to_go_on,
    increments_in,
    make_readable,
    shortened,
)
from collector.errors import ConfigError
from collector.files import whole_file

MARK_FILE = "store.mark"


class UnnotedError(ConfigError):
    """The lengths of the store's files cannot be recorded.

    Data is still stored, but a loss might not be detected.
    """


class Mark:
    """The recorded lengths of the store's files in one data directory.

    Only one thread at a time may use this object.
    """

    def __init__(self, data_dir: Path) -> None:
        """Store the directory's path. Nothing is read yet."""
        self._file = data_dir / MARK_FILE
        self._folder = data_dir / STORE_DIR
        self._noted: dict[str, Reach] = {}

    def require_kept(self) -> None:
        """Refuse files in which acknowledged data is missing or changed.

        Raises:
            ConfigError: if data is missing or changed. The message describes the data and the
                remedy.
        """
        losses = self._losses()
        if losses:
            raise self._refusal(losses)
        self._noted = self._read()

    def accept_losses(self) -> list[str]:
        """Make the remaining data readable, and return descriptions of the lost data.

        Raises:
            ConfigError: if the remaining data cannot be read.
        """
        losses = self._losses()
        if not all(loss.can_be_left_out for loss in losses):
            raise self._refusal(losses)
        if (self._folder / MANIFEST).exists():
            losses += make_readable(self._folder)
        self._noted = {}
        self._file.unlink(missing_ok=True)
        return [loss.text for loss in losses]

    def sizes(self) -> dict[str, int]:
        """Return the current length of each increment file.

        Pass the lengths to `note` only once the files are known to be on disk up to these lengths.
        """
        try:
            return {name: (self._folder / name).stat().st_size for name in increments_in(self._folder)}
        except FileNotFoundError:  # the server has just rewritten the increments
            return {}

    def note(self, sizes: Mapping[str, int]) -> None:
        """Record the lengths of the increment files.

        ``sizes`` maps each file's name to its length in bytes. All these bytes must already be on
        disk.

        Raises:
            UnnotedError: if the lengths cannot be recorded.
            ConfigError: if an increment file has become shorter.
        """
        noted = {}
        for name, size in sizes.items():
            before = self._noted.get(name, Reach())
            if size < before.size:
                raise ConfigError(shortened(name, size, before.size))
            with contextlib.suppress(FileNotFoundError):  # the server has just rewritten the increment
                noted[name] = extended(self._folder / name, before, size)
        if noted and noted != self._noted:
            try:
                with whole_file(self._file) as file:
                    file.write(json.dumps(noted).encode())
            except ConfigError as error:
                raise UnnotedError(str(error)) from error
            self._noted = noted

    def _refusal(self, losses: list[DataLoss]) -> ConfigError:
        missing = "; ".join(loss.text for loss in losses)
        can_be_read = all(loss.can_be_left_out for loss in losses)
        return ConfigError(
            f"acknowledged data is lost: {missing}. " + how_to_go_on(self._file.parent, can_be_read=can_be_read)
        )

    def _losses(self) -> list[DataLoss]:
        noted = self._read()
        noted_at_s = self._file.stat().st_mtime if noted else 0.0
        return list(find_losses(self._folder, noted, noted_at_s))

    def _read(self) -> dict[str, Reach]:
        try:
            noted = json.loads(self._file.read_bytes())
            return {name: Reach(int(size), int(checksum)) for name, (size, checksum) in noted.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"{self._file}, which records how much was acknowledged, cannot be read: restore it, or remove "
                "it to start without a check for missing data"
            ) from error
