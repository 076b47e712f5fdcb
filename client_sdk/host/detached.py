"""Starts a Python process that outlives this process.

Each lock file allows one such process at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PROGRAM = """
import importlib, json, sys
job = json.load(sys.stdin)
sys.path[:] = job["path"]
importlib.import_module(job["module"]).main(**job["arguments"])
"""
"""The new process gets its arguments on standard input, because other users can read command lines.
"""

_DIGITS, _BEHIND = 20, 1 << 20
"""The maximum number of digits of a process id, and the offset of the byte locked on Windows."""

_WINDOWS_FLAGS = 0x00000008 | 0x00000200 | 0x08000000
"""DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP and CREATE_NO_WINDOW of CreateProcess."""


def can_start() -> bool:
    """Whether this Python has an executable.

    Frozen programs and embedded Pythons have no executable of their own.
    """
    is_python = Path(sys.executable or "").name.lower().startswith(("python", "pypy"))
    return is_python and not getattr(sys, "frozen", False)


def start(module: str, lock: Path, **arguments: Any) -> None:  # noqa: ANN401 anything that JSON can hold
    """Run a module's ``main`` in a new process, which locks the file ``lock`` while it runs.

    The function does not wait for the process. If another process holds the lock, or if no process
    can be started, the function does nothing.
    """
    import subprocess  # noqa: PLC0415 takes 5 ms, and a program needs it only when it ends

    path = [str(Path(entry).absolute()) for entry in sys.path if isinstance(entry, str)]
    with contextlib.suppress(OSError), alone(lock, is_named=False) as held:
        if held is None:
            return
        apart: dict[str, Any] = {"start_new_session": True, "pass_fds": [held]}
        arguments["held"] = held
        if sys.platform == "win32":  # on Windows, the new process takes the lock itself
            apart, arguments["held"] = {"creationflags": _WINDOWS_FLAGS}, None
        job = {"path": path, "module": module, "arguments": arguments}
        process = subprocess.Popen(  # noqa: S603 runs only this Python, with no input from a user
            [sys.executable, *_options(), "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=Path(sys.executable).anchor,  # so that the process keeps no directory in use
            **apart,
        )
        if sys.platform != "win32":
            os.write(held, str(process.pid).encode())
        assert process.stdin is not None  # noqa: S101 it is a pipe, as requested above
        with process.stdin:
            process.stdin.write(json.dumps(job).encode())
        process.returncode = 0  # otherwise the object warns that the process still runs, which is intended


def _options() -> list[str]:
    """Return the options that limit the new Python's import paths to those of this Python."""
    if sys.flags.isolated:
        return ["-I"]
    options = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site, "-S": sys.flags.no_site}
    return ["-P", *(option for option, is_set in options.items() if is_set)]


@contextlib.contextmanager
def alone(path: Path, held: int | None = None, *, is_named: bool = True) -> Iterator[int | None]:
    """Lock a file; yield its descriptor, or None if another process holds the lock.

    The lock lasts until every process that has the descriptor has closed the descriptor or has
    ended. ``held`` is the descriptor if this process already has the lock. If ``is_named`` is true,
    the file contains this process's id, so that other processes can end this process.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600) if held is None else held
    try:
        is_held = held is not None or _lock(descriptor, is_shared=False)
        if is_held:
            os.ftruncate(descriptor, 0)  # a process that was killed may have left its id
            os.lseek(descriptor, 0, os.SEEK_SET)
        if is_held and is_named:
            os.write(descriptor, str(os.getpid()).encode())
        yield descriptor if is_held else None
        if is_held and is_named:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _named(descriptor: int) -> int:
    """Return the process id in a file; 0 if the file contains no id."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    text = os.read(descriptor, _DIGITS)
    return int(text) if text.isdigit() else 0


def holder(path: Path) -> int | None:
    """Return the id of the process that has locked a file: 0 if unknown, None if unlocked."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _lock(descriptor, is_shared=True) else _named(descriptor)
    finally:
        os.close(descriptor)


def end(path: Path) -> None:
    """End the process that holds a file's lock, if there is one."""
    process = holder(path)
    if process:
        with contextlib.suppress(OSError):  # the process has already ended
            os.kill(process, signal.SIGTERM)


def _lock(descriptor: int, *, is_shared: bool) -> bool:
    """Try to take a lock, without waiting. A shared lock only tests whether a file is locked."""
    try:
        if sys.platform == "win32":  # on Windows, locks block readers, so lock a byte after the file's end
            os.lseek(descriptor, _BEHIND, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
