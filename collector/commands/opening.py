"""Functions that connect a command to its store, or start the store.

The functions are not in `options`, because a relay imports `options` but should not need redis-py.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from collector.embedded.aof import STORE_DIR
from collector.embedded.directory import running_store_url
from collector.embedded.store import UNLIMITED, EmbeddedStore
from collector.errors import ConfigError
from collector.required_settings import NO_PROMISE
from collector.store.facts import promise_of
from collector.store.redis_store import RedisStore
from collector.store.shards import Shards


def open_store(data_dir: Path, redis_url: str | None, *, is_cluster: bool) -> RedisStore:
    """Open a collector's store for a command that reads or changes the store.

    Without a ``redis_url``, the store is the embedded store of the collector that is running on
    ``data_dir``. The command's writes are as durable as reports, because the store has recorded the
    --durability and --copies of the collector that started last.

    Raises:
        ConfigError: if no collector is running on ``data_dir``, or if the store cannot be used or
            cannot provide the recorded durability.
        StoreUnavailableError: if the store does not respond.
    """
    url = running_store_url(data_dir) if redis_url is None else redis_url
    shards = Shards(url, NO_PROMISE, is_cluster=is_cluster)
    shards.require_promise()
    store = RedisStore(url, promise_of(shards.facts()), is_cluster=is_cluster, layout=shards.layout)
    shards.disconnect()
    store.prepare()
    return store


def embedded_url(data_dir: Path, stack: contextlib.ExitStack, *, memory_bytes: int = UNLIMITED) -> str:
    """Return the URL at which the embedded store in ``data_dir`` listens.

    If no collector is running the store, this function starts the store, and stops it when
    ``stack`` is closed.

    Raises:
        ConfigError: if ``data_dir`` contains no usable embedded store.
    """
    try:
        return running_store_url(data_dir)
    except ConfigError:
        require_embedded(data_dir)
        return stack.enter_context(EmbeddedStore(data_dir, memory_bytes=memory_bytes)).url


def require_embedded(data_dir: Path) -> None:
    """Refuse a directory that has never contained an embedded store."""
    if not (data_dir / STORE_DIR).is_dir():
        raise ConfigError(f"there is no store in {data_dir}: name another --data-dir, or --redis URL")
