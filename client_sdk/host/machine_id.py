"""Which machine this is, so that a ledger carried to another machine is known to be a copy.

Linux and the BSDs are asked by file (machine-id(5)), macOS by gethostuuid(2), and Windows by the
value ``MachineGuid`` that its set-up writes. A ledger that was made without an id belongs to any
machine; one that was made with an id does not belong to a machine without one.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from client_sdk.host import forks

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
"""Where systemd and D-Bus keep the id of an installation. Containers have none."""

WINDOWS_KEY = r"SOFTWARE\Microsoft\Cryptography"

_UUID_BYTES = 16
_WAIT_S = 1
"""How long gethostuuid(2) may wait for its daemon."""


def identify(app: str, places: tuple[Path, ...] = MACHINE_IDS) -> str | None:
    """Return a digest of the machine's id that only this app can use; None if there is no id."""
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
        if machine:
            return machine
    return b""


def _of_windows() -> bytes:
    if sys.platform == "win32":
        import winreg  # noqa: PLC0415 only Windows has it

        access = winreg.KEY_READ | winreg.KEY_WOW64_64KEY  # a 32-bit Python would see another registry
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
    except (ImportError, OSError, AttributeError):  # a Python or a C library without it
        return b""
