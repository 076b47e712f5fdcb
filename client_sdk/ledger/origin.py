"""Distinguishes a ledger's file from a copy by inode, creation time, file system and machine.

A copy on another disk may have the same inode number as the original. But the creation time of the
copy, called its *birth*, is the time of copying. A snapshot of a whole disk keeps inode and birth,
but the file system of the snapshot may have a different id. Neither a reboot nor a remount changes
the inode, the birth or the file system's id. An unknown value is None, and is not compared.

The machine's id comes from a file on Linux and the BSDs (machine-id(5)), from gethostuuid(2) on
macOS, and from the value ``MachineGuid`` of the Windows registry. A ledger from a machine without
an id is accepted on any machine. A ledger from a machine with an id is accepted only on that
machine.
"""

import contextlib
import hashlib
import os
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from client_sdk.host import forks

_AT_FDCWD, _STATX_BTIME = -100, 0x800
_STATX_BYTES, _MASK_AT, _BIRTH_AT = 256, 0, 80
"""Constants of statx(2) and `struct statx`, from linux/stat.h and linux/fcntl.h. The constants are
the same on every architecture."""

_DEVICE_BITS = 32

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
"""The files in which systemd and D-Bus store the id of an installation. Containers have no id."""

_UNINITIALIZED = b"uninitialized"
"""The content of ``/etc/machine-id`` until systemd generates an id, during the first boot
(machine-id(5))."""

WINDOWS_KEY = r"SOFTWARE\Microsoft\Cryptography"

_UUID_BYTES = 16
_WAIT_S = 1
"""How long, in seconds, gethostuuid(2) may wait for the system service that knows the id."""


class Origin(NamedTuple):
    """The properties of a file that differ in a copy. An unknown property is None.

    Attributes:
        inode: the file's number on its file system.
        birth: the time of the file's creation, in nanoseconds since 1970.
        file_system: the id of the file system.
    """

    inode: str | None
    birth: str | None
    file_system: str | None

    def contradicts(self, other: "Origin") -> bool:
        """Whether the origins differ in a value that is known in both."""
        return any(None not in pair and pair[0] != pair[1] for pair in zip(self, other, strict=True))


NOWHERE = Origin(None, None, None)
"""The origin of a ledger in memory, or on a file system that renumbers files at every mount."""


def origin_of(path: Path) -> Origin:
    """Return the origin of a file that exists.

    Call this function after opening the file for writing. On an overlay file system, opening a file
    for writing copies the file from a lower layer, and the copy has a new birth.
    """
    status = path.stat()
    birth_ns = _birth_ns(path) if sys.platform == "linux" else _stated_birth_ns(status)
    return Origin(str(status.st_ino), birth_ns, _file_system(path))


def _stated_birth_ns(status: os.stat_result) -> str | None:
    """Return a file's creation time on macOS and the BSDs; None on Windows.

    Windows may give a new file the creation time of a deleted file.
    """
    birth_s = getattr(status, "st_birthtime", None)
    return None if birth_s is None or sys.platform == "win32" else str(int(birth_s * 10**9))


def _birth_ns(path: Path) -> str | None:
    """Return a file's creation time on Linux, from statx(2); None if the time is unknown."""
    answer = bytearray(_STATX_BYTES)
    try:
        with forks.importing():
            import ctypes  # noqa: PLC0415 importing the SDK must stay quick
        buffer = (ctypes.c_char * _STATX_BYTES).from_buffer(answer)
        if ctypes.CDLL(None).statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, buffer) != 0:
            return None
    except (ImportError, OSError, AttributeError):  # no ctypes, or no statx in the C library
        return None
    (mask,) = struct.unpack_from("=I", answer, _MASK_AT)
    seconds, nanos = struct.unpack_from("=qI", answer, _BIRTH_AT)
    return str(seconds * 10**9 + nanos) if mask & _STATX_BTIME and seconds else None


def _file_system(path: Path) -> str | None:
    """Return the id of a file's file system; None if the id may change.

    Some file systems have a permanent id. Other file systems (XFS, F2FS, FAT, and those of macOS)
    return 0, or a device number, which may change when the machine reboots. Device numbers and 0
    fit into 32 bits, unlike permanent ids.
    """
    number = 0
    if sys.platform != "win32":  # Windows has no such id
        with contextlib.suppress(OSError):
            number = os.statvfs(path).f_fsid
    return f"{number:x}" if number >> _DEVICE_BITS else None


def machine_id(app: str, places: tuple[Path, ...] = MACHINE_IDS) -> str | None:
    """Return a digest of the machine's id and the app's name; None if the machine has no id."""
    if sys.platform == "win32":
        machine = _of_windows()
    elif sys.platform == "darwin":
        machine = _of_macos()
    else:
        machine = _of_files(places)
    return hashlib.sha256(b"hearsay host 1\0" + app.encode() + b"\0" + machine).hexdigest() if machine else None


def _of_files(places: tuple[Path, ...]) -> bytes:
    for place in places:
        try:
            machine = place.read_bytes().strip()
        except OSError:
            continue
        if machine and machine != _UNINITIALIZED:
            return machine
    return b""


def _of_windows() -> bytes:
    if sys.platform == "win32":
        import winreg  # noqa: PLC0415 only Windows has it

        access = winreg.KEY_READ | winreg.KEY_WOW64_64KEY  # a 32-bit Python would otherwise see another registry
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, WINDOWS_KEY, 0, access) as key:
                return str(winreg.QueryValueEx(key, "MachineGuid")[0]).encode()
        except OSError:
            pass
    return b""


def _of_macos() -> bytes:
    try:
        with forks.importing():
            import ctypes  # noqa: PLC0415 importing the SDK must stay quick
        uuid, wait = (ctypes.c_ubyte * _UUID_BYTES)(), (ctypes.c_long * 2)(_WAIT_S, 0)  # uuid_t and struct timespec
        return bytes(uuid) if ctypes.CDLL(None).gethostuuid(uuid, wait) == 0 else b""
    except (ImportError, OSError, AttributeError):  # no ctypes, or no gethostuuid in the C library
        return b""
