"""Runs the relay with settings that are validated once.

One worker process mixes the uploads. If this process dies, another process replaces it.
"""

from __future__ import annotations

import contextlib
import logging
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import SystemRandom

from granian.constants import Interfaces

from client_sdk.protocol.wire.base_url import is_base_url, is_readable_on_the_way
from collector.config import TOKEN, require_long, require_ports
from collector.counters import SharedCounters, WorkerCounters, new_shared_counters
from collector.errors import ConfigError, OptionError
from collector.log import Event, LogFormat, configure
from collector.relay.app import RelayApp, Room
from collector.relay.forward import CollectorUnavailableError, Forwarder
from collector.relay.mixer import ANSWER_DEADLINE_S, Mixer
from collector.relay.stops import StopsFile, StopsReader
from collector.workers import announce_when_ready, begin_worker, require_free_address, resolve, run_workers

DEFAULT_GATHER_S = 5.0

MAX_GATHER_S = 10.0
"""The maximum gathering time of a batch, in seconds.

A device waits half a minute for its response. Within this time, the relay must gather the batch and
get the collector's response.
"""

DEFAULT_HELD = 4096
"""The default maximum number of held uploads. It is enough for 400 uploads per second, if each is
held for 10 seconds.
"""

MAX_HELD = 60_000
"""The maximum of --held. Each held upload needs a connection, and an address has 65,536 ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig:
    """All settings of a relay.

    Attributes:
        collector: the base URL of the collector, such as ``https://telemetry.example.com``.
        key: the secret of the relay key in the collector's access file.
        state: the file that stores the stopped questions (see `collector.relay.stops`).
        host: the address to listen on.
        port: the TCP port to listen on, from 1 to 65535.
        gather_s: maximum number of seconds for which a batch gathers uploads, above 0.
        held: maximum number of uploads that are held at the same time.
        log_format: the format of the lines on standard error.
        metrics_bind: address and port to serve Prometheus metrics on, or None.
        allow_plain_http: whether the collector's URL may be an http URL of another machine.

    """

    collector: str
    key: str = field(repr=False)
    state: Path
    host: str
    port: int
    gather_s: float = DEFAULT_GATHER_S
    held: int = DEFAULT_HELD
    log_format: LogFormat = LogFormat.TEXT
    metrics_bind: tuple[str, int] | None = None
    allow_plain_http: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that cannot work.

        Raises:
            ConfigError: if a setting cannot work. The message names the setting. For every setting
                except the key, the error is an OptionError.

        """
        if not is_base_url(self.collector):  # the URL is not shown, because it may contain a password
            raise OptionError(
                "--to must be a URL such as https://telemetry.example.com, without a user, a query or spaces"
            )
        if is_readable_on_the_way(self.collector) and not self.allow_plain_http:
            raise OptionError(
                "--to must be an https:// URL, unless the collector is on this machine: anyone on the network "
                "path could read the relay key and the uploads. To send them anyway, add --allow-plain-http"
            )
        if not TOKEN.fullmatch(self.key):
            raise ConfigError("the relay key must be printable ASCII without spaces")
        require_long(self.key, "the relay key")
        require_ports(self.port, self.metrics_bind)
        if not 0 < self.gather_s <= MAX_GATHER_S:
            raise OptionError(f"--gather must be above 0 and at most {MAX_GATHER_S} seconds, not {self.gather_s}")
        if not 1 <= self.held <= MAX_HELD:
            raise OptionError(f"--held must be from 1 to {MAX_HELD}, not {self.held}")


_log = logging.getLogger(__name__)

SPARE_CONNECTIONS = 1024
"""The number of connections in addition to those of held uploads.

They are for arriving bodies (see `Arrivals`), for devices whose uploads are refused because the
relay is full, and for health checks.
"""

SPARE_FILES = 128
"""The number of open files other than connections of devices.

They include the process's own files, and its connections to the collector.
"""


def serve(config: RelayConfig) -> None:
    """Serve until a signal arrives. Then send the held uploads, and respond to their devices.

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
    """Serve metrics until the context ends, and yield the counters to which the worker adds.

    If the operator wants no metrics, yield None.
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
    """Allow this process and its children to have enough open files. Each connection needs one.

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
    """Create the file of stops if there is none, and check that it can be written.

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
    """Send an empty batch to find out whether the key is wrong.

    If the collector is down, only log a warning, because the collector may start later.
    """
    try:
        Forwarder(config.collector, config.key).post(b"")
    except CollectorUnavailableError as error:
        if error.is_refusal:
            raise ConfigError(f"the collector does not accept uploads: {error}") from error
        _log.warning("the collector does not accept uploads yet: %s", error, extra=Event.COLLECTOR_DOWN.extra)
