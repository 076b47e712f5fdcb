"""Notifications to systemd (see the manual page of sd_notify).

Only the main process sends messages, because systemd ignores messages from other processes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time

VARIABLE = "NOTIFY_SOCKET"
"""The environment variable with the path of systemd's socket.

An @ at the beginning of the path stands for a NUL character (an abstract socket).
"""

READY, STOPPING = "READY=1", "STOPPING=1"


def reloading() -> tuple[str, str]:
    """Return the message that files are being reloaded. After the reload, READY must be sent."""
    return "RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"


def status(words: str) -> str:
    """Return the message that sets the status line in ``systemctl status``."""
    return f"STATUS={' '.join(words.split())}"


def notify(*assignments: str) -> None:
    """Send one message to systemd, if systemd has started this service and listens."""
    path = os.environ.get(VARIABLE, "")
    if not path:
        return
    address = f"\0{path[1:]}" if path.startswith("@") else path
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(0)  # a manager that does not read must not block the service
        sender.sendto("\n".join(assignments).encode(), address)


class StatusHandler(logging.Handler):
    """Shows the last event in ``systemctl status``."""

    def emit(self, record: logging.LogRecord) -> None:
        """Send the message of a log record to systemd."""
        notify(status(record.getMessage()))
