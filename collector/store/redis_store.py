"""The tally store on a Redis or Valkey server or cluster.

One upload is counted by one script on one hash slot. The script looks up the upload id, counts the
reports and remembers which reports it counted, or does nothing. `keys` lists the stored data,
`shards` sends the commands, and `redis_servers.router` finds the server.
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
from collector.required_settings import ON_DISK, Promise
from collector.store import keys
from collector.store.count_script import count_command, read_answer
from collector.store.facts import COPIES_FIELD, GRACE_FIELD, Purpose
from collector.store.preparation import prepare
from collector.store.shards import ONE_SERVER, Layout, Shards
from collector.store.store_protocol import CountedUpload, Outcome, OwnEditions, Snapshot, StoredTally


class RedisStore:
    """A TallyStore on a Redis or Valkey server or cluster.

    Attributes:
        shards: sends commands to the store.

    """

    def __init__(
        self, url: str, promise: Promise = ON_DISK, *, is_cluster: bool = False, layout: Layout = ONE_SERVER
    ) -> None:
        """Store the server's URL. Nothing is sent before the first use.

        See `Shards` for the arguments.

        Raises:
            ConfigError: if the URL is not valid.

        """
        self.shards = Shards(url, promise, is_cluster=is_cluster, layout=layout)

    @property
    def layout(self) -> Layout:
        """The known layout of the store."""
        return self.shards.layout

    def disconnect(self) -> None:
        """Close this thread's connections. The next use opens new ones."""
        self.shards.disconnect()

    def prepare(self, purpose: Purpose = Purpose.USE) -> None:
        """Prepare the store for use; see `preparation.prepare`."""
        prepare(self.shards, purpose)

    def count(self, judgement: Judgement) -> CountedUpload:
        """See TallyStore."""
        while True:
            request = count_command(judgement, self.layout.shards, self.layout.name)
            outcome = read_answer(self.shards.router.ask(request), judgement)
            if isinstance(outcome, QuotaExceededError):
                raise outcome
            if isinstance(outcome, CountedUpload):
                return outcome
            # this loop ends, because each round leaves fewer windows: a closed window never reopens
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
            for (index, judgement), answer in zip(pending.items(), self.shards.router.ask_all(requests), strict=True):
                outcome = answer if isinstance(answer, StoreUnavailableError) else read_answer(answer, judgement)
                if isinstance(outcome, frozenset):
                    late[index] = judgement.without(outcome)
                else:
                    outcomes[index] = outcome
            pending = late
        return [outcomes[index] for index in range(len(judgements))]

    def close(self, window: Window) -> None:
        """See TallyStore.

        If a shard cannot be reached, the other shards close the window, but the whole window stays
        open.
        """
        # another process may have closed the window earlier without waiting for the replicas
        answered: Answered = {}
        self.shards.ask_own(
            lambda shard: even_when_full("SADD", keys.of_shard(shard, keys.CLOSED), window.text), answered
        )
        self.shards.confirm(answered)

    def closed_windows(self) -> frozenset[str]:
        """See TallyStore. A window is closed once every shard has closed it."""
        return frozenset.intersection(*self._members(keys.CLOSED))

    def half_closed_windows(self) -> frozenset[str]:
        """See TallyStore. This includes windows that are being closed at this moment."""
        closed = list(self._members(keys.CLOSED))
        return frozenset().union(*closed) - frozenset.intersection(*closed)

    def tallied_windows(self) -> frozenset[str]:
        """See TallyStore."""
        return frozenset().union(*self._members(keys.WINDOWS))

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[StoredTally]:
        """See TallyStore."""
        # the server that reported these windows as closed may be a master that has since been lost
        answered: Answered = {}
        still_closed = closed.intersection(*self._members(keys.CLOSED, answered))
        yield from self._tallies(answered, lambda window: window in still_closed, closed=True)

    def open_tallies(self, left_out: frozenset[str]) -> Iterator[StoredTally]:
        """Yield the current tallies of all windows except `left_out`, each marked as open.

        The tallies are complete only if the iterator reaches its end. A reader who gets these
        tallies must not get an earlier or a later state of them; `open_snapshot` ensures this.
        """
        return self._tallies({}, lambda window: window not in left_out, closed=False)

    def open_snapshot(self, interval_s: int, left_out: frozenset[str], now_s: float) -> Snapshot:
        """See TallyStore. All collectors on a store share the same snapshot."""
        answered: Answered = {}
        kept = self._look(answered)
        if kept is None:
            tallies = [
                (tally.metric, tally.edition, tally.window, tally.counts) for tally in self.open_tallies(left_out)
            ]
            fresh = json.dumps({"taken_s": int(now_s), "tallies": tallies})
            if interval_s:  # a trial takes a new snapshot every time
                self.shards.run(0, *even_when_full("SET", keys.SNAPSHOT, fresh, "NX", "EX", interval_s))
            kept = self._look(answered) or fresh
        self.shards.confirm(answered)
        look = json.loads(kept)
        tallies_of_look = (
            StoredTally(metric, edition, window, closed=False, counts=tuple(counts))
            for metric, edition, window, counts in look["tallies"]
        )
        return Snapshot(look["taken_s"], tuple(tallies_of_look)).without(left_out)

    def own_editions(self) -> OwnEditions:
        """See TallyStore. If a failover loses an edition, the edition's tallies are hidden."""
        return self.shards.own_editions()

    def remember_editions(self, editions: OwnEditions) -> None:
        """See TallyStore."""
        self.shards.remember_editions(editions)

    def require_writable(self) -> None:
        """See TallyStore. This attempts a write that changes nothing."""
        self.shards.require_any_writable()

    def _look(self, answered: Answered) -> str | bytes | None:
        """Return the last snapshot of open windows, or None if it has expired."""
        look: bytes | None
        (look,) = self.shards.ask((0,), lambda _: ("GET", keys.SNAPSHOT), answered)
        return look

    def _tallies(
        self, answered: Answered, is_included: Callable[[str], bool], *, closed: bool
    ) -> Iterator[StoredTally]:
        """Yield tallies, and confirm the responses at the end.

        A tally that is being retired may be incomplete. It is left out, together with the other
        tallies of its question in that window: if they were shown without a small stratum, a
        comparison with an earlier reading would reveal that stratum. If a name was removed from the
        index before this method reads the index, it is still listed as being retired, unless all
        tallies of the question were removed.
        """
        index = self.shards.index(answered)
        going = {_asked(name) for names in self._members(keys.GOING, answered) for name in names}
        for (metric, window), group in groupby(sorted(index, key=_asked), key=_asked):
            if is_included(window) and (metric, window) not in going:
                names = sorted(group)
                counts = [self._counts(name, index[name], answered) for name in names]
                if all(map(self.shards.is_indexed, names)):
                    for name, each in zip(names, counts, strict=True):
                        yield StoredTally(metric, name.split(":")[1], window, closed, each)
        # Only a reader who reaches the end knows that the tallies were complete and will remain so:
        # a shard may have been lost during the reading, or a replica may lack data that its master
        # returned.
        self.shards.require_own(answered)
        self.shards.confirm(answered)

    def _counts(self, name: str, symbols: int, answered: Answered) -> tuple[int, ...]:
        counts = [0] * symbols
        for packed in self.shards.ask(
            range(self.layout.shards), lambda shard: ("GET", keys.tally(shard, name)), answered
        ):
            for symbol, (count,) in enumerate(struct.iter_unpack(">q", packed or b"")):
                counts[symbol] += count
        return tuple(counts)

    def _members(self, name: str, answered: Answered | None = None) -> Iterator[frozenset[str]]:
        """Yield the members of a set, shard by shard."""
        for members in self.shards.ask_own(lambda shard: ("SMEMBERS", keys.of_shard(shard, name)), answered):
            yield frozenset(member.decode() for member in members)


def _asked(name: str) -> tuple[str, str]:
    """Return the metric and the window of a tally named METRIC:EDITION:WINDOW."""
    metric, _, window = name.split(":")
    return metric, window


def require_grace(store: RedisStore, facts: Mapping[str, str], grace_s: int) -> None:
    """Refuse to lengthen the grace period (seconds) while windows are open.

    The store would forget the upload ids of open windows before these windows close. An upload that
    is sent again could then be counted twice.

    Raises:
        ConfigError: if the new grace period is longer and a window is open.

    """
    before = int(facts.get(GRACE_FIELD, grace_s))
    open_windows = store.tallied_windows() - store.closed_windows()
    if before < grace_s and open_windows:
        raise ConfigError(
            f"--grace can grow from {before} seconds only when no window with reports is open; these are open: "
            f"{', '.join(sorted(open_windows))}"
        )


def agree_on_settings(store: RedisStore, grace_s: int, copies: int) -> None:
    """Write a collector's settings to a store, for the next collector and for commands.

    Args:
        store: the store.
        grace_s: how long a window accepts reports after its end, in seconds.
        copies: how many replicas have acknowledged reports on disk.

    Raises:
        ConfigError: if the store cannot be used with this grace period.

    """
    require_grace(store, store.shards.facts(), grace_s)
    settings = (GRACE_FIELD, grace_s, COPIES_FIELD, copies)
    store.shards.run_on_facts(*even_when_full("HSET", keys.STORE, *settings))
