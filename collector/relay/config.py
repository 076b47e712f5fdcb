"""The relay's settings, which are validated once when the relay starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from client_sdk.protocol.wire.base_url import is_base_url, is_readable_on_the_way
from collector.config import TOKEN, require_long, require_ports
from collector.errors import ConfigError, OptionError
from collector.log import LogFormat

DEFAULT_GATHER_S = 5.0

MAX_GATHER_S = 10.0
"""The maximum gathering time of a batch, in seconds.

A device waits half a minute for its response. In this time, the relay gathers the batch and gets
the collector's response.
"""

DEFAULT_HELD = 4096
"""The default of --held: enough for 400 uploads per second, each held for 10 seconds."""

MAX_HELD = 60_000
"""The maximum of --held. Each held upload needs a connection, and an address has 65,536 ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig:
    """All settings of a relay.

    Attributes:
        collector: the base URL of the collector, such as ``https://telemetry.example.com``.
        key: the secret of the relay key in the collector's access file.
        state: the file that stores the stopped metrics (see `collector.relay.stops`).
        gather_s: maximum number of seconds for which a batch gathers uploads, above 0.
        held: maximum number of uploads that are held at the same time.
        metrics_bind: the address and port for Prometheus metrics. None to serve no metrics.
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
            ConfigError: if a setting cannot work. For every setting except the key, the error is an
                OptionError.
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
