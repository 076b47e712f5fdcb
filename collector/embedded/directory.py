"""The embedded store's directory, with its owner, its lock, and the address of the store's socket.

Only one collector at a time has the lock. The lock is kept while any process of the collector may
write to the directory. The store's socket is inside the directory. If the directory cannot contain
a socket, the socket is in a temporary folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

from client_sdk.protocol.command_line import NO_ROOM
from collector.errors import ConfigError
from collector.files import whole_file

LOCK_FILE = "store.lock"

ROOT = 0

AS_SERVED = "run this as the user that runs the service, and name a --data-dir that the service can write to"

LOCK_TIMEOUT_S = 3.0
"""How long a program waits for the directory's lock, in seconds.

After a collector is killed, its store exits within moments, and releases the lock.
"""

MOUNT_AGAIN = "see the system log for why its disk became read-only, and remount it for writing"

MAKE_ROOM = "free space and inodes on its disk"

DISK_ADVICE: Final = {**dict.fromkeys(sorted(NO_ROOM), MAKE_ROOM), errno.EROFS: MOUNT_AGAIN}
"""Maps system errors that a disk can cause, such as ENOSPC, to advice for the operator."""

PROBE_BYTES = 4096
"""The size of a test file, in bytes. A full disk has no space for a file of this size."""

START_BYTES = 16 * PROBE_BYTES
"""The free space that is required to start a store, in bytes. A store needs less than this."""

ADDRESS_FILE = "store.address"

RUNTIME_DIR = "run"
"""The folder of the store's socket, inside the data directory."""

SOCKET = "store.sock"

TEMPORARY_PREFIX = "hearsay-"

LONGEST_PATH = 93
"""The maximum length, in bytes, of the socket's path.

Some systems allow only 104 bytes, and the server adds a few bytes to the path.
"""


def require_trusted(data_dir: Path) -> None:
    """Raise a ConfigError if other users can replace the store's files in a directory.

    Root may use anybody's directory. The operator chose the directory, so the members of the
    directory's group are trusted.
    """
    status = data_dir.stat()
    if status.st_uid not in (os.geteuid(), ROOT) and os.geteuid() != ROOT:
        raise ConfigError(
            f"the data directory {data_dir} belongs to another user, who could change the counts: run this "
            "command as the owner of the directory, or name another directory with --data-dir"
        )
    if status.st_mode & stat.S_IWOTH:
        raise ConfigError(
            f"every user of this machine may write to the data directory {data_dir} (mode "
            f"{stat.S_IMODE(status.st_mode):04o}): make sure that no file in it belongs to another user, then run: "
            f"chmod 700 {data_dir}"
        )


def require_own_store(data_dir: Path) -> None:
    """Raise a ConfigError if root would run the store of another user.

    That user could not use the files that root would create there.
    """
    lock = data_dir / LOCK_FILE
    if os.geteuid() == ROOT and lock.exists() and lock.stat().st_uid != ROOT:
        raise ConfigError(
            f"the store in {data_dir} belongs to user {lock.stat().st_uid}, who could not use files that root "
            "creates there: run this as that user, or while the store's collector is running"
        )


def require_writable(data_dir: Path) -> None:
    """Raise a ConfigError if the store could not write to a directory.

    This function writes and removes temporary files. If the directory does not exist yet, the
    nearest existing parent is tested.
    """
    nearest = next(folder for folder in (data_dir, *data_dir.absolute().parents) if folder.is_dir())
    present = (nearest, *data_dir.rglob("*"))
    shut = [path for path in present if not path.is_socket() and not os.access(path, os.W_OK)]
    if shut:
        raise ConfigError(f"this user cannot write to {shut[0]}: {AS_SERVED}")
    for folder in (path for path in present if path.is_dir()):
        require_room(folder, PROBE_BYTES)


def require_room(folder: Path, size: int = START_BYTES) -> None:
    """Raise a ConfigError if a file of ``size`` bytes cannot be written to a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(size))
            file.flush()
    except OSError as error:
        advice = DISK_ADVICE.get(error.errno or 0, AS_SERVED)
        raise ConfigError(f"{folder} cannot be written: {error.strerror}; {advice}") from error


def is_locked(data_dir: Path) -> bool:
    """Return whether the directory is locked, by a collector or one of its processes."""
    try:
        lock = os.open(data_dir / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def locked(data_dir: Path) -> int:
    """Lock a data directory, and create it if necessary.

    Returns:
        The descriptor of an open file. The directory is locked until every copy of the descriptor
        is closed, including copies in other processes.

    Raises:
        ConfigError: if the directory cannot be used, or is in use.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_trusted(data_dir)
        require_own_store(data_dir)
        lock = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"the data directory {data_dir} cannot be used: {error.strerror}; with --data-dir, name a "
            "directory that this user can write to"
        ) from error
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                raise ConfigError(
                    f"the data directory {data_dir} is in use by another collector or command: wait until it "
                    "ends, stop it, or name another directory with --data-dir"
                ) from None
            time.sleep(0.05)
        else:
            return lock


def runtime_dir_for(data_dir: Path) -> Path:
    """Create and return a folder for the store's socket. The caller must have the lock.

    If the data directory cannot contain a socket, the folder is a temporary folder. The next
    collector removes the temporary folder of a killed collector.

    Raises:
        ConfigError: if neither folder can contain a socket.
    """
    _remove_left(data_dir)
    inside = data_dir / RUNTIME_DIR
    inside.mkdir(mode=0o700, exist_ok=True)
    return inside if _takes_sockets(inside) else _temporary_folder(inside)


def write_address(data_dir: Path, url: str) -> None:
    """Write the store's URL to the address file. Only the owner can read this file."""
    with whole_file(data_dir / ADDRESS_FILE) as file:
        file.write(url.encode())


def running_store_url(data_dir: Path) -> str:
    """Return the URL of the running embedded store in ``data_dir``.

    Raises:
        ConfigError: if no collector is running on ``data_dir``, or if other users could have
            written the URL.
    """
    if data_dir.is_dir():
        require_trusted(data_dir)
    address = data_dir / ADDRESS_FILE
    url = address.read_text(encoding="utf-8") if address.is_file() else ""
    # after a power failure, there may be a socket on which no process listens
    if not (Path(url.removeprefix("unix://")).is_socket() and is_locked(data_dir)):
        raise ConfigError(f"no collector is running on {data_dir}: start one, or name the store with --redis URL")
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
    """Create a temporary folder for the socket, and remove the unusable folder."""
    unusable.rmdir()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX))
    if not _takes_sockets(folder):
        folder.rmdir()
        raise ConfigError(
            f"no socket can be created in {unusable} or in {folder}: their paths are too long, or their disks "
            "do not support sockets; name another --data-dir, or set TMPDIR to a shorter path"
        )
    return folder


def _remove_left(data_dir: Path) -> None:
    """Remove the temporary folder that a killed collector has left behind."""
    address = data_dir / ADDRESS_FILE
    if address.is_file():
        left = Path(address.read_text(encoding="utf-8").removeprefix("unix://"))
        if left.name == SOCKET and left.parent.name.startswith(TEMPORARY_PREFIX):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
                left.parent.rmdir()
