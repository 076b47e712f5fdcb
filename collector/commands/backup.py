"""``hearsay-collector export`` and ``import``: a backup of a store, and a store from a backup."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from client_sdk.protocol import Registry
from collector.atomic_file import whole_file
from collector.backup import restore
from collector.backup.export import backup
from collector.backup.format import BackupError
from collector.backup.redis_archive import RedisArchive
from collector.backup.summary import Summary
from collector.commands.open_store import require_embedded
from collector.commands.options import ErrorsForPeople, cluster_option, data_dir_option, redis_option
from collector.commands.progress import Progress
from collector.durability import IN_MEMORY
from collector.embedded.store import EmbeddedStore, running_store_url
from collector.errors import ConfigError
from collector.store.app_name import agree_on_app, app_of
from collector.store.redis_store import RedisStore
from collector.store.schema import Purpose
from collector.text import plural

_registry = click.option(
    "--registry", type=click.Path(path_type=Path), help="The file of definitions: whose app the backup is of."
)


@click.command("export")
@click.option("--to", type=click.Path(path_type=Path), help="The file to write; standard output by default.")
@_registry
@data_dir_option
@redis_option
@cluster_option
def export_store(
    to: Path | None, registry: Path | None, data_dir: Path, redis_url: str | None, *, is_cluster: bool
) -> None:
    """Write a backup of the store, which may go on counting: tallies, closed windows, remembered upload ids.

    Keep it as you keep the store. It says how often each symbol was reported in windows that are still open.
    """
    with ErrorsForPeople():
        app = None if registry is None else Registry.load(registry).app
        progress, summary = Progress("uploads written"), Summary()
        with contextlib.ExitStack() as stack:
            store = RedisStore(redis_url or _url_on(data_dir, stack), IN_MEMORY, is_cluster=is_cluster)
            store.prepare()
            lines = backup(RedisArchive(store), app or app_of(store), progress.add, summary.add)
            if to is None:
                sys.stdout.buffer.writelines(lines)
                sys.stdout.buffer.flush()
            else:
                with whole_file(to) as file:
                    file.writelines(lines)
        progress.end()
        click.echo(f"the backup holds {summary}", err=True)


@click.command("import")
@click.option("--from", "path", type=click.Path(path_type=Path), required=True, help="The file that export wrote.")
@_registry
@data_dir_option
@redis_option
@cluster_option
def import_store(path: Path, registry: Path | None, data_dir: Path, redis_url: str | None, *, is_cluster: bool) -> None:
    """Put a backup into an empty store, while no collector runs on it.

    An import that was broken off is started again in the same way: what is there already is not counted again.
    """
    with ErrorsForPeople():
        found = restore.check(path)
        _require_app(found.header.app, registry)
        progress = Progress("uploads put", found.ids)
        with contextlib.ExitStack() as stack:
            url = redis_url or stack.enter_context(EmbeddedStore(data_dir)).url  # refused while a collector runs
            store = RedisStore(url, IN_MEMORY, is_cluster=is_cluster)
            store.prepare(Purpose.IMPORT)
            was_needed = restore.restore(path, found, RedisArchive(store), progress.add)
            if found.header.app is not None:
                agree_on_app(store, found.header.app)
        progress.end()
        what = f"{plural(found.ids, 'remembered upload')} and {plural(found.tallies, 'tally', 'tallies')}"
        click.echo(
            f"{what} are in the store" if was_needed else f"{what} were in the store already: nothing was changed"
        )


def _require_app(app: str | None, registry: Path | None) -> None:
    if registry is None or app is None:
        return
    own = Registry.load(registry).app
    if own != app:
        raise BackupError(f"the backup is of the app {app}, and the registry of {own}")


def _url_on(data_dir: Path, stack: contextlib.ExitStack) -> str:
    """Return where the embedded store listens, whether its collector runs or not."""
    try:
        return running_store_url(data_dir)
    except ConfigError:
        require_embedded(data_dir)
        return stack.enter_context(EmbeddedStore(data_dir)).url
