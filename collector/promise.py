"""What a server must be set to, so that an acknowledgement means what it says. Pure: settings in, refusal out."""

from __future__ import annotations

from collections.abc import Mapping

from collector.config import ConfigError, Durability

OLDEST_VERSION = 7
"""EXPIREAT with NX and GT came with Redis 7.0."""

NO_EVICTION = {"maxmemory-policy": "noeviction"}
"""A store that is full must say so: an evicted tally is lost, an evicted id is counted twice."""

WRITE_THROUGH = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}
"""What makes an acknowledgement mean that the write is on disk."""

SETTINGS = (*NO_EVICTION, *WRITE_THROUGH)
"""The settings to ask for."""


def require_promise(version: str, settings: Mapping[str, str], durability: Durability) -> None:
    """Refuse a server that would not keep what it acknowledges.

    Args:
        version: the Redis version that it is compatible with, such as ``7.2.4``.
        settings: the values of SETTINGS.
        durability: what is promised.

    Raises:
        ConfigError: naming what to set, and to what.

    """
    if int(version.partition(".")[0]) < OLDEST_VERSION:
        raise ConfigError(f"the store is version {version}; it must be Redis {OLDEST_VERSION}, Valkey 7.2, or later")
    required = NO_EVICTION | (WRITE_THROUGH if durability is Durability.FSYNC else {})
    wrong = {name: value for name, value in required.items() if settings.get(name) != value}
    if wrong:
        raise ConfigError(
            "the store would not keep what it acknowledges; set on it: "
            + "; ".join(f"{name} {value} (now {settings.get(name)})" for name, value in wrong.items())
            + ". With --durability memory it may write through later than it answers, and a crash of it loses what "
            "it acknowledged last"
        )
