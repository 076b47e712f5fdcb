"""Writes a backup of a store, which may be counting meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from collector.backup.format import BackupError, Bucket, Closed, Counts, End, Header, Line, encode
from collector.backup.ports import Cut, Facts, Source


def backup(
    source: Source, app: str | None, on_ids: Callable[[int], None], on_line: Callable[[Line], None] = lambda _: None
) -> Iterator[bytes]:
    """Yield the lines of a backup, the header first and the end last.

    Args:
        source: the store.
        app: the app's name, if it is known.
        on_ids: told of so many more uploads whenever some are written.
        on_line: told of every line but the end.

    Raises:
        BackupError: if what was written is no backup, because the store did not stand still enough.
        ConfigError: if a cluster is being changed.

    """
    digest, lines = sha256(), 0
    for line in _lines(source, app, on_ids):
        encoded = encode(line)
        digest.update(encoded)
        lines += 1
        yield encoded
        on_line(line)
    yield encode(End(lines, digest.hexdigest()))


def _lines(source: Source, app: str | None, on_ids: Callable[[int], None]) -> Iterator[Line]:
    facts, standing = source.facts(), source.standing()
    yield Header(facts.schema, facts.shards, facts.grace_s, app)
    cuts = []
    for shard in range(facts.shards):
        known = {}
        for found in source.buckets(shard):
            known[found.key] = found.state
            yield from _told([found.bucket], on_ids)
        cut = source.cut(shard, known)
        yield from _told((found.bucket for found in cut.changed), on_ids)
        cuts.append(cut)
    yield Closed(tuple(sorted(frozenset.intersection(*(cut.closed for cut in cuts)))))
    yield from _tallies(source, facts, cuts)
    if source.standing() != standing:
        raise BackupError("a server of the store has started anew or changed meanwhile: take the backup again")


def _told(buckets: Iterable[Bucket], on_ids: Callable[[int], None]) -> Iterator[Bucket]:
    for bucket in buckets:
        on_ids(len(bucket.members))
        yield bucket


def _tallies(source: Source, facts: Facts, cuts: list[Cut]) -> Iterator[Counts]:
    """Yield the sums of all shards' parts: open ones as of the cut; closed ones, which do not change, are read now."""
    symbols_of: dict[str, int] = {}
    for cut in cuts:
        symbols_of |= cut.index
    for name, symbols in sorted(symbols_of.items()):
        total, is_read_now = [0] * symbols, False
        for shard in range(facts.shards):
            cut = cuts[shard]
            if name not in cut.index:
                continue
            part = cut.open_counts.get(name)
            if part is None:
                part, is_read_now = source.counts(shard, name, symbols), True
            total = [sum(pair) for pair in zip(total, part, strict=True)]
        if not is_read_now or source.is_indexed(name):  # else it is being retired, and may have been half gone
            metric, edition, window = name.split(":")
            counts = {symbol: count for symbol, count in enumerate(total) if count}
            yield Counts(metric, edition, window, symbols, counts)
