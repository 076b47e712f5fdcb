"""``hearsay-collector store export``, ``import`` and ``accept-loss``, for backups and repairs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path

import click

from client_sdk.protocol.command_line import replaces_another_kind
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry
from collector.backup import restore
from collector.backup.export import backup
from collector.backup.lines import BackupError, BackupLine, Bucket, ClosedWindows, Header, LineError, TallyLine, decode
from collector.backup.store_filler import StoreFiller, require_room
from collector.backup.store_reader import StoreReader
from collector.commands.opening import embedded_url, require_embedded
from collector.commands.options import examples, store_memory_option, store_options
from collector.config import require_store_memory
from collector.embedded.store import EmbeddedStore
from collector.errors import plural, require, require_option
from collector.files import whole_file
from collector.redis_servers.memory import embedded_limit_bytes
from collector.required_settings import NO_PROMISE
from collector.store.facts import Purpose
from collector.store.preparation import accept_lost_shards, agree_on_app, app_of
from collector.store.redis_store import RedisStore
from collector.store.shards import Shards

STDOUT = Path("-")
"""The file name `-`. Many programs take it to mean standard output, so `--to` refuses it."""


@click.command(
    "export",
    short_help="Write a backup of the store.",
    epilog=examples("hearsay-collector store export --data-dir hearsay-data --to backup.ndjson"),
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="The file to write. Only an earlier backup is overwritten.  [default: standard output]",
)
@click.option(
    "--registry",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Refuse to export a store that does not belong to this registry's app.  [default: no check]",
)
@store_options
def export_store(
    to: Path | None, registry: Path | None, data_dir: Path, redis_url: str | None, *, is_cluster: bool
) -> None:
    """Write a backup of the store: tallies, closed windows and remembered upload ids.

    Collectors may keep running on the store.

    Protect the file like the store. The file shows how often each symbol was reported in open
    windows.
    """
    require_option(to != STDOUT, "- is not a file name here; omit --to for standard output")
    if to is not None:
        _require_replaceable(to, data_dir if redis_url is None else None)
    served = None if registry is None else Registry.read(registry).app
    summary = Summary()
    with contextlib.ExitStack() as stack:
        url = embedded_url(data_dir, stack) if redis_url is None else redis_url
        store = RedisStore(url, NO_PROMISE, is_cluster=is_cluster)
        store.prepare(Purpose.READ)
        on_ids = stack.enter_context(progress("uploads written"))
        owner = app_of(store)
        _require_same("the store", owner, served)
        lines = backup(StoreReader(store), owner or served, on_ids, summary.add)
        if to is None:
            sys.stdout.buffer.writelines(lines)
            sys.stdout.buffer.flush()
        else:
            with whole_file(to) as file:
                file.writelines(lines)
    click.echo(f"the backup contains {summary}", err=True)


@click.command("import", epilog=examples("hearsay-collector store import --from backup.ndjson --data-dir hearsay-data"))
@click.option("--from", "path", type=click.Path(path_type=Path), required=True, help="The backup to restore.")
@click.option(
    "--registry",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=(
        "Refuse a backup that does not belong to this registry's app, or whose tallies do not fit its "
        "questions.  [default: no check]"
    ),
)
@store_options
@store_memory_option
def import_store(  # noqa: PLR0913 the options by name
    path: Path,
    registry: Path | None,
    data_dir: Path,
    redis_url: str | None,
    *,
    is_cluster: bool,
    store_memory_bytes: int | None,
) -> None:
    """Restore a backup to an empty store. No collector may be running on the store.

    The whole file and the free memory of the store are checked first. If the import is interrupted,
    run the same command again. Nothing is counted twice.
    """
    require_store_memory(store_memory_bytes, redis_url)
    definitions = None if registry is None else history.read(registry)
    contents = restore.check(path, definitions)
    app = contents.header.app
    _require_same("the backup", app, None if definitions is None else definitions.app)
    with contextlib.ExitStack() as stack:
        url = redis_url
        if url is None:  # refused while a collector is running
            memory_bytes = store_memory_bytes or embedded_limit_bytes()
            url = stack.enter_context(EmbeddedStore(data_dir, memory_bytes=memory_bytes)).url
        store = RedisStore(url, NO_PROMISE, is_cluster=is_cluster)
        require_room(store, contents.digest, contents.demand)
        store.prepare(Purpose.IMPORT)
        on_ids = stack.enter_context(progress("uploads put", contents.ids))
        has_changed = restore.restore(path, contents, StoreFiller(store), on_ids)
        if app is not None:
            agree_on_app(store, app)
    imported = f"{plural(contents.ids, 'remembered upload')} and {plural(contents.tallies, 'tally', 'tallies')}"
    click.echo(
        f"{imported} are now in the store"
        if has_changed
        else f"{imported} were already in the store: nothing was changed"
    )


def _require_replaceable(to: Path, data_dir: Path | None) -> None:
    """Refuse an existing file that is not a backup, and any path in the data directory."""
    require(
        not replaces_another_kind(to, _is_backup),
        f"{to} is not a backup, and the export would overwrite it; name another file",
    )
    require(
        data_dir is None or data_dir.resolve() not in to.resolve().parents,
        (
            f"{to} is inside the data directory, where the backup could overwrite a file of the store; choose "
            "another folder"
        ),
    )


def _is_backup(head: bytes) -> bool:
    try:
        return isinstance(decode(head.partition(b"\n")[0]), Header)
    except LineError:
        return False


def _require_same(what: str, owner: str | None, served: str | None) -> None:
    """Refuse a store or a backup unless it belongs to the registry's app.

    ``what`` is "the store" or "the backup". If an app is unknown (None), nothing is refused.
    """
    if owner is not None and served is not None and served != owner:
        raise BackupError(
            f"{what} belongs to the app {owner}, but the registry belongs to {served}: use the registry of {owner}, "
            "or omit --registry"
        )


class Summary:
    """Counts the uploads, tallies and closed windows in a backup.

    The number of uploads may be too high, because an upload that arrived during the export may be
    in the backup twice.
    """

    def __init__(self) -> None:
        """Start with all counts at zero."""
        self._ids = self._tallies = self._windows = 0

    def add(self, line: BackupLine) -> None:
        """Add the content of a line to the counts."""
        match line:
            case Bucket(members=members):
                self._ids += len(members)
            case TallyLine():
                self._tallies += 1
            case ClosedWindows(windows=windows):
                self._windows += len(windows)

    def __str__(self) -> str:
        ids, tallies = plural(self._ids, "remembered upload"), plural(self._tallies, "tally", "tallies")
        return f"{ids}, {tallies} and {plural(self._windows, 'closed window')}"


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar during a ``with`` block, if standard error is a terminal.

    ``total`` is the expected number of items, or None if it is unknown.

    Yields:
        A function that advances the progress by a number of items.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    endless = repeat(None) if total is None else None
    with click.progressbar(endless, length=total, label=label, show_pos=True, file=sys.stderr) as bar:
        yield bar.update


@click.command("accept-loss", epilog=examples("hearsay-collector store accept-loss --data-dir hearsay-data"))
@store_options
def accept_loss(data_dir: Path, redis_url: str | None, *, is_cluster: bool) -> None:
    """Make a damaged store usable again. The missing data is lost for good.

    The unreadable part of an embedded store is cut off. Copy the directory first if anyone needs to
    examine the damage. In a cluster, lost shards start again without data.
    """
    with contextlib.ExitStack() as stack:
        losses, url = [], redis_url
        if url is None:
            require_embedded(data_dir)
            embedded = stack.enter_context(EmbeddedStore(data_dir, accepts_losses=True))
            losses, url = embedded.losses, embedded.url
        store = Shards(url, NO_PROMISE, is_cluster=is_cluster)
        losses = [*losses, *accept_lost_shards(store)]
        for loss in losses:
            click.echo(f"accepted: {loss}")
        click.echo(_outcome(data_dir if redis_url is None else "the store", losses, is_empty=not store.facts()))


def _outcome(place: Path | str, losses: Sequence[str], *, is_empty: bool) -> str:
    if losses:
        return f"collectors can start on {place} again"
    if is_empty:
        return f"{place} is empty, with no record of earlier content: a collector that starts on it creates a new store"
    return "nothing that was recorded is missing"
