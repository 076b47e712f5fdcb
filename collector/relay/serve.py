"""Runs the relay. A new process replaces a worker process that dies."""

from __future__ import annotations

import contextlib
import logging
import resource
import time
from collections.abc import Iterator
from functools import partial
from random import SystemRandom
from typing import TYPE_CHECKING

from granian.constants import Interfaces

from collector.counters import SharedCounters, WorkerCounters, new_shared_counters
from collector.errors import ConfigError
from collector.log import Event, configure
from collector.relay.config import RelayConfig
from collector.relay.forward import CollectorUnavailableError, Forwarder
from collector.relay.mixer import ANSWER_DEADLINE_S, Mixer
from collector.relay.stops import StopsFile, StopsReader
from collector.workers import announce_when_ready, begin_worker, require_free_address, resolve, run_workers

if TYPE_CHECKING:
    from collector.relay.app import RelayApp

_log = logging.getLogger(__name__)

SPARE_CONNECTIONS = 1024
"""The number of connections that a relay allows in addition to one for each held upload.

These connections are for arriving bodies, refused uploads and health checks.
"""

SPARE_FILES = 128
"""The number of files that may be open in addition to the connections."""


def serve(config: RelayConfig) -> None:
    """Serve until a signal arrives. Then send the held uploads, and respond to their devices.

    Raises:
        ConfigError: if the address or the file of stopped metrics cannot be used, or the collector
            refuses the relay key.
    """
    configure(config.log_format)
    address = resolve(config.host)
    require_free_address(address, config.port)
    _allow_files(config.held + SPARE_CONNECTIONS + SPARE_FILES)
    _check_file(StopsFile(config.state))
    _check_collector(config)
    with _metrics(config) as counts:
        announce_when_ready(config.host, config.port, "as a relay", config.log_format)
        run_workers(
            partial(relay_app, config, counts),
            log_format=config.log_format,
            address=address,
            port=config.port,
            interface=Interfaces.ASGINL,
            workers=1,  # several processes would gather separate batches, and therefore mix less
            backpressure=config.held + SPARE_CONNECTIONS,
            workers_kill_timeout=int(ANSWER_DEADLINE_S) + 1,
        )


@contextlib.contextmanager
def _metrics(config: RelayConfig) -> Iterator[SharedCounters | None]:
    """Serve metrics during a ``with`` block, and yield the counters to which the worker adds.

    If the relay serves no metrics, yield None.
    """
    if config.metrics_bind is None:
        yield None
        return
    from collector.prometheus import relay_families, served_metrics  # noqa: PLC0415 takes 34 ms, and some relays have no metrics

    host, port = config.metrics_bind
    shared_counters = new_shared_counters()
    with served_metrics(resolve(host, "--metrics-bind"), port, partial(relay_families, shared_counters)):
        yield shared_counters


def relay_app(config: RelayConfig, counts: SharedCounters | None = None) -> RelayApp:
    """Return the application. The worker calls this function."""
    from collector.relay.app import RelayApp, Room  # noqa: PLC0415 takes 100 ms, and the main process does not need it

    begin_worker()
    counters = WorkerCounters(counts)
    system = SystemRandom()
    forwarder = Forwarder(config.collector, config.key)
    stops = StopsReader(StopsFile(config.state), forwarder.get_registry, clock=time.time, uniform=system.uniform)
    stops.start(time.sleep)
    mixer = Mixer(
        forwarder.post,
        gather_s=config.gather_s,
        uniform=system.uniform,
        permute=lambda number: system.sample(range(number), number),
        counters=counters,
    )
    return RelayApp(mixer, Room(config.held), stopped=lambda: stops.handed_out, counters=counters)


def _allow_files(needed: int) -> None:
    """Allow this process and its children to have ``needed`` open files each.

    Raises:
        ConfigError: if the system does not allow so many open files.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ConfigError(
            f"{needed} files must be open at once, but this system allows {hard}: raise its limit (ulimit "
            f"-Hn), or lower --held by {needed - hard}"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _check_file(file: StopsFile) -> None:
    """Create the file of stopped metrics if there is none, and check that it can be written.

    Raises:
        ConfigError: if the file cannot be used.
    """
    with file.locked():
        if not file.path.exists():
            _log.warning(
                (
                    "%s is a new file: devices learn of a stopped question once the collector has listed it for a day. "
                    "If this relay had a state file before, use that file"
                ),
                file.path,
            )
        file.write(file.read())


def _check_collector(config: RelayConfig) -> None:
    """Send an empty batch to find out whether the relay key is wrong.

    If the collector is down, only log a warning. The collector may start later.
    """
    try:
        Forwarder(config.collector, config.key).post(b"")
    except CollectorUnavailableError as error:
        if error.is_refusal:
            raise ConfigError(f"the collector does not accept uploads: {error}") from error
        _log.warning("the collector does not accept uploads yet: %s", error, extra=Event.COLLECTOR_DOWN.extra)
