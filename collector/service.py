"""Runs the collector's service.

The store starts first, then the periodic tasks, then the workers. They stop in the reverse order.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from granian.constants import Interfaces

from client_sdk.protocol.registry.history import unknown_stops
from client_sdk.protocol.registry.registry import Registry
from collector.access import Access, load_access
from collector.config import CollectorConfig
from collector.counters import SharedCounters, Totals, WorkerCounters, new_shared_counters
from collector.embedded.store import EmbeddedStore
from collector.errors import plural, require
from collector.live_config import Reloader, Served, SharedState
from collector.log import Event, configure
from collector.maintenance import Health, Maintenance, OpenReports, ServerState
from collector.own_clock import OwnClockWatch, WindowVerdicts
from collector.redis_servers.clocks import ClockWatch, clock_ahead_s
from collector.redis_servers.memory import MemoryWatch, embedded_limit_bytes
from collector.redis_servers.server import memory_of
from collector.retention import RedisRetirement, Retention
from collector.store.preparation import agree_on_app
from collector.store.redis_store import RedisStore, agree_on_settings
from collector.store.store_protocol import TallyStore
from collector.store.strata import lost_editions, lost_words, own_editions
from collector.store.tally_memory import require_memory
from collector.workers import announce_when_ready, begin_worker, require_free_address, resolve, run_workers

if TYPE_CHECKING:
    from flask import Flask

_log = logging.getLogger(__name__)

WORKER_STOP_S = 10
"""How long a worker may take to finish its requests, in seconds.

The time limit for one response from the store is shorter.
"""

MAX_CONNECTIONS = 512
"""The maximum number of a worker's connections. Further connections wait in the kernel.

Many systems allow a process twice this number of open files.
"""


class RunningStore(NamedTuple):
    """A store that is ready to count uploads.

    Attributes:
        store: the main process's own connection to the store.
        reopen: returns another connection to the store; workers call it.
        once: all editions that collectors on this store have ever accepted, as METRIC:EDITION.
    """

    store: RedisStore
    reopen: Callable[[], TallyStore]
    embedded: EmbeddedStore | None
    once: frozenset[str]


class Chores(NamedTuple):
    """The objects through which the workers and `serve` communicate with the background tasks."""

    shared_state: SharedState
    counts: SharedCounters
    reloader: Reloader


def serve(config: CollectorConfig) -> None:
    """Serve until a signal arrives.

    Raises:
        ConfigError: if the address, the store or the data directory cannot be used.
        ModuleNotFoundError: if Flask is missing. This function checks for Flask, because otherwise
            only the workers would notice.
        RegistryError: if the registry cannot be used.
    """
    if find_spec("flask") is None:
        raise ModuleNotFoundError(name="flask")
    configure(config.log_format)
    # ignore the signal to reload the files until the workers run: the files are being read anyway
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    registry, file = config.read_registry(), config.access_file
    served = Served(registry, Access.of_token(config.read_token or "") if file is None else load_access(file))
    address = resolve(config.host)
    require_free_address(address, config.port)
    place = str(config.data_dir.absolute()) if config.redis_url is None else "the store of --redis"
    _log.info("starting on %s", place, extra=Event.STARTING.extra)
    with running_store(config, served.registry) as running, chores(config, running, served) as background:
        # another collector may have taken the port in the meantime
        require_free_address(address, config.port)
        former = f" and {plural(len(served.registry.former), 'former one')}" if served.registry.former else ""
        metrics = f"with {plural(len(served.registry.metrics), 'question')}{former}"
        metrics = f"for a trial, {metrics}" if config.is_trial else metrics
        words = f"{metrics}, on {place}, {_windows(running.store)}"
        announce_when_ready(config.host, config.port, words, config.log_format)
        run_workers(
            partial(worker_app, config, background.shared_state, running.reopen, background.counts),
            log_format=config.log_format,
            on_hangup=background.reloader.request,
            address=address,
            port=config.port,
            interface=Interfaces.WSGI,
            workers=config.workers,
            blocking_threads=config.threads,
            backpressure=MAX_CONNECTIONS,
            workers_kill_timeout=WORKER_STOP_S,
        )
    _log.info("stopped", extra=Event.STOPPED.extra)


@contextlib.contextmanager
def running_store(config: CollectorConfig, registry: Registry) -> Iterator[RunningStore]:
    """Open the store, and prepare it to count the reports of a registry.

    An embedded store runs during the ``with`` block.

    Raises:
        ConfigError: if the store cannot be used, belongs to another app, or has no space for the
            tallies.
    """
    with contextlib.ExitStack() as stack:
        url, embedded = config.redis_url, None
        if url is None:
            memory_bytes = config.store_memory_bytes or embedded_limit_bytes()
            embedded = stack.enter_context(EmbeddedStore(config.data_dir, memory_bytes=memory_bytes))
            url = embedded.url
        open_store = partial(RedisStore, url, config.promise, is_cluster=config.is_cluster)
        store = open_store()
        store.prepare()
        agree_on_settings(store, config.grace_s, config.promise.copies)
        agree_on_app(store, registry.app, renames=config.renames_app)
        if not config.allows_unknown_editions:
            require_known_editions(store, registry, grace_s=config.grace_s)
        elif not config.is_trial and (
            lost := lost_editions(store, registry, now_s=time.time(), grace_s=config.grace_s)
        ):
            _log.warning("%s; starting anyway, because of %s", lost_words(lost), ALLOWING)
        once = admit(store, registry)
        yield RunningStore(store, partial(open_store, layout=store.layout), embedded, once)


def require_known_editions(store: RedisStore, registry: Registry, *, grace_s: int) -> None:
    """Refuse a registry if an edition with reports in an open window is missing from the registry.

    Raises:
        ConfigError: if an edition is missing. The message names the editions.
        StoreUnavailableError: if the store does not respond.
    """
    lost = lost_editions(store, registry, now_s=time.time(), grace_s=grace_s)
    require(not lost, f"{lost_words(lost)}, or start with {ALLOWING} until their windows have closed")


ALLOWING = "--allow-unknown-editions"


def admit(store: RedisStore, registry: Registry) -> frozenset[str]:
    """Check that a registry's tallies fit into a store, and record the registry's editions there.

    Log a warning about stopped metrics that the registry does not define.

    Returns:
        All editions that collectors on this store have ever accepted, as METRIC:EDITION.

    Raises:
        ConfigError: if the store has no space for the tallies.
        StoreUnavailableError: if the store does not respond.
    """
    for sentence in unknown_stops(registry):
        _log.warning("%s", sentence)
    require_memory(store, registry)
    store.remember_editions(own_editions(registry))
    return frozenset(store.own_editions())


def _readmit(config: CollectorConfig, store: RedisStore, registry: Registry) -> frozenset[str]:
    """Call `admit` for a reloaded registry.

    Refuse missing editions, unless ``config`` allows them.
    """
    if not config.allows_unknown_editions:
        require_known_editions(store, registry, grace_s=config.grace_s)
    return admit(store, registry)


@contextlib.contextmanager
def chores(config: CollectorConfig, running: RunningStore, served: Served) -> Iterator[Chores]:
    """Run the background tasks during a ``with`` block.

    They reload files, close windows, retire tallies and serve metrics.

    Raises:
        ConfigError: if the address of the metrics cannot be used, or if no temporary file can be
            created.
    """
    store, embedded = running.store, running.embedded
    served = replace(served, once=running.once)
    shared_state = SharedState.with_state(served)
    reloader = Reloader(
        served, config.read_registry, config.access_file, shared_state.post, partial(_readmit, config, store)
    )
    retention = Retention(RedisRetirement(store), lambda: reloader.served.registry, grace_s=config.grace_s)
    memory_used = MemoryWatch(lambda: store.ask_servers(memory_of))
    look_at_clocks = ClockWatch(lambda: store.ask_servers(clock_ahead_s))
    open_reports: Callable[[], Mapping[tuple[str, str], int]] = dict
    if config.metrics_bind is not None:
        open_reports = OpenReports(store, grace_s=config.grace_s, interval_s=config.snapshot_interval_s)
    counts = new_shared_counters()
    look_at_own_clock = OwnClockWatch(lambda: WindowVerdicts.from_totals(Totals(counts)))

    def every_tick() -> ServerState:
        is_noted = embedded is None or embedded.look_after()
        retention()
        look_at_clocks()
        return ServerState(is_noted, memory_used(), open_reports(), look_at_own_clock())

    maintenance = Maintenance(store, store.logs(), grace_s=config.grace_s, every_tick=every_tick)

    def health() -> Health:
        return maintenance.health._replace(store_restarts=0 if embedded is None else embedded.restarts)

    with _metrics(config, counts, health):
        maintenance.start()
        reloader.start()
        try:
            yield Chores(shared_state, counts, reloader)
        finally:
            reloader.stop()
            maintenance.stop()


@contextlib.contextmanager
def _metrics(config: CollectorConfig, counts: SharedCounters, health: Callable[[], Health]) -> Iterator[None]:
    if config.metrics_bind is None:
        yield
        return
    from collector.prometheus import families, served_metrics  # noqa: PLC0415 takes 34 ms, and some services have no metrics

    host, port = config.metrics_bind
    with served_metrics(resolve(host, "--metrics-bind"), port, lambda: families(counts, health())):
        yield


def worker_app(
    config: CollectorConfig,
    shared_state: SharedState,
    open_store: Callable[[], TallyStore],
    counts: SharedCounters | None = None,
) -> Flask:
    """Return the application of one worker process. Workers call this function.

    A worker can start even if the files and the store are unavailable.
    """
    from collector.app import create_app  # noqa: PLC0415 takes 80 ms, and the main process does not need it

    begin_worker()
    return create_app(
        shared_state.latest,
        open_store(),
        cors_origins=config.cors_origins,
        grace_s=config.grace_s,
        snapshot_interval_s=config.snapshot_interval_s,
        counters=WorkerCounters(counts),
    )


def _windows(store: TallyStore) -> str:
    closed = store.closed_windows()
    return f"with {len(store.tallied_windows() - closed)} open and {len(closed)} closed windows"
