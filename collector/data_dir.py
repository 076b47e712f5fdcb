"""The lock on the embedded store's directory: one collector at a time, for as long as anything may write there."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from collector.config import ConfigError

LOCK_FILE = "store.lock"

LOCK_TIMEOUT_S = 3.0
"""A collector that was just killed leaves its store to end within moments: wait for that, not longer."""


def locked(data_dir: Path) -> int:
    """Make a data directory if need be, and return the open file that locks it until every copy of it is closed.

    Raises:
        ConfigError: if the directory cannot be used, or is in use.

    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"the data directory {data_dir} cannot be used: {error.strerror}; "
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
                    f"the data directory {data_dir} is in use by another collector: stop that one, "
                    "or name another directory with --data-dir"
                ) from None
            time.sleep(0.05)
        else:
            return lock
