"""Runs the relay: one process that mixes. It is replaced if it dies."""

from __future__ import annotations

import logging
import resource
import time
from functools import partial
from random import SystemRandom

from granian.constants import Interfaces

from collector.errors import ConfigError
from collector.log import configure
from collector.relay.app import RelayApp, Room
from collector.relay.config import RelayConfig
from collector.relay.forward import CollectorUnavailableError, Forwarder
from collector.relay.mixer import ANSWER_DEADLINE_S, Mixer
from collector.relay.stops import StopsFile, StopsReader
from collector.workers import announce_when_ready, begin_worker, require_free_address, resolve, run_workers

_log = logging.getLogger(__name__)

SPARE_CONNECTIONS = 1024
"""Connections besides those of held uploads.

They are for arriving bodies (see `Arrivals`), for answers that there is no room, and for health
checks.
"""

SPARE_FILES = 128
"""Files besides connections: the process's own, and its connections to the collector."""


def serve(config: RelayConfig) -> None:
    """Serve until a signal ends it; held uploads are sent and answered first.

    Raises:
        ConfigError: if the address or the file of stops cannot be used, or the collector refuses
            the relay key.

    """
    configure(config.log_format)
    address = resolve(config.host)
    require_free_address(address, config.port)
    _allow_files(config.held + SPARE_CONNECTIONS + SPARE_FILES)
    _check_file(StopsFile(config.state))
    _check_collector(config)
    announce_when_ready(config.host, config.port, "as a relay", config.log_format)
    run_workers(
        partial(relay_app, config),
        log_format=config.log_format,
        address=address,
        port=config.port,
        interface=Interfaces.ASGINL,
        workers=1,  # a batch gathers in one process: several would mix less
        backpressure=config.held + SPARE_CONNECTIONS,
        workers_kill_timeout=int(ANSWER_DEADLINE_S) + 1,
    )


def relay_app(config: RelayConfig) -> RelayApp:
    """Return the application. Run in the worker."""
    begin_worker()
    system = SystemRandom()
    forwarder = Forwarder(config.collector, config.key)
    stops = StopsReader(StopsFile(config.state), forwarder.get_registry, clock=time.time, uniform=system.uniform)
    stops.start(time.sleep)
    mixer = Mixer(
        forwarder.post,
        gather_s=config.gather_s,
        uniform=system.uniform,
        permute=lambda number: system.sample(range(number), number),
    )
    return RelayApp(mixer, Room(config.held), stopped=lambda: stops.handed_out)


def _allow_files(needed: int) -> None:
    """Let this process and its children open enough files: a connection is a file, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ConfigError(
            f"{needed} files must be open at once, this system allows {hard}: raise its limit (ulimit -Hn), or lower "
            f"--held by {needed - hard}"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _check_file(file: StopsFile) -> None:
    """Begin the file of stops if there is none, and make sure that it can be written."""
    with file.locked():
        if not file.path.exists():
            _log.warning(
                "%s is new: no stop is handed out before the collector has listed it for a day; a relay that had a "
                "file needs that one",
                file.path,
            )
        file.write(file.read())


def _check_collector(config: RelayConfig) -> None:
    """Send an empty batch, which reveals a wrong key.

    A collector that is down may come up later.
    """
    try:
        Forwarder(config.collector, config.key).post(b"")
    except CollectorUnavailableError as error:
        if error.is_refusal:
            raise ConfigError(f"the collector does not take uploads: {error}") from error
        _log.warning("the collector does not take uploads yet: %s", error)
