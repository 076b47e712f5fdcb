"""The store that a command works on, named by its options."""

from __future__ import annotations

from pathlib import Path

from collector.append_only import STORE_DIR
from collector.config import IN_MEMORY, ConfigError
from collector.embedded import running_store_url
from collector.redis_store import RedisStore


def open_store(data_dir: Path, redis_url: str | None, *, is_cluster: bool) -> RedisStore:
    """Return the store, ready; a command may use one that keeps less than the service promises.

    Args:
        data_dir: directory of a running collector's embedded store, unless ``redis_url`` names another store.
        redis_url: a server, or any node of a cluster; or none.
        is_cluster: whether it is a cluster.

    Raises:
        ConfigError: if no collector runs on the directory, or the store cannot be used.
        StoreUnavailableError: if the store does not answer.

    """
    url = redis_url or running_store_url(data_dir)
    store = RedisStore(url, IN_MEMORY, is_cluster=is_cluster)
    store.prepare()
    return store


def require_embedded(data_dir: Path) -> None:
    """Refuse a directory in which there never was an embedded store.

    Raises:
        ConfigError: if it is one.

    """
    if not (data_dir / STORE_DIR).is_dir():
        raise ConfigError(f"there is no store in {data_dir}: name another --data-dir, or --redis URL")
