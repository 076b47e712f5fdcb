"""Runs the service: the store first, then the workers; the workers end first, then the store."""

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
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from multiprocessing.connection import wait

import click
from flask import Flask
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

from client_sdk.spec import Registry
from collector.app import create_app
from collector.config import CollectorConfig, ConfigError
from collector.embedded import EmbeddedStore
from collector.maintenance import Maintenance
from collector.redis_store import ANSWER_TIMEOUT_S, RedisStore

WORKER_STOP_S = 10
"""Seconds that a worker may take to finish its requests: more than the store may take to answer one."""

RESTART_DELAY_S = 1.0

POLL_S = 0.05

_log = logging.getLogger(__name__)


def serve(config: CollectorConfig) -> None:
    """Serve until a signal ends it.

    Raises:
        ConfigError: if the address, the store or the data directory cannot be used.
        RegistryError: if the registry cannot be used.

    """
    registry = Registry.load(config.registry)
    address = _resolve(config.host)
    _require_free_address(address, config.port)
    with _store_url(config) as (store_url, every_tick):
        store = RedisStore(store_url)
        store.prepare(config.durability)
        store.agree_on_grace(config.grace_s)
        _require_free_address(address, config.port)  # another collector may have started meanwhile
        maintenance = Maintenance(store, store, grace_s=config.grace_s, every_tick=every_tick)
        maintenance.start()
        threading.Thread(target=_announce_ready, args=(config, len(registry.metrics)), daemon=True).start()
        try:
            _run_workers(config, address, partial(worker_app, config, registry, store_url, store.shards))
        finally:
            maintenance.stop()


@contextlib.contextmanager
def _store_url(config: CollectorConfig) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield where the store is, and what must be looked after while it is used."""
    if config.redis_url is not None:
        yield config.redis_url, lambda: None
        return
    with EmbeddedStore(config.data_dir) as embedded:
        yield embedded.url, embedded.ensure_guarded


def _run_workers(config: CollectorConfig, address: str, make_app: Callable[[], Flask]) -> None:
    """Run the workers until a signal ends them; where they die faster than they are replaced, pause and start anew."""
    # Workers are spawned, not forked: this process has threads, and a forked copy of their locks could hang a worker.
    multiprocessing.set_start_method("spawn", force=True)
    while True:
        server = Server(
            "collector",
            address=address,
            port=config.port,
            interface=Interfaces.WSGI,
            workers=config.workers,
            blocking_threads=config.threads,
            respawn_failed_workers=True,
            workers_kill_timeout=WORKER_STOP_S,
            log_access=False,
            log_level=LogLevels.error,
            websockets=False,
        )
        with contextlib.suppress(SystemExit):  # raised where a worker's end was not asked for
            server.serve(target_loader=make_app, wrap_loader=False)
        if not server.interrupt_signal:
            _log.error("the workers die faster than they can be replaced; starting them anew in %s s", RESTART_DELAY_S)
            time.sleep(RESTART_DELAY_S)
        if server.interrupt_signal:
            return


def worker_app(config: CollectorConfig, registry: Registry, store_url: str, shards: int) -> Flask:
    """Return the application of one worker process. Run in the worker.

    It needs neither the registry's file nor the store to start: a worker is replaced when both may be away.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The server's idle threads do not survive the interpreter's own end (they would abort, with a trace in the log):
    # once it has finished its requests the process may simply end.
    atexit.register(os._exit, 0)
    return create_app(
        registry,
        RedisStore(store_url, shards),
        read_token=config.read_token,
        cors_origins=config.cors_origins,
        grace_s=config.grace_s,
        snapshot_interval_s=config.snapshot_interval_s,
    )


def _end_with_parent() -> None:
    """End this worker if the main process dies without saying so: a worker without a store is of no use."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _resolve(host: str) -> str:
    """Return the address of a host name: the server takes addresses only."""
    try:
        found: str = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0]  # type: ignore[assignment] # str for IP
    except OSError as error:
        raise ConfigError(f"--bind: {host} is no address of this machine: {error.strerror}") from error
    return found


def _require_free_address(address: str, port: int) -> None:
    """Refuse a port in use now: the workers' sockets are shared, and would silently share it with another service."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as error:
        raise ConfigError(f"cannot listen on {address}:{port}: {error.strerror}; choose another with --bind") from error


def _announce_ready(config: CollectorConfig, metrics: int) -> None:
    store = "the store of --redis" if config.redis_url else str(config.data_dir.absolute())
    host = f"[{config.host}]" if ":" in config.host else config.host
    while not _is_ready(config.host, config.port):
        time.sleep(POLL_S)
    click.echo(f"hearsay-collector is ready on http://{host}:{config.port} with {metrics} metrics, on {store}")
    sys.stdout.flush()


def _is_ready(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port, timeout=ANSWER_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
