"""``hearsay-collector accept-loss``: continues with what is left of a store."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import click

from collector.commands.options import examples, require_embedded, store_options
from collector.embedded.store import EmbeddedStore
from collector.required_settings import NO_PROMISE
from collector.store.preparation import accept_lost_shards
from collector.store.shards import Shards


@click.command("accept-loss", epilog=examples("hearsay-collector accept-loss --data-dir hearsay-data"))
@store_options
def accept_loss(data_dir: Path, redis_url: str | None, *, is_cluster: bool) -> None:
    """Start from the readable part of a damaged store. Missing data is lost for good.

    The unreadable part of an embedded store is cut off. Copy the directory first if anyone needs to
    examine it. In a cluster, shards whose servers came back empty start over.
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
        return f"a collector starts on {place} again"
    if is_empty:
        return f"{place} is empty, and says nothing of what it held: a collector that starts on it begins a new store"
    return "nothing is missing that was noted"
