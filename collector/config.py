"""What an operator decides, validated once at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from client_sdk.spec import GRACE_S, HearsayError

HOUR_S = 3600


class ConfigError(HearsayError):
    """A setting that cannot be used; its text says which and what would be right."""


class Durability(StrEnum):
    """What an acknowledgement promises.

    ``fsync``: the counted reports are on the store's disk. ``memory``: they are in the store's memory, and a crash of
    the store may lose what it acknowledged last.
    """

    FSYNC = "fsync"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorConfig:
    """Every setting of a collector.

    Attributes:
        registry: the file of definitions.
        host: the address to listen on.
        port: the TCP port to listen on, from 1 to 65535.
        data_dir: the embedded store's directory, unless ``redis_url`` names another store.
        redis_url: a Redis or Valkey server, ``redis://``, ``rediss://`` or ``unix://``; or none.
        read_token: the bearer token that reads tallies; never empty.
        cors_origins: origins of web pages that may report, such as ``https://app.example.com``.
        grace_s: seconds after its end during which a window still takes reports.
        snapshot_interval_s: least seconds between two looks at windows that are still open.
        durability: what an acknowledgement promises.
        workers: worker processes, from 1 to 64.
        threads: threads a worker that handle requests, from 1 to 256.

    """

    registry: Path
    host: str
    port: int
    data_dir: Path
    redis_url: str | None
    read_token: str
    cors_origins: tuple[str, ...] = ()
    grace_s: int = GRACE_S
    snapshot_interval_s: int = HOUR_S
    durability: Durability = Durability.FSYNC
    workers: int = 1
    threads: int = 4

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        _require(1 <= self.port <= 65_535, f"--bind: the port must be from 1 to 65535, not {self.port}")  # noqa: PLR2004 what TCP has
        _require(bool(self.read_token), "the read token must not be empty: set HEARSAY_READ_TOKEN or leave it unset")
        _require(self.grace_s >= 0, f"--grace must be 0 seconds or more, not {self.grace_s}")
        _require(self.snapshot_interval_s > 0, "--snapshot-interval must be above 0 seconds")
        _require(1 <= self.workers <= 64, f"--workers must be from 1 to 64, not {self.workers}")  # noqa: PLR2004 said in the docstring
        _require(1 <= self.threads <= 256, f"--threads must be from 1 to 256, not {self.threads}")  # noqa: PLR2004 said in the docstring
        for origin in self.cors_origins:
            _require(
                origin.startswith(("http://", "https://")) and origin.count("/") == 2,  # noqa: PLR2004 scheme only
                f"--cors-origin must be like https://app.example.com, without a path, not {origin!r}",
            )


def parse_bind(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT``; an IPv6 address stands in brackets.

    Raises:
        ConfigError: if it is something else.

    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"--bind must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, not {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _require(holds: bool, problem: str) -> None:  # noqa: FBT001 reads as a sentence
    if not holds:
        raise ConfigError(problem)
