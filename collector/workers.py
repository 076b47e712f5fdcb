"""Starts and stops the worker processes, and finds the address on which they listen."""

from __future__ import annotations

import atexit
import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from multiprocessing.connection import wait
from typing import Any

import click
from granian.constants import HTTPModes
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from client_sdk.protocol.wire.base_url import is_host
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from collector.errors import ConfigError, require
from collector.log import Event, LogFormat
from collector.log import settings as settings_of
from collector.systemd import READY, STOPPING, VARIABLE, notify, status

RESTART_DELAY_S = 1.0

POLL_S = 0.05

SIGNAL_POLL_S = 1.0

ANSWER_TIMEOUT_S = 5.0
"""The time limit of a readiness check (seconds), the same as for a response from the store."""

HTTP1 = HTTP1Settings(header_read_timeout=15_000, max_buffer_size=MAX_UPLOAD_BYTES)
"""The limits on the resources that a connection may use.

Within 15 seconds, including the pause between two requests, a connection must send the complete
head of a request. A connection may have at most 64 KiB of unread data.

HTTP/2 is not offered, because a single connection could contain hundreds of requests.
"""

_log = logging.getLogger(__name__)


class _PolledEvent(threading.Event):
    """An event whose wait lets the main thread run its signal handlers every second.

    If another thread receives a signal, Python runs the handler in the main thread, but does not
    wake the main thread.
    """

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the event, or until ``timeout`` seconds have passed."""
        if timeout is not None:
            return super().wait(timeout)
        while not super().wait(SIGNAL_POLL_S):
            pass
        return True


class _Server(MPServer):
    """A Granian server that ends on a signal, whatever its threads are doing at that moment."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401 the server's own types
        super().__init__(*args, **settings)
        self.main_loop_interrupt = _PolledEvent()

    def signal_handler_interrupt(self, *_: object, **__: object) -> None:
        """Wake the main loop, from another thread.

        This handler may interrupt the main thread at any step. Waking the loop needs a lock. The
        interrupted code may hold this lock, so a handler that waits for the lock could wait
        forever.
        """
        self.interrupt_signal = True
        threading.Thread(target=self._interrupt).start()

    def _interrupt(self) -> None:
        notify(STOPPING)
        self.main_loop_interrupt.set()


def run_workers(
    make_app: Callable[[], Any],
    *,
    log_format: LogFormat,
    on_hangup: Callable[[], None] = lambda: None,
    **settings: Any,  # noqa: ANN401 the server's own types
) -> None:
    """Run the workers until a signal ends them.

    If workers die faster than the server replaces them, all workers are started again after a
    pause.

    Args:
        make_app: returns the application of one worker. The worker calls this function.
        log_format: the format of the workers' log lines.
        on_hangup: called on SIGHUP. ``on_hangup`` interrupts the main thread, so it must return
            quickly.
        settings: other settings of the server, which is Granian.
    """
    # Workers are spawned, not forked, because this process has threads: a forked copy of their
    # locks could block a worker forever.
    multiprocessing.set_start_method("spawn", force=True)
    while True:
        server = _Server(
            "collector",
            respawn_failed_workers=True,
            log_access=False,
            log_level=LogLevels.error,
            log_dictconfig=settings_of(log_format),
            websockets=False,
            http=HTTPModes.http1,
            http1_settings=HTTP1,
            **settings,
        )
        # On SIGHUP, the server itself would replace all workers, and lose the connections that wait
        # for them.
        server.on_startup(lambda: signal.signal(signal.SIGHUP, lambda *_: on_hangup()))
        with contextlib.suppress(SystemExit):  # raised if a worker has ended unexpectedly
            server.serve(target_loader=make_app, wrap_loader=False)
        if not server.interrupt_signal:
            _log.error(
                "the workers die faster than they can be replaced; restarting all of them in %s s", RESTART_DELAY_S
            )
            time.sleep(RESTART_DELAY_S)
        if server.interrupt_signal:
            return


def begin_worker() -> None:
    """Make this worker exit if the main process dies, and never print a traceback when it exits."""
    os.environ.pop(VARIABLE, None)  # only the main process notifies systemd
    # a whole process group may receive this signal, for example when a terminal closes
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # When the interpreter shuts down, the server's idle threads would abort and log a traceback.
    # The process has finished its requests by then, so it can exit immediately.
    atexit.register(os._exit, 0)


def _end_with_parent() -> None:
    """Stop this worker if the main process dies suddenly. The embedded store stops, too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def resolve(host: str, option: str = "--bind") -> str:
    """Return the IP address of a host name. The server accepts only IP addresses.

    Raises:
        ConfigError: if this machine has no such address. The message names the option.
    """
    require(is_host(host), f"{option}: {host} is not an address of this machine")
    try:
        address: str = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0]  # type: ignore[assignment] # str for IP
    except OSError as error:
        raise ConfigError(f"{option}: {host} is not an address of this machine: {error.strerror}") from error
    return address


def require_free_address(address: str, port: int) -> None:
    """Refuse a port that is in use.

    All workers listen on the same port. They could even share the port with another service,
    without an error. Therefore the port is checked before the workers start.

    Raises:
        ConfigError: if the port is in use.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {address}:{port}: {error.strerror}; choose another address with --bind"
        ) from error


def announce_when_ready(host: str, port: int, words: str, log_format: LogFormat) -> None:
    """Print or log a line as soon as the service reports that it is ready.

    systemd is notified when the service responds for the first time. If the store is full or
    unavailable, the service is not ready, but systemd must not restart it for this reason.

    ``words`` follow the address in the line. The format TEXT prints the line on standard output,
    and JSON logs it.
    """
    threading.Thread(target=_announce, args=(host, port, words, log_format), daemon=True).start()


def _announce(host: str, port: int, words: str, log_format: LogFormat) -> None:
    is_serving = False
    while (answer := _readiness(host, port)) is not HTTPStatus.OK:
        if answer is not None and not is_serving:
            notify(READY, status("serving, but its store accepts no uploads: see /readyz"))
            is_serving = True
        time.sleep(POLL_S)
    shown = f"[{host}]" if ":" in host else host
    line = f"hearsay-collector is ready on http://{shown}:{port} {words}"
    notify(READY, status(line))
    if log_format is LogFormat.TEXT:
        click.echo(line)
        sys.stdout.flush()
    else:
        _log.info(line, extra=Event.READY.extra)


def _readiness(host: str, port: int) -> HTTPStatus | None:
    """Return the HTTP status of the readiness check, or None if the service does not respond."""
    connection = HTTPConnection(host, port, timeout=ANSWER_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        return HTTPStatus(connection.getresponse().status)
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
