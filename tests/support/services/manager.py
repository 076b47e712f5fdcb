"""systemd's end of sd_notify: the socket on which a service tells its state."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.services.processes import START_DEADLINE_S

CREDENTIALS = struct.Struct("3i")
"""The pid, user and group of a sender, as the kernel says."""


class Message(NamedTuple):
    """A message from a process.

    Attributes:
        pid: of the process.
        fields: its assignments.

    """

    pid: int
    fields: dict[str, str]


class Manager:
    """Listens as systemd does."""

    def __init__(self, listener: socket.socket, name: str) -> None:
        """Take over a bound socket."""
        self._listener = listener
        self.environment = {"NOTIFY_SOCKET": name}

    def next(self) -> Message:
        """Wait for the next message."""
        data, ancillary, _, _ = self._listener.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
        ((_, _, sender),) = ancillary
        fields = dict(line.split("=", 1) for line in data.decode().splitlines())
        return Message(CREDENTIALS.unpack(sender)[0], fields)

    def wait_for(self, name: str) -> list[Message]:
        """Return all messages up to the next one with a field."""
        messages = [self.next()]
        while name not in messages[-1].fields:
            messages.append(self.next())
        return messages


@contextlib.contextmanager
def listening_manager(folder: Path | None) -> Iterator[Manager]:
    """Listen on a path below a folder, or else on an abstract name."""
    name = f"@hearsay-tests-{os.urandom(8).hex()}" if folder is None else str(folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        listener.settimeout(START_DEADLINE_S)
        listener.bind(f"\0{name[1:]}" if folder is None else name)
        yield Manager(listener, name)
