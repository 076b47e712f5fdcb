"""The settings that keep a server from losing acknowledged writes. This module does no IO."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from collector.errors import ConfigError, require_option

OLDEST_VERSION = (7, 0)
"""The minimum version of Redis, because EXPIREAT has the options NX and GT since this version."""

OLDEST_VERSION_WITH_COPIES = (7, 2)
"""The minimum version for replicas and clusters. Earlier versions lack WAITAOF."""

NO_EVICTION = {"maxmemory-policy": "noeviction"}
"""With this setting, a full store refuses writes instead of deleting keys.

Deleted keys would mean lost tallies, or uploads that are counted twice.
"""

WRITE_THROUGH = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}
"""With these settings, a server writes to disk before every acknowledgment."""

PART_COVERAGE = {"cluster-require-full-coverage": "no"}
"""With this setting, if a cluster loses a node, only uploads with keys on this node fail."""

SETTINGS = (*NO_EVICTION, *WRITE_THROUGH, *PART_COVERAGE)
"""The names of all settings that are checked."""


def require_promise(
    version: str, settings: Mapping[str, str | None], promise: Promise, *, is_cluster: bool = False
) -> None:
    """Refuse a server that could lose acknowledged writes.

    Args:
        version: the Redis version that the server is compatible with, such as ``7.2.4``.
        settings: maps each name in SETTINGS to its value, or to None if the server lacks it.
        promise: the durability that the server must provide.
        is_cluster: whether the server is a node of a cluster.

    Raises:
        ConfigError: if the server could lose acknowledged writes. The message names the settings to
            change, and their required values.
    """
    parts = tuple(map(int, version.split(".")[:2]))
    if parts < OLDEST_VERSION:
        raise ConfigError(f"the store is version {version}; it must be Redis 7, Valkey 7.2, or later")
    if promise.copies and parts < OLDEST_VERSION_WITH_COPIES:
        raise ConfigError(f"the store is version {version}; --durability replicated needs 7.2 or later")
    if is_cluster and parts < OLDEST_VERSION_WITH_COPIES:
        raise ConfigError(f"the store is version {version}; a cluster needs 7.2 or later")
    writes_through = promise.durability is not None
    required = NO_EVICTION | (WRITE_THROUGH if writes_through else {}) | (PART_COVERAGE if is_cluster else {})
    wrong = {name: value for name, value in required.items() if settings.get(name) != value}
    if wrong:
        raise ConfigError(
            "the store could lose acknowledged writes; set on the server: "
            + "; ".join(f"{name} {value} (now {settings.get(name)})" for name, value in wrong.items())
            + _why(wrong)
        )


def _why(wrong: Mapping[str, str]) -> str:
    why = ""
    if wrong.keys() & WRITE_THROUGH.keys():
        why += ". Otherwise a crash can lose acknowledged writes, because the server answers before it writes to disk"
    if wrong.keys() & PART_COVERAGE.keys():
        why += ". If full coverage is required, a lost node stops all uploads, not only those with keys on that node"
    return why


class Durability(StrEnum):
    """The places where counted reports are stored before their upload is acknowledged.

    ``fsync``: the store's disk. ``replicated``: also the disks of replicas. With ``replicated``, no
    report is lost if a server is lost.
    """

    FSYNC = "fsync"
    REPLICATED = "replicated"


class Promise(NamedTuple):
    """How durably counted reports are stored before their upload is acknowledged.

    Attributes:
        durability: where the reports are stored. None for a command that acknowledges no reports.
        copies: the number of replicas that must have the reports on disk. 0 unless ``durability``
            is ``replicated``.
    """

    durability: Durability | None
    copies: int = 0


ON_DISK = Promise(Durability.FSYNC)

NO_PROMISE = Promise(None)


def promised(durability: Durability, copies: int, redis_url: str | None) -> Promise:
    """Return the durability that follows from these options.

    Raises:
        OptionError: if the options contradict each other.
    """
    require_option(
        durability is not Durability.REPLICATED or redis_url is not None,
        (
            "--durability replicated needs replicas, and the embedded store has none: with --redis URL, name a "
            "server or a cluster that has replicas"
        ),
    )
    require_option(1 <= copies <= 5, f"--copies must be from 1 to 5, not {copies}")  # noqa: PLR2004 explained at CollectorConfig
    require_option(
        copies == 1 or durability is Durability.REPLICATED,
        "--copies is for --durability replicated: give both, or neither",
    )
    return Promise(durability, copies if durability is Durability.REPLICATED else 0)
