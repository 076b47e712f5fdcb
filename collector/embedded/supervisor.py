"""The guardian, which keeps the embedded store running, and stops it when the collector exits.

The guardian is a separate program in a separate session, and uses only the standard library. A
pipe, the *lifeline*, connects the guardian to the collector. The collector writes a byte to the
lifeline once the store is ready. The lifeline is closed when the collector exits.

The guardian writes the store's exit status to standard output, which the collector reads. The store
inherits the open file that locks the data directory. The directory therefore stays locked as long
as any process may write there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

FIRST_DELAY_S = 0.1
LONGEST_DELAY_S = 10.0
"""The longest wait before the store is started again, in seconds.

Each wait is twice as long as the previous one.
"""

STEADY_AFTER_S = 60.0
"""If a store has run for this many seconds, the next wait is only FIRST_DELAY_S."""

STOP_TIMEOUT_S = 10.0
"""Seconds after SIGTERM at which a store that has not exited is killed.

No acknowledged data is lost, because this data is already on disk.
"""

PR_SET_PDEATHSIG = 1


class Guardian:
    """Keeps the store's process running until the lifeline, a pipe, is closed."""

    def __init__(self, lifeline: int, lock: int, command: list[str]) -> None:
        """Store the lifeline's reading end, the lock's descriptor and the store's command line."""
        self._lifeline = lifeline
        self._lock = lock
        self._command = command
        self._seen_ready = False
        self._ended = threading.Event()
        self._store: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Keep the store running until the lifeline is closed.

        Returns:
            0, or the store's exit status if the store never became ready.
        """
        threading.Thread(target=self._watch_lifeline, daemon=True).start()
        delay_s = FIRST_DELAY_S
        while not self._ended.is_set():
            started = time.monotonic()
            status = self._run_store()
            if not self._seen_ready and not self._ended.is_set():
                return status or 1
            if not self._ended.is_set():
                _report(status)
            if time.monotonic() - started > STEADY_AFTER_S:
                delay_s = FIRST_DELAY_S
            self._ended.wait(delay_s)
            delay_s = min(2 * delay_s, LONGEST_DELAY_S)
        return 0

    def _run_store(self) -> int:
        with subprocess.Popen(  # noqa: S603 the collector's own command
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(self._lock,),
            preexec_fn=_prepare_store,  # noqa: PLW1509 two system calls, prepared before the fork
        ) as store:
            self._store = store
            if self._ended.is_set():
                store.terminate()
            return store.wait()

    def _watch_lifeline(self) -> None:
        while os.read(self._lifeline, 1):
            self._seen_ready = True
        self._ended.set()
        store = self._store
        if store is not None and store.poll() is None:
            store.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                store.wait(STOP_TIMEOUT_S)
            if store.poll() is None:
                store.kill()


def _report(status: int) -> None:
    """Send the store's exit status, which is negative after a signal, to the collector.

    Even if the collector does not read the status, this function does not delay a restart.
    """
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), b"%d\n" % status)


_libc = ctypes.CDLL(None)


def _prepare_store() -> None:
    """Make SIGTERM stop the store, even before the store has installed its own signal handler."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the guardian ignores it, and the store would inherit this
    _end_with_parent()


def _end_with_parent() -> None:
    """Make the kernel kill the store if the guardian itself is killed (Linux only).

    On other systems, the store keeps running, and the directory stays locked.
    """
    if sys.platform == "linux":
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> int:
    """Run the guardian with the arguments ``LIFELINE LOCK RUNTIME_DIR COMMAND...``.

    LIFELINE and LOCK are file descriptors. RUNTIME_DIR is the folder of the store's socket. The
    guardian removes this folder when it exits. COMMAND starts the store.
    """
    lifeline, lock, runtime_dir, *command = sys.argv[1:]
    os.umask(0o077)  # nobody else may read the append-only file, which shows the order of uploads
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    os.set_blocking(sys.stdout.fileno(), False)
    try:
        return Guardian(int(lifeline), int(lock), command).run()
    finally:
        shutil.rmtree(Path(runtime_dir), ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
