"""``hearsay-collector upgrade``: upgrades a store that an older version wrote."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from collector.commands.open_store import require_embedded
from collector.commands.options import cluster_option, data_dir_option, examples, redis_option
from collector.embedded.store import EmbeddedStore
from collector.required_settings import IN_MEMORY
from collector.store.redis_store import RedisStore
from collector.store.schema import Purpose
from collector.upkeep.upgrade import upgrade


@click.command("upgrade", epilog=examples("hearsay-collector upgrade --data-dir hearsay-data"))
@data_dir_option
@redis_option
@cluster_option
def upgrade_store(data_dir: Path, redis_url: str | None, *, is_cluster: bool) -> None:
    """Upgrade a store of an older version to this one's schema, while no collector runs on it.

    If it is interrupted, run it again. Take a backup first: an older version cannot read the
    upgraded store.
    """
    with contextlib.ExitStack() as stack:
        url = redis_url
        if url is None:
            require_embedded(data_dir)
            # refused while a collector runs
            url = stack.enter_context(EmbeddedStore(data_dir)).url
        store = RedisStore(url, IN_MEMORY, is_cluster=is_cluster)
        store.prepare(Purpose.UPGRADE)
        before, after = upgrade(store, is_alone=redis_url is None)
        result = f"was upgraded from schema {before} to {after}" if before < after else f"has schema {after} already"
        click.echo(f"the store {result}")
