"""``hearsay-collector upgrade``: a store that an older version wrote."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from collector.commands.open_store import require_embedded
from collector.commands.options import ErrorsForPeople, cluster_option, data_dir_option, redis_option
from collector.durability import IN_MEMORY
from collector.embedded.store import EmbeddedStore
from collector.store.redis_store import RedisStore
from collector.store.schema import Purpose
from collector.store.upgrade import upgrade


@click.command("upgrade")
@data_dir_option
@redis_option
@cluster_option
def upgrade_store(data_dir: Path, redis_url: str | None, *, is_cluster: bool) -> None:
    """Bring a store that an older version wrote to this version's schema, while no collector runs on it.

    Broken off, it is run again. Take a backup before: an older version reads the store no more.
    """
    with ErrorsForPeople(), contextlib.ExitStack() as stack:
        if redis_url is None:
            require_embedded(data_dir)
        url = redis_url or stack.enter_context(EmbeddedStore(data_dir)).url  # refused while a collector runs
        store = RedisStore(url, IN_MEMORY, is_cluster=is_cluster)
        store.prepare(Purpose.UPGRADE)
        before, after = upgrade(store)
        said = f"was upgraded from schema {before} to {after}" if before < after else f"has schema {after} already"
        click.echo(f"the store {said}")
