"""The tally store on a Redis or Valkey server or cluster.

All keys of a shard are on one server, and every upload belongs to one shard. Therefore a single
script can count an upload in one atomic step (see `count_script`). `keys` lists the stored data.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from client_sdk.protocol.window import Window
from collector.errors import ConfigError, QuotaExceededError, StoreUnavailableError
from collector.judge import Judgement
from collector.redis_servers.connection import even_when_full
from collector.redis_servers.router import Answered
from collector.store import keys
from collector.store.count_script import count_command, read_answer
from collector.store.facts import COPIES_FIELD, GRACE_FIELD, Purpose
from collector.store.preparation import prepare
from collector.store.shards import Shards
from collector.store.store_protocol import CountedUpload, Outcome, Snapshot, StoredTally


class RedisStore(Shards):
    """A TallyStore on a Redis or Valkey server or cluster."""

    def prepare(self, purpose: Purpose = Purpose.USE) -> None:
        """Prepare the store for use; see `preparation.prepare`."""
        prepare(self, purpose)

    def count(self, judgement: Judgement) -> CountedUpload:
        """See TallyStore."""
        while True:
            request = count_command(judgement, self.layout.shards, self.layout.name)
            outcome = read_answer(self.router.ask(request), judgement)
            if isinstance(outcome, QuotaExceededError):
                raise outcome
            if isinstance(outcome, CountedUpload):
                return outcome
            # The script counted nothing, because these windows were closed early: try again without
            # their reports. The loop ends, because closed windows never reopen, so that each round
            # has fewer windows.
            judgement = judgement.without(outcome)

    def count_all(self, judgements: Sequence[Judgement]) -> list[Outcome]:
        """See TallyStore."""
        outcomes: dict[int, Outcome] = {}
        pending = dict(enumerate(judgements))
        while pending:
            requests = [
                count_command(judgement, self.layout.shards, self.layout.name) for judgement in pending.values()
            ]
            late = {}
            for (index, judgement), answer in zip(pending.items(), self.router.ask_all(requests), strict=True):
                outcome = answer if isinstance(answer, StoreUnavailableError) else read_answer(answer, judgement)
                if isinstance(outcome, frozenset):
                    late[index] = judgement.without(outcome)
                else:
                    outcomes[index] = outcome
            pending = late
        return [outcomes[index] for index in range(len(judgements))]

    def close(self, window: Window) -> None:
        """See TallyStore.

        If a shard cannot be reached, the other shards refuse further reports for the window. A
        later call then completes the closing.
        """
        # wait for the replicas even if the window was closed before: the process that closed it may
        # not have waited
        answered: Answered = {}
        self.ask_own(lambda shard: even_when_full("SADD", keys.of_shard(shard, keys.CLOSED), window.text), answered)
        self.confirm(answered)

    def closed_windows(self) -> frozenset[str]:
        """See TallyStore. A window is closed once every shard has closed it."""
        return frozenset.intersection(*self._members(keys.CLOSED))

    def half_closed_windows(self) -> frozenset[str]:
        """See TallyStore."""
        closed = list(self._members(keys.CLOSED))
        return frozenset().union(*closed) - frozenset.intersection(*closed)

    def tallied_windows(self) -> frozenset[str]:
        """See TallyStore."""
        return frozenset().union(*self._members(keys.WINDOWS))

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[StoredTally]:
        """See TallyStore."""
        # check again that the windows are closed: the server that said so may have been a master
        # that was lost before its replicas had copied this
        answered: Answered = {}
        still_closed = closed.intersection(*self._members(keys.CLOSED, answered))
        yield from self._tallies(answered, lambda window: window in still_closed, closed=True)

    def open_tallies(self, left_out: frozenset[str]) -> Iterator[StoredTally]:
        """Yield the current tallies of all windows except `left_out`, each marked as open.

        The tallies are complete only if the iterator reaches its end. The difference between two
        states of a tally reveals the reports that arrived in between. Therefore readers get
        `open_snapshot` instead.
        """
        return self._tallies({}, lambda window: window not in left_out, closed=False)

    def open_snapshot(self, interval_s: int, left_out: frozenset[str], now_s: float) -> Snapshot:
        """See TallyStore. All collectors that use this store return the same snapshot."""
        answered: Answered = {}
        kept = self._look(answered)
        if kept is None:
            tallies = [
                (tally.metric, tally.edition, tally.window, tally.counts) for tally in self.open_tallies(left_out)
            ]
            fresh = json.dumps({"taken_s": int(now_s), "tallies": tallies})
            if interval_s:  # a trial takes a new snapshot every time
                self.run(0, *even_when_full("SET", keys.SNAPSHOT, fresh, "NX", "EX", interval_s))
            kept = self._look(answered) or fresh
        self.confirm(answered)
        look = json.loads(kept)
        tallies_of_look = (
            StoredTally(metric, edition, window, closed=False, counts=tuple(counts))
            for metric, edition, window, counts in look["tallies"]
        )
        return Snapshot(look["taken_s"], tuple(tallies_of_look)).without(left_out)

    def _look(self, answered: Answered) -> str | bytes | None:
        """Return the stored snapshot of open windows as JSON, or None if none is stored."""
        look: bytes | None
        (look,) = self.ask((0,), lambda _: ("GET", keys.SNAPSHOT), answered)
        return look

    def _tallies(
        self, answered: Answered, is_included: Callable[[str], bool], *, closed: bool
    ) -> Iterator[StoredTally]:
        """Yield tallies, and check at the end that no failover can undo what was read.

        While a tally is being retired (deleted), no tally of the same metric and window is yielded.
        The retired tally may already lack some counts. The other tallies alone could reveal a small
        stratum, by comparison with an earlier reading.

        The names of tallies that are being retired are read after the index. A name that was
        removed from the index earlier is still among these names, unless the retirement has
        finished.

        Args:
            answered: collects the servers that responded, for `Shards.confirm`.
            is_included: returns whether to yield the tallies of a window, given its name.
            closed: whether the included windows are closed.
        """
        index = self.index(answered)
        going = {_asked(name) for names in self._members(keys.GOING, answered) for name in names}
        for (metric, window), group in groupby(sorted(index, key=_asked), key=_asked):
            if is_included(window) and (metric, window) not in going:
                names = sorted(group)
                counts = [self._counts(name, index[name], answered) for name in names]
                if all(map(self.is_indexed, names)):
                    for name, each in zip(names, counts, strict=True):
                        yield StoredTally(metric, name.split(":")[1], window, closed, each)
        # A shard may have been lost during the reading, or a replica may lack data that its master
        # returned. Therefore the tallies are valid only for a caller who reads to the end.
        self.require_own(answered)
        self.confirm(answered)

    def _counts(self, name: str, symbols: int, answered: Answered) -> tuple[int, ...]:
        counts = [0] * symbols
        for packed in self.ask(range(self.layout.shards), lambda shard: ("GET", keys.tally(shard, name)), answered):
            for symbol, (count,) in enumerate(struct.iter_unpack(">q", packed or b"")):
                counts[symbol] += count
        return tuple(counts)

    def _members(self, name: str, answered: Answered | None = None) -> Iterator[frozenset[str]]:
        """Yield, for each shard, the members of the shard's set ``name``, such as CLOSED."""
        for members in self.ask_own(lambda shard: ("SMEMBERS", keys.of_shard(shard, name)), answered):
            yield frozenset(member.decode() for member in members)


def _asked(name: str) -> tuple[str, str]:
    """Return the metric and the window of a tally named METRIC:EDITION:WINDOW."""
    metric, _, window = name.split(":")
    return metric, window


def require_grace(store: RedisStore, facts: Mapping[str, str], grace_s: int) -> None:
    """Refuse a grace period (seconds) longer than the previous one while windows are open.

    The previous grace period determines how long the store keeps an upload's id. If the windows of
    the upload's reports stayed open after the id had expired, the upload could be sent and counted
    again.

    Raises:
        ConfigError: if ``grace_s`` exceeds the previous grace period, and a window is open.
    """
    before = int(facts.get(GRACE_FIELD, grace_s))
    open_windows = store.tallied_windows() - store.closed_windows()
    if before < grace_s and open_windows:
        raise ConfigError(
            f"--grace can grow from {before} seconds only when no window with reports is open; these are open: "
            f"{', '.join(sorted(open_windows))}"
        )


def agree_on_settings(store: RedisStore, grace_s: int, copies: int) -> None:
    """Write a collector's settings to its store, where later collectors and commands read them.

    Raises:
        ConfigError: if ``grace_s`` exceeds the previous grace period, and a window is open.
    """
    require_grace(store, store.facts(), grace_s)
    settings = (GRACE_FIELD, grace_s, COPIES_FIELD, copies)
    store.run_on_facts(*even_when_full("HSET", keys.STORE, *settings))
