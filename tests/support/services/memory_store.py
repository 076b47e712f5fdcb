"""A TallyStore in memory for tests of the code above a store: it runs a model of the script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from client_sdk.protocol import Window
from collector.errors import QuotaExceededError, StoreFullError, StoreUnavailableError
from collector.judge import Judgement
from collector.store import keys
from collector.store.count_script import count_arguments, read_answer
from collector.store.store_protocol import CountedUpload, Outcome, OwnEditions, Snapshot, StoredTally
from tests.support.simulation.store_script import ScriptError, StoreScript

SHARD = keys.prefix(0)
NAME = "the only store"


def _named() -> StoreScript:
    return StoreScript(values={f"{SHARD}{keys.NAME}": NAME})


@dataclass
class MemoryStore:
    """One shard.

    Attributes:
        is_down: whether it does not answer.
        is_full: whether it has no memory left for counting.
        clock: the server's clock; by default nothing ever expires.
        script: the keys.

    """

    is_down: bool = False
    is_full: bool = False
    clock: Callable[[], float] = lambda: 0.0
    script: StoreScript = field(default_factory=_named)
    _snapshot: Snapshot | None = None
    _own_editions: dict[str, str] = field(default_factory=dict)

    def count(self, judgement: Judgement) -> CountedUpload:
        self._require_up()
        while True:
            arguments = count_arguments(judgement, 1, NAME)
            if judgement.additions:
                self.require_writable()
            try:
                outcome = read_answer(self.script.count(SHARD, arguments, self.clock()), judgement)
            except ScriptError as error:
                raise StoreUnavailableError(str(error)) from None
            if isinstance(outcome, QuotaExceededError):
                raise outcome
            if isinstance(outcome, CountedUpload):
                return outcome
            judgement = judgement.without(outcome)

    def count_all(self, judgements: Sequence[Judgement]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for judgement in judgements:
            try:
                outcomes.append(self.count(judgement))
            except (QuotaExceededError, StoreUnavailableError) as error:
                outcomes.append(error)
        return outcomes

    def close(self, window: Window) -> None:
        self._require_up()
        self._members(keys.CLOSED).add(window.text)

    def closed_windows(self) -> frozenset[str]:
        self._require_up()
        return frozenset(self._members(keys.CLOSED))

    def half_closed_windows(self) -> frozenset[str]:
        self._require_up()
        return frozenset()

    def tallied_windows(self) -> frozenset[str]:
        self._require_up()
        return frozenset(self._members(keys.WINDOWS))

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[StoredTally]:
        self._require_up()
        return iter([tally for tally in self._tallies() if tally.closed and tally.window in closed])

    def open_snapshot(self, interval_s: int, left_out: frozenset[str], now_s: float) -> Snapshot:
        self._require_up()
        assert interval_s >= 0
        if self._snapshot is None or interval_s == 0:
            self._snapshot = Snapshot(int(now_s), tuple(self._tallies()))
        return self._snapshot.without(left_out)

    def own_editions(self) -> OwnEditions:
        self._require_up()
        return self._own_editions.copy()

    def remember_editions(self, editions: OwnEditions) -> None:
        self._require_up()
        self._own_editions |= editions

    def require_writable(self) -> None:
        self._require_up()
        if self.is_full:
            raise StoreFullError("full for the test")

    def _require_up(self) -> None:
        if self.is_down:
            raise StoreUnavailableError("down for the test")

    def _members(self, name: str) -> set[str]:
        members: set[str] = self.script.values.setdefault(f"{SHARD}{name}", set())
        return members

    def _tallies(self) -> list[StoredTally]:
        index: dict[str, int] = self.script.values.get(f"{SHARD}{keys.TALLIES}", {})
        closed, tallies = self._members(keys.CLOSED), []
        for name, symbols in sorted(index.items()):
            counters: list[int] = self.script.values[keys.tally(0, name)]
            counts = (*counters, *[0] * (symbols - len(counters)))
            metric, edition, window = name.split(":")
            tallies.append(StoredTally(metric, edition, window, window in closed, counts))
        return tallies
