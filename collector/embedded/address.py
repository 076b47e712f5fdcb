"""Where the embedded store listens: its Unix socket, and the file that names the socket."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from pathlib import Path

from collector.embedded.lock import is_locked, require_trusted
from collector.errors import ConfigError
from collector.files import whole_file

ADDRESS_FILE = "store.address"

RUNTIME_DIR = "run"
"""The folder of the store's socket, inside the data directory."""

SOCKET = "store.sock"

TEMPORARY_PREFIX = "hearsay-"

LONGEST_PATH = 93
"""Bytes. Some systems allow 104 for a Unix socket's path, and the store adds a name of its own."""


def runtime_dir_for(data_dir: Path) -> Path:
    """Create and return a folder that can hold the store's socket.

    The caller has the directory's lock.

    The folder is inside the data directory, where the next collector finds what a killed one left.
    If no socket can be there, it is a temporary folder, which the next collector removes.

    Raises:
        ConfigError: if no socket can be in either of them.

    """
    _remove_left(data_dir)
    inside = data_dir / RUNTIME_DIR
    inside.mkdir(mode=0o700, exist_ok=True)
    return inside if _takes_sockets(inside) else _temporary_folder(inside)


def write_address(data_dir: Path, url: str) -> None:
    """Write the store's URL to the data directory, for its owner only.

    Raises:
        ConfigError: if it cannot be written.

    """
    with whole_file(data_dir / ADDRESS_FILE) as file:
        file.write(url.encode())


def running_store_url(data_dir: Path) -> str:
    """Return the URL of the store of a collector that runs on a data directory.

    Raises:
        ConfigError: if no collector runs there, or others could have written the address.

    """
    if data_dir.is_dir():
        require_trusted(data_dir)
    address = data_dir / ADDRESS_FILE
    url = address.read_text(encoding="utf-8") if address.is_file() else ""
    # after a power failure a socket is left to which nobody listens
    if not (Path(url.removeprefix("unix://")).is_socket() and is_locked(data_dir)):
        raise ConfigError(f"no collector runs on {data_dir}: start it, or name its store with --redis URL")
    return url


def _takes_sockets(folder: Path) -> bool:
    """Return whether a folder's path is short enough for a socket, and its disk allows sockets."""
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
    """Return a new temporary folder for the socket, and remove the one that cannot hold it."""
    unusable.rmdir()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX))
    if not _takes_sockets(folder):
        folder.rmdir()
        raise ConfigError(
            f"no socket can be in {unusable} nor in {folder}: their paths are too long, or their disks allow none; "
            "name another --data-dir, or set TMPDIR to a shorter path"
        )
    return folder


def _remove_left(data_dir: Path) -> None:
    """Remove the temporary folder that a killed collector left."""
    address = data_dir / ADDRESS_FILE
    if address.is_file():
        left = Path(address.read_text(encoding="utf-8").removeprefix("unix://"))
        if left.name == SOCKET and left.parent.name.startswith(TEMPORARY_PREFIX):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
                left.parent.rmdir()
