"""Writes a backup of a store. Collectors may count uploads at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

from collector.backup.lines import BackupError, BackupLine, Bucket, ClosedWindows, Editions, End, TallyLine, encode
from collector.backup.store_reader import ShardCut, StoreReader


def backup(
    reader: StoreReader,
    app: str | None,
    on_ids: Callable[[int], None],
    on_line: Callable[[BackupLine], None] = lambda _: None,
) -> Iterator[bytes]:
    """Yield the lines of a backup, the header first and the end last.

    Args:
        reader: reads the store.
        app: the name of the app, or None if it is unknown.
        on_ids: called before each line that contains ids of uploads. The argument is the number of
            ids in the line.
        on_line: called with every line except the last, which marks the end.

    Raises:
        BackupError: if a server of the store restarted or was replaced during the export. The lines
            are then useless.
        ConfigError: if slots of the cluster are moving to another server.
    """
    digest, lines = sha256(), 0
    for line in _lines(reader, app):
        if isinstance(line, Bucket):
            on_ids(len(line.members))
        encoded = encode(line)
        digest.update(encoded)
        lines += 1
        yield encoded
        on_line(line)
    yield encode(End(lines, digest.hexdigest()))


def _lines(reader: StoreReader, app: str | None) -> Iterator[BackupLine]:
    header, servers = reader.header(app), reader.servers()
    yield header
    cuts = []
    for shard in range(header.shards):
        known = {}
        for stored in reader.buckets(shard):
            known[stored.key] = stored.state
            yield stored.bucket
        cut = reader.cut(shard, known)
        yield from (stored.bucket for stored in cut.changed)
        cuts.append(cut)
    yield ClosedWindows(tuple(sorted(frozenset.intersection(*(cut.closed for cut in cuts)))))
    # read the editions after the cuts, so that the line contains the edition of every tally in the
    # cuts
    yield Editions(dict(sorted(reader.store.own_editions().items())))
    yield from _tallies(reader, cuts)
    if reader.servers() != servers:
        raise BackupError("a server of the store restarted or was replaced during the export: take the backup again")


def _tallies(reader: StoreReader, cuts: list[ShardCut]) -> Iterator[TallyLine]:
    """Yield each tally, summed over all shards.

    A cut is the state of a shard at one instant, without the counts of closed windows. These counts
    no longer change, so this function reads them from the store.
    """
    symbols_by_name: dict[str, int] = {}
    for cut in cuts:
        symbols_by_name |= cut.index
    for name, symbols in sorted(symbols_by_name.items()):
        total, is_read_now = [0] * symbols, False
        for shard, cut in enumerate(cuts):
            if name not in cut.index:
                continue
            part = cut.open_counts.get(name)
            if part is None:
                part, is_read_now = reader.counts(shard, name, symbols), True
            total = [sum(pair) for pair in zip(total, part, strict=True)]
        if not is_read_now or reader.store.is_indexed(name):
            # otherwise, the tally is being retired (deleted), and may already have lost some counts
            metric, edition, window = name.split(":")
            counts = {symbol: count for symbol, count in enumerate(total) if count}
            yield TallyLine(metric, edition, window, symbols, counts)
