"""Runs the service: the store first, then the workers; the workers end first, then the store."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

from flask import Flask
from granian.constants import Interfaces

from client_sdk.protocol import Registry
from collector.access import Access
from collector.config import CollectorConfig
from collector.embedded.store import EmbeddedStore
from collector.http.app import create_app
from collector.live.reload import Reloader
from collector.live.shared_state import Board
from collector.live.state import Live, Served
from collector.log import Event, configure
from collector.monitoring.counters import Counters, new_sheet
from collector.monitoring.sheet import Sheet
from collector.servers.machine_memory import embedded_limit_bytes
from collector.servers.memory import MemoryWatch
from collector.servers.server import memory_of
from collector.store.app_name import agree_on_app
from collector.store.port import TallyStore
from collector.store.redis_store import RedisStore
from collector.text import plural
from collector.upkeep.maintenance import Maintenance, Seen
from collector.upkeep.redis_retirement import RedisRetirement
from collector.upkeep.retention import Retention
from collector.workers import announce_when_ready, begin_worker, require_free_address, resolve, run_workers

_log = logging.getLogger(__name__)

WORKER_STOP_S = 10
"""Seconds that a worker may take to finish its requests: more than the store may take to answer one."""

MAX_CONNECTIONS = 512
"""Connections that a worker holds at once, half of the files that many systems let it open; more wait in the kernel."""

FOLLOW_S = 1.0
"""Seconds between two looks of a worker at what is served."""


def serve(config: CollectorConfig) -> None:
    """Serve until a signal ends it.

    Raises:
        ConfigError: if the address, the store or the data directory cannot be used.
        RegistryError: if the registry cannot be used.

    """
    configure(config.log_format)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the workers run: all files are read here anyway
    served = Served(Registry.load(config.registry), load_access(config))
    address = resolve(config.host)
    require_free_address(address, config.port)
    where = "the store of --redis" if config.redis_url else str(config.data_dir.absolute())
    _log.info("starting on %s", where, extra=Event.STARTING.extra)
    with contextlib.ExitStack() as running:
        store_url, every_tick = running.enter_context(_store_url(config))
        open_anew = partial(RedisStore, store_url, config.promise, is_cluster=config.is_cluster)
        store = open_anew()
        store.prepare()
        store.agree_on_grace(config.grace_s)
        agree_on_app(store, served.registry.app, renames=config.renames_app)
        board = Board.with_state(served)
        reloader = Reloader(served, config.registry, config.access_file, board.post)
        retention = Retention(RedisRetirement(store), lambda: reloader.served.registry, grace_s=config.grace_s)

        memory_used = MemoryWatch(lambda: store.ask_servers(memory_of))

        def look_after() -> Seen:
            is_noted = every_tick()
            retention()
            return Seen(is_noted, memory_used())

        maintenance = Maintenance(store, store.logs(), grace_s=config.grace_s, every_tick=look_after)
        counts = running.enter_context(_metrics(config, maintenance))
        require_free_address(address, config.port)  # metrics, or another collector, may have taken it meanwhile
        maintenance.start()
        reloader.start()
        words = f"with {plural(len(served.registry.metrics), 'metric')}, on {where}, {_holds(store)}"
        announce_when_ready(config.host, config.port, words, config.log_format)
        try:
            run_workers(
                partial(worker_app, config, board, partial(open_anew, layout=store.layout), counts),
                log_format=config.log_format,
                on_hangup=reloader.ask,
                address=address,
                port=config.port,
                interface=Interfaces.WSGI,
                workers=config.workers,
                blocking_threads=config.threads,
                backpressure=MAX_CONNECTIONS,
                workers_kill_timeout=WORKER_STOP_S,
            )
        finally:
            reloader.stop()
            maintenance.stop()
    _log.info("stopped", extra=Event.STOPPED.extra)


def _holds(store: TallyStore) -> str:
    closed = store.closed_windows()
    return f"whose windows are {len(store.tallied_windows() - closed)} open, {len(closed)} closed"


def load_access(config: CollectorConfig) -> Access:
    """Return who may do what.

    Raises:
        ConfigError: if the file of keys cannot be used.

    """
    if config.access_file is None:
        return Access.of_token(config.read_token or "")
    return Access.load(config.access_file)


@contextlib.contextmanager
def _store_url(config: CollectorConfig) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yield where the store is, and what must be looked after while it is used."""
    if config.redis_url is not None:
        yield config.redis_url, lambda: True
        return
    memory_bytes = config.store_memory_bytes or embedded_limit_bytes()
    with EmbeddedStore(config.data_dir, memory_bytes=memory_bytes) as embedded:
        yield embedded.url, embedded.look_after


@contextlib.contextmanager
def _metrics(config: CollectorConfig, maintenance: Maintenance) -> Iterator[Sheet | None]:
    """Serve metrics if they are wanted, and yield the sheet on which workers count."""
    if config.metrics_bind is None:
        yield None
        return
    from collector.monitoring.prometheus import served_metrics  # noqa: PLC0415 workers import this module too, and need no metrics

    host, port = config.metrics_bind
    sheet = new_sheet()
    with served_metrics(resolve(host, "--metrics-bind"), port, sheet, lambda: maintenance.health):
        yield sheet


def worker_app(
    config: CollectorConfig, board: Board, open_store: Callable[[], TallyStore], counts: Sheet | None = None
) -> Flask:
    """Return the application of one worker process. Run in the worker.

    It needs neither the files nor the store to start: a worker is replaced when all of them may be away.
    """
    begin_worker()
    live = Live(board.latest())
    threading.Thread(target=_follow, args=(board, live), daemon=True).start()
    return create_app(
        live,
        open_store(),
        cors_origins=config.cors_origins,
        grace_s=config.grace_s,
        snapshot_interval_s=config.snapshot_interval_s,
        counters=Counters(counts),
    )


def _follow(board: Board, live: Live) -> None:
    """Serve what the main process says, for as long as the worker lives."""
    while True:
        time.sleep(FOLLOW_S)
        live.now = board.latest()
