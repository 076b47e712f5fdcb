"""Which machine this is, so that a ledger carried to another machine is known to be a copy."""

from __future__ import annotations

import hashlib
from pathlib import Path

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
"""Where systemd and D-Bus keep the id of an installation (machine-id(5)). Other systems and
containers have none."""


def identify(app: str, places: tuple[Path, ...] = MACHINE_IDS) -> str | None:
    """Return a digest of the machine's id that only this app can use; None if there is no id."""
    for place in places:
        try:
            machine = place.read_bytes().strip()
        except OSError:
            continue
        if machine:
            return hashlib.sha256(b"hearsay host 1\0" + app.encode() + b"\0" + machine).hexdigest()
    return None
