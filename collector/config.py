"""The operator's settings, which are validated once when the service starts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry, in_trial
from client_sdk.protocol.window import GRACE_S
from collector.errors import OptionError, require, require_option
from collector.log import LogFormat
from collector.required_settings import Durability, Promise, promised

TOKEN = re.compile(r"[!-~]+")
"""The pattern of a secret that is safe in an HTTP header: printable ASCII without spaces."""

MIN_TOKEN = 16
"""The minimum number of characters of a secret that a person chooses.

For instance, 16 random hex digits are 64 random bits. At a hundred thousand guesses per second, an
attacker would need millions of years.
"""

MAX_PORT = 65_535

PORT = re.compile(r"[0-9]{1,9}")

HOUR_S = 3600

DAY_S = 24 * HOUR_S

MAX_GRACE_S = 366 * DAY_S
"""The maximum grace period, in seconds. Even later results would be useless."""

MAX_SNAPSHOT_INTERVAL_S = 366 * DAY_S

DEFAULT_THREADS = 16
"""The default number of threads in a worker.

A thread waits until the whole body of its request has arrived. Without a proxy, slow senders could
therefore occupy all threads.
"""

LEAST_STORE_BYTES = 16 * 2**20
"""The minimum memory limit of the embedded store, in bytes.

An empty store needs about 1 MB, and each connection needs additional memory.
"""

SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorConfig:
    """All settings of a collector.

    Attributes:
        registry: the file that defines the metrics.
        data_dir: the embedded store's directory, unless ``redis_url`` names another store.
        redis_url: the URL of a Redis or Valkey server. None for the embedded store.
        is_cluster: whether the server at ``redis_url`` is a node of a cluster.
        access_file: the file that lists the keys. None if there is no such file.
        read_token: the bearer token for reading tallies. None if there is an access file.
        cors_origins: origins of web pages that may report, such as ``https://app.example.com``.
        grace_s: how long a window accepts reports after its end, in seconds.
        snapshot_interval_s: the minimum number of seconds between two snapshots of open windows. It
            is 0 only in a trial.
        durability: where a report is stored before it is acknowledged.
        copies: the number of replicas, from 1 to 5, that must have a report on disk before the
            report is acknowledged. It applies only if ``durability`` is ``replicated``.
        workers: the number of worker processes, from 1 to 64.
        threads: the number of request threads in each worker, from 1 to 256.
        renames_app: whether to accept a store that was created under another app name, because the
            app has been renamed.
        allows_unknown_editions: whether to start even if devices report editions that neither the
            registry nor its history defines.
        metrics_bind: the address and port for Prometheus metrics. None to serve no metrics.
        store_memory_bytes: the memory limit of the embedded store, or None for half of the
            machine's memory.
        is_trial: whether to count only reports of trials, in a separate store, and to show open
            windows at any time.
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
    allows_unknown_editions: bool = False
    metrics_bind: tuple[str, int] | None = None
    store_memory_bytes: int | None = None
    is_trial: bool = False

    def __post_init__(self) -> None:
        require_ports(self.port, self.metrics_bind)
        require_option(
            (self.read_token is None) is (self.access_file is not None),
            (
                "with --access, the access file says who may read tallies: unset HEARSAY_READ_TOKEN, and omit "
                "--read-token-file"
            ),
        )
        require(
            self.read_token is None or TOKEN.fullmatch(self.read_token) is not None,
            "the read token must be printable ASCII without spaces: correct HEARSAY_READ_TOKEN, or unset it",
        )
        require_long(self.read_token, "the read token")
        require_option(
            0 <= self.grace_s <= MAX_GRACE_S, f"--grace must be from 0 to {MAX_GRACE_S} seconds, not {self.grace_s}"
        )
        require_option(
            (not self.is_trial) <= self.snapshot_interval_s <= MAX_SNAPSHOT_INTERVAL_S,
            f"--snapshot-interval must be from 1 to {MAX_SNAPSHOT_INTERVAL_S} seconds, not {self.snapshot_interval_s}",
        )
        require_option(1 <= self.workers <= 64, f"--workers must be from 1 to 64, not {self.workers}")  # noqa: PLR2004 as the docstring says
        require_option(1 <= self.threads <= 256, f"--threads must be from 1 to 256, not {self.threads}")  # noqa: PLR2004 as the docstring says
        require_option(
            not self.is_cluster or self.redis_url is not None, "--cluster needs --redis with the URL of any node"
        )
        require_store_memory(self.store_memory_bytes, self.redis_url)
        promised(self.durability, self.copies, self.redis_url)
        for origin in self.cors_origins:
            require_option(
                _is_origin(origin),
                f"--cors-origin must look like https://app.example.com, lowercase and without a path, not {origin!r}",
            )

    def read_registry(self) -> Registry:
        """Return the registry, with the former definitions from its history file."""
        registry = history.read(self.registry)
        return in_trial(registry) if self.is_trial else registry

    @property
    def promise(self) -> Promise:
        """How durably a report is stored before it is acknowledged."""
        return promised(self.durability, self.copies, self.redis_url)


def require_ports(port: int, metrics_bind: tuple[str, int] | None) -> None:
    """Refuse ports that are out of range, and equal ports for the service and its metrics."""
    metrics_port = None if metrics_bind is None else metrics_bind[1]
    for option, named in (("--bind", port), ("--metrics-bind", metrics_port)):
        if named is not None:
            require_option(1 <= named <= MAX_PORT, f"{option}: the port must be from 1 to {MAX_PORT}, not {named}")
    require_option(port != metrics_port, f"--metrics-bind: port {port} is already used by --bind; choose another")


def require_store_memory(store_memory_bytes: int | None, redis_url: str | None) -> None:
    """Refuse a memory limit that is too low, or that is given for a store that is not embedded."""
    require_option(
        store_memory_bytes is None or redis_url is None,
        "--store-memory is for the embedded store: set maxmemory on the server of --redis",
    )
    require_option(
        store_memory_bytes is None or store_memory_bytes >= LEAST_STORE_BYTES,
        f"--store-memory must be at least {LEAST_STORE_BYTES // 2**20}M",
    )


def require_long(secret: str | None, what: str) -> None:
    """Refuse a secret that is short enough to be guessed."""
    require(
        secret is None or len(secret) >= MIN_TOKEN,
        (
            f"{what} has fewer than {MIN_TOKEN} characters and can be guessed: use a random one, for example from: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
        ),
    )


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:  # an incomplete IPv6 address
        return False
    plain = parts.scheme in ("http", "https") and bool(parts.hostname) and text == f"{parts.scheme}://{parts.netloc}"
    return plain and text == text.lower() and not set(" *@") & set(text)


def parse_bind(text: str, option: str = "--bind") -> tuple[str, int]:
    """Parse ``HOST:PORT``, with an IPv6 address in brackets, or raise an OptionError."""
    host, _, port = text.rpartition(":")
    if not host or not PORT.fullmatch(port):
        raise OptionError(f"{option} must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, not {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parse_size(text: str, option: str) -> int:
    """Parse a number of bytes, such as ``1024M`` or ``1G``, or raise an OptionError."""
    match = SIZE.fullmatch(text)
    if match is None:
        raise OptionError(
            f"{option} must be a number of bytes, or a number with K, M, G or T (powers of 1024), such as 2G"
        )
    number, unit = match.groups()
    return int(number) << 10 * " KMGT".index(unit or " ")
