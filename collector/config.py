"""What an operator decides, validated once at the edge."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from client_sdk.protocol import GRACE_S
from collector.durability import Durability, Promise, _require, promised
from collector.errors import ConfigError
from collector.log import LogFormat

TOKEN = re.compile(r"[!-~]+")
"""What a header can carry without doubt: printable ASCII without blanks."""

MIN_TOKEN = 16
"""Characters of a secret that somebody chose: 64 random bits, if it is of hex digits, which a hundred thousand guesses
a second over the network do not find in millions of years. A word of three letters they find at once."""

MAX_PORT = 65_535

HOUR_S = 3600


DAY_S = 24 * HOUR_S

MAX_GRACE_S = 366 * DAY_S
"""A window that takes reports for a year after its end answers nobody's question any more."""

MAX_SNAPSHOT_INTERVAL_S = 366 * DAY_S


DEFAULT_THREADS = 16
"""A body is read by a thread that waits for it: so many slow senders stop a worker that has no proxy before it."""


LEAST_STORE_BYTES = 16 * 2**20
"""An empty store takes about a megabyte, and some more for each client."""

SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorConfig:
    """Every setting of a collector.

    Attributes:
        registry: the file of definitions.
        host: the address to listen on.
        port: the TCP port to listen on, from 1 to 65535.
        data_dir: the embedded store's directory, unless ``redis_url`` names another store.
        redis_url: a Redis or Valkey server, ``redis://``, ``rediss://`` or ``unix://``; or none.
        is_cluster: whether that server is a node of a cluster.
        access_file: the file of keys; or none.
        read_token: the bearer token that reads tallies where there is no such file, else none; never empty.
        cors_origins: origins of web pages that may report, such as ``https://app.example.com``.
        grace_s: seconds after its end during which a window still takes reports.
        snapshot_interval_s: least seconds between two looks at windows that are still open.
        durability: what an acknowledgement promises.
        copies: how many replicas have what is acknowledged on disk, from 1 to 5, where it is ``replicated``.
        workers: worker processes, from 1 to 64.
        threads: threads a worker that handle requests, from 1 to 256.
        log_format: how lines on standard error are written.
        renames_app: whether a store of an app of another name is that of this registry's from now on.
        metrics_bind: address and port to serve Prometheus metrics on; or none.
        store_memory_bytes: how much memory the embedded store may use; none for a half of what there is.

    """

    registry: Path
    host: str
    port: int
    data_dir: Path
    redis_url: str | None = field(repr=False)
    is_cluster: bool = False
    access_file: Path | None = None
    read_token: str | None = field(default=None, repr=False)
    cors_origins: tuple[str, ...] = ()
    grace_s: int = GRACE_S
    snapshot_interval_s: int = HOUR_S
    durability: Durability = Durability.FSYNC
    copies: int = 1
    workers: int = 1
    threads: int = DEFAULT_THREADS
    log_format: LogFormat = LogFormat.TEXT
    renames_app: bool = False
    metrics_bind: tuple[str, int] | None = None
    store_memory_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for option, (_, port) in (("--bind", ("", self.port)), ("--metrics-bind", self.metrics_bind or ("", 1))):
            _require(1 <= port <= MAX_PORT, f"{option}: the port must be from 1 to {MAX_PORT}, not {port}")
        _require(
            (self.read_token is None) is (self.access_file is not None),
            "the file of --access says who reads tallies: leave HEARSAY_READ_TOKEN and --read-token-file unset with it",
        )
        _require(
            self.read_token is None or TOKEN.fullmatch(self.read_token) is not None,
            "the read token must be printable ASCII without blanks: set HEARSAY_READ_TOKEN to one, or leave it unset",
        )
        require_long(self.read_token, "the read token")
        _require(
            0 <= self.grace_s <= MAX_GRACE_S, f"--grace must be from 0 to {MAX_GRACE_S} seconds, not {self.grace_s}"
        )
        _require(
            1 <= self.snapshot_interval_s <= MAX_SNAPSHOT_INTERVAL_S,
            f"--snapshot-interval must be from 1 to {MAX_SNAPSHOT_INTERVAL_S} seconds, not {self.snapshot_interval_s}",
        )
        _require(1 <= self.workers <= 64, f"--workers must be from 1 to 64, not {self.workers}")  # noqa: PLR2004 said in the docstring
        _require(1 <= self.threads <= 256, f"--threads must be from 1 to 256, not {self.threads}")  # noqa: PLR2004 said in the docstring
        _require(not self.is_cluster or self.redis_url is not None, "--cluster needs --redis URL, of any of its nodes")
        _require(
            self.store_memory_bytes is None or self.redis_url is None,
            "--store-memory is for the embedded store: set maxmemory on the server of --redis",
        )
        _require(
            self.store_memory_bytes is None or self.store_memory_bytes >= LEAST_STORE_BYTES,
            f"--store-memory must be at least {LEAST_STORE_BYTES // 2**20}M",
        )
        promised(self.durability, self.copies, self.redis_url)
        for origin in self.cors_origins:
            _require(
                _is_origin(origin),
                f"--cors-origin must be like https://app.example.com, lower case and without a path, not {origin!r}",
            )

    @property
    def promise(self) -> Promise:
        """What an acknowledgement promises."""
        return promised(self.durability, self.copies, self.redis_url)


def require_long(secret: str | None, what: str) -> None:
    """Refuse a secret that is there and so short that it can be guessed.

    Raises:
        ConfigError: saying how to make another.

    """
    _require(
        secret is None or len(secret) >= MIN_TOKEN,
        f"{what} has fewer than {MIN_TOKEN} characters, so that it can be guessed: take a random one, as this makes: "
        "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
    )


def _is_origin(text: str) -> bool:
    parts = urlsplit(text)
    plain = parts.scheme in ("http", "https") and bool(parts.hostname) and text == f"{parts.scheme}://{parts.netloc}"
    return plain and text == text.lower() and not set(" *@") & set(text)


def parse_bind(text: str, option: str = "--bind") -> tuple[str, int]:
    """Read ``HOST:PORT``; an IPv6 address stands in brackets.

    Raises:
        ConfigError: if it is something else.

    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"{option} must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, not {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parse_size(text: str, option: str) -> int:
    """Read a number of bytes, such as ``1073741824``, ``1024M`` or ``1G``.

    Raises:
        ConfigError: if it is something else.

    """
    found = SIZE.fullmatch(text)
    if found is None:
        raise ConfigError(f"{option} must be a number of bytes, or of K, M, G or T of 1024 each, such as 2G")
    number, unit = found.groups()
    return int(number) << 10 * " KMGT".index(unit or " ")
