"""Calls of the kernel that Python has no function for."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNET, CLONE_NEWNS = 0x4000_0000, 0x0002_0000
"""As in sched.h: namespaces of the network, and of mounts."""

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(kinds: int) -> None:
    """Put this thread, and what it starts, into new namespaces.

    Raises:
        OSError: if the kernel refuses.

    """
    _require(_libc.unshare(kinds))


def enter(namespace: int, kind: int) -> None:
    """Put this thread, and what it starts, into the namespace of a descriptor.

    Raises:
        OSError: if the kernel refuses.

    """
    _require(_libc.setns(namespace, kind))


def _require(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
