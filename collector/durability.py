"""What a server must be set to, so that an acknowledgement means what it says. Pure: settings in, refusal out."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from collector.errors import ConfigError

OLDEST_VERSION = (7, 0)
"""EXPIREAT with NX and GT came with Redis 7.0."""

OLDEST_VERSION_WITH_COPIES = (7, 2)
"""WAITAOF came with Redis 7.2: acknowledgements by replicas need it, and on a cluster tallies that stay true."""

NO_EVICTION = {"maxmemory-policy": "noeviction"}
"""A store that is full must say so: an evicted tally is lost, an evicted id is counted twice."""

WRITE_THROUGH = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}
"""What makes an acknowledgement mean that the write is on disk."""

PART_COVERAGE = {"cluster-require-full-coverage": "no"}
"""On a cluster: else one lost node stops every upload, not those of its slots alone."""

SETTINGS = (*NO_EVICTION, *WRITE_THROUGH, *PART_COVERAGE)
"""The settings to ask for."""


def require_promise(
    version: str, settings: Mapping[str, str | None], promise: Promise, *, is_cluster: bool = False
) -> None:
    """Refuse a server that would not keep what it acknowledges.

    Args:
        version: the Redis version that it is compatible with, such as ``7.2.4``.
        settings: the values of SETTINGS, where the server has them.
        promise: what is promised.
        is_cluster: whether the server is a node of a cluster.

    Raises:
        ConfigError: naming what to set, and to what.

    """
    parts = tuple(map(int, version.split(".")[:2]))
    if parts < OLDEST_VERSION:
        raise ConfigError(f"the store is version {version}; it must be Redis 7, Valkey 7.2, or later")
    if promise.copies and parts < OLDEST_VERSION_WITH_COPIES:
        raise ConfigError(f"the store is version {version}; --durability replicated needs 7.2 or later")
    if is_cluster and parts < OLDEST_VERSION_WITH_COPIES:
        raise ConfigError(f"the store is version {version}; a cluster needs 7.2 or later")
    writes_through = promise.durability is not Durability.MEMORY
    required = NO_EVICTION | (WRITE_THROUGH if writes_through else {}) | (PART_COVERAGE if is_cluster else {})
    wrong = {name: value for name, value in required.items() if settings.get(name) != value}
    if wrong:
        raise ConfigError(
            "the store would not keep what it acknowledges; set on it: "
            + "; ".join(f"{name} {value} (now {settings.get(name)})" for name, value in wrong.items())
            + _why(wrong)
        )


def _why(wrong: Mapping[str, str]) -> str:
    why = ""
    if wrong.keys() & WRITE_THROUGH.keys():
        why += (
            ". With --durability memory it may write through later than it answers, and a crash of it loses what "
            "it acknowledged last"
        )
    if wrong.keys() & PART_COVERAGE.keys():
        why += ". With full coverage required, one lost node of the cluster stops every upload, not its own alone"
    return why


class Durability(StrEnum):
    """What an acknowledgement promises.

    ``fsync``: the counted reports are on the store's disk. ``replicated``: they are on the disks of replicas too, so
    that the loss of a server loses none. ``memory``: they are in the store's memory, and a crash of the store may lose
    what it acknowledged last.
    """

    FSYNC = "fsync"
    REPLICATED = "replicated"
    MEMORY = "memory"


class Promise(NamedTuple):
    """What an acknowledgement promises.

    Attributes:
        durability: where the counted reports are by then.
        copies: how many replicas have them on disk by then; 0 unless ``replicated``.

    """

    durability: Durability
    copies: int = 0


ON_DISK = Promise(Durability.FSYNC)


IN_MEMORY = Promise(Durability.MEMORY)


def promised(durability: Durability, copies: int, redis_url: str | None) -> Promise:
    """Return what is promised of a store of one's own, or of the embedded one.

    Raises:
        ConfigError: if it cannot be.

    """
    _require(
        durability is not Durability.REPLICATED or redis_url is not None,
        "--durability replicated needs replicas, and the embedded store has none: name a server that has some, or "
        "a cluster, with --redis URL",
    )
    _require(1 <= copies <= 5, f"--copies must be from 1 to 5, not {copies}")  # noqa: PLR2004 said at CollectorConfig
    _require(
        copies == 1 or durability is Durability.REPLICATED,
        "--copies is for --durability replicated: give both, or neither",
    )
    return Promise(durability, copies if durability is Durability.REPLICATED else 0)


def _require(holds: bool, problem: str) -> None:  # noqa: FBT001 reads as a sentence
    if not holds:
        raise ConfigError(problem)
