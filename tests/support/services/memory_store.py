"""A TallyStore in memory: the contract in few lines, for tests of the code above a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from client_sdk.protocol import Verdict, Window
from collector.errors import QuotaExceededError, StoreFullError, StoreUnavailableError
from collector.judge import Allowance, Judgement
from collector.store.count_script import verdict_again
from collector.store.store_protocol import CountedUpload, Outcome, OwnEditions, Snapshot, StoredTally


@dataclass
class MemoryStore:
    """Counts in a dictionary.

    Attributes:
        is_down: whether it does not answer.
        is_full: whether it has no memory left for counting.

    """

    is_down: bool = False
    is_full: bool = False
    _counted: dict[tuple[str, int], tuple[int, frozenset[int]]] = field(default_factory=dict)
    _counts: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    _charged: dict[Allowance, int] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)
    _snapshot: Snapshot | None = None
    _own_editions: dict[str, str] = field(default_factory=dict)

    def count(self, judgement: Judgement) -> CountedUpload:
        self._require_up()
        judgement = judgement.without(self._closed)
        for end in judgement.ends:
            if (judgement.upload, end) in self._counted:
                return CountedUpload(verdict_again(judgement, *self._counted[judgement.upload, end]), is_duplicate=True)
        verdict = Verdict(judgement.reports, judgement.refused)
        if not verdict.accepted:
            return CountedUpload(verdict, is_duplicate=False)
        self.require_writable()
        if judgement.allowance is not None:
            charged = self._charged.get(judgement.allowance, 0) + verdict.accepted
            if charged > judgement.allowance.limit:
                raise QuotaExceededError("over the limit for the test")
            self._charged[judgement.allowance] = charged
        for label, reported in judgement.additions.items():
            metric, edition, window = label.tally.split(":")
            counts = self._counts.setdefault((metric, edition, window), [0] * label.symbols)
            for symbol in reported.values():
                counts[symbol] += 1
        counted = frozenset(index for reported in judgement.additions.values() for index in reported)
        self._counted[judgement.upload, judgement.latest_end] = judgement.reports, counted
        return CountedUpload(verdict, is_duplicate=False)

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
        self._closed.add(window.text)

    def closed_windows(self) -> frozenset[str]:
        self._require_up()
        return frozenset(self._closed)

    def half_closed_windows(self) -> frozenset[str]:
        self._require_up()
        return frozenset()

    def tallied_windows(self) -> frozenset[str]:
        self._require_up()
        return frozenset(window for _, _, window in self._counts)

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[StoredTally]:
        self._require_up()
        return iter([tally for tally in self._tallies() if tally.window in closed & self._closed])

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

    def _tallies(self) -> list[StoredTally]:
        return [
            StoredTally(metric, edition, window, window in self._closed, tuple(counts))
            for (metric, edition, window), counts in sorted(self._counts.items())
        ]
