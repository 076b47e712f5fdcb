"""The store that a command works on, named by its options."""

from __future__ import annotations

from pathlib import Path

from collector.durability import Durability, promised
from collector.embedded.aof import STORE_DIR
from collector.embedded.store import running_store_url
from collector.errors import ConfigError
from collector.store.redis_store import RedisStore


def open_store(
    data_dir: Path, redis_url: str | None, *, is_cluster: bool, durability: Durability, copies: int
) -> RedisStore:
    """Return the store, ready: what it is told is kept as the service's acknowledgements are.

    Args:
        data_dir: directory of a running collector's embedded store, unless ``redis_url`` names another store.
        redis_url: a server, or any node of a cluster; or none.
        is_cluster: whether it is a cluster.
        durability: where a write is when it is answered.
        copies: how many replicas have it then, if it is ``replicated``.

    Raises:
        ConfigError: if no collector runs on the directory, or the store cannot be used, or not keep that promise.
        StoreUnavailableError: if the store does not answer.

    """
    promise = promised(durability, copies, redis_url)
    store = RedisStore(redis_url or running_store_url(data_dir), promise, is_cluster=is_cluster)
    store.prepare()
    return store


def require_embedded(data_dir: Path) -> None:
    """Refuse a directory in which there never was an embedded store.

    Raises:
        ConfigError: if it is one.

    """
    if not (data_dir / STORE_DIR).is_dir():
        raise ConfigError(f"there is no store in {data_dir}: name another --data-dir, or --redis URL")
