"""The settings of a relay, validated once at the edge."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from client_sdk.protocol.wire.base_url import is_base_url, is_readable_on_the_way
from collector.config import TOKEN, require_long
from collector.errors import ConfigError, OptionError
from collector.log import LogFormat

DEFAULT_GATHER_S = 5.0

MAX_GATHER_S = 10.0
"""A device waits half a minute for its answer.

Gathering and the collector's own time stay well below that.
"""

DEFAULT_HELD = 4096
"""About four hundred uploads a second, if each is held for ten seconds."""

MAX_HELD = 60_000
"""Each needs a connection, and an address has about this many ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig:
    """Every setting of a relay.

    Attributes:
        collector: the base URL of the collector, such as ``https://telemetry.example.com``.
        key: the relay key that the collector knows.
        state: the file in which the stops that the relay hands out are kept.
        host: the address to listen on.
        port: the TCP port to listen on, from 1 to 65535.
        gather_s: maximum number of seconds for which a batch gathers, above 0.
        held: maximum number of uploads that are held at once.
        log_format: how lines on standard error are written.
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
    allow_plain_http: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that cannot work.

        Raises:
            ConfigError: naming the setting; an OptionError unless that is the key.

        """
        if not is_base_url(self.collector):  # not shown: it may hold a password
            raise OptionError("--to must be a URL such as https://telemetry.example.com, without user, query or blanks")
        if is_readable_on_the_way(self.collector) and not self.allow_plain_http:
            raise OptionError(
                "--to must be an https:// URL, unless it is on this machine: anybody on the way could read the relay "
                "key and the uploads; --allow-plain-http sends them nevertheless"
            )
        if not TOKEN.fullmatch(self.key):
            raise ConfigError("the relay key must be printable ASCII without blanks")
        require_long(self.key, "the relay key")
        if not 1 <= self.port <= 65_535:  # noqa: PLR2004 what TCP has
            raise OptionError(f"--bind: the port must be from 1 to 65535, not {self.port}")
        if not 0 < self.gather_s <= MAX_GATHER_S:
            raise OptionError(f"--gather must be above 0 and at most {MAX_GATHER_S} seconds, not {self.gather_s}")
        if not 1 <= self.held <= MAX_HELD:
            raise OptionError(f"--held must be from 1 to {MAX_HELD}, not {self.held}")
