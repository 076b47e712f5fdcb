"""The store that a command works on, named by its options."""

from __future__ import annotations

import contextlib
from pathlib import Path

from collector.embedded.aof import STORE_DIR
from collector.embedded.directory import running_store_url
from collector.embedded.store import UNLIMITED, EmbeddedStore
from collector.errors import ConfigError
from collector.required_settings import Durability, promised
from collector.store.redis_store import RedisStore


def open_store(
    data_dir: Path, redis_url: str | None, *, is_cluster: bool, durability: Durability, copies: int
) -> RedisStore:
    """Return a store that is being served. What a command writes is kept as safely as reports are.

    Args:
        data_dir: directory of a running collector's embedded store; ignored if there is a
            ``redis_url``.
        redis_url: a server, or any node of a cluster; or None.
        is_cluster: whether ``redis_url`` names a cluster.
        durability: where a write must have arrived when it is answered.
        copies: how many replicas must have it then, with ``replicated``.

    Raises:
        ConfigError: if no collector runs on the directory, or the store cannot be used or cannot
            keep that promise.
        StoreUnavailableError: if the store does not answer.

    """
    promise = promised(durability, copies, redis_url)
    url = running_store_url(data_dir) if redis_url is None else redis_url
    store = RedisStore(url, promise, is_cluster=is_cluster)
    store.prepare()
    return store


def embedded_url(data_dir: Path, stack: contextlib.ExitStack, *, memory_bytes: int = UNLIMITED) -> str:
    """Return where an embedded store listens.

    If no collector runs it, start it until the stack is left.

    Args:
        data_dir: the store's directory.
        stack: ends the store, if it was started.
        memory_bytes: how much memory the store may use, if it is started.

    Raises:
        ConfigError: if there is no embedded store in the directory, or it cannot be used.

    """
    try:
        return running_store_url(data_dir)
    except ConfigError:
        require_embedded(data_dir)
        return stack.enter_context(EmbeddedStore(data_dir, memory_bytes=memory_bytes)).url


def require_embedded(data_dir: Path) -> None:
    """Refuse a directory that has never held an embedded store.

    Raises:
        ConfigError: if it has not.

    """
    if not (data_dir / STORE_DIR).is_dir():
        raise ConfigError(f"there is no store in {data_dir}: name another --data-dir, or --redis URL")
