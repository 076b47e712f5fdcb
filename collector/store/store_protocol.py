"""The interface of a store, and functions that close windows or take snapshots of open windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.verdict import Verdict
from collector.errors import QuotaExceededError, StoreUnavailableError
from collector.judge import Judgement, is_due_to_close


class CountedUpload(NamedTuple):
    """The store's response to an upload that was counted, now or earlier.

    Attributes:
        verdict: the verdict on each report. The verdict accepts the same reports each time the
            upload is sent.
        is_duplicate: whether the upload's id was remembered, so that nothing was counted this time.
            The collector itself may send an upload to the store twice if a connection breaks.
    """

    verdict: Verdict
    is_duplicate: bool


Outcome: TypeAlias = CountedUpload | QuotaExceededError | StoreUnavailableError
"""The outcome of one upload among several. An error is about this upload only."""


OwnEditions: TypeAlias = Mapping[str, str]
"""Maps each edition, written METRIC:EDITION, to the *own edition* of its metric.

A metric has an own edition, and one more edition for each of its strata. Reports of the own edition
belong to the metric's "others" (see `strata`). The edition of a stratum maps to the own edition.
The own edition maps to itself, even without strata.
"""


@dataclass(frozen=True, slots=True)
class StoredTally:
    """The number of reports of each symbol, for one metric, edition and window.

    Attributes:
        window: the window's name, such as 2026-W47.
        closed: whether the tally can no longer change.
        counts: the number of reports of each symbol.
    """

    metric: str
    edition: str
    window: str
    closed: bool
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The tallies of open windows at one time.

    Attributes:
        taken_s: the time of the snapshot (Unix seconds).
        tallies: the tallies, sorted by metric, edition and window.
    """

    taken_s: int
    tallies: tuple[StoredTally, ...]

    def __iter__(self) -> Iterator[StoredTally]:
        return iter(self.tallies)

    def without(self, left_out: frozenset[str]) -> Snapshot:
        """Return the snapshot without the tallies of windows that have closed in the meantime."""
        return Snapshot(self.taken_s, tuple(tally for tally in self.tallies if tally.window not in left_out))


class TallyStore(Protocol):
    """Counts uploads exactly once, and stores the tallies.

    Every method except ``count_all`` raises StoreUnavailableError if the store does not respond.
    """

    def count(self, judgement: Judgement) -> CountedUpload:
        """Count an upload in one atomic step, unless its id is remembered. Return its verdict.

        A report for a window that was closed early is refused, even if the judgement accepts the
        report. If at least one report is counted, the store remembers the upload's id. Otherwise,
        the store keeps nothing of the upload.

        If the id is remembered, the reports that were counted the first time are accepted, and the
        upload's other reports are refused. Nothing is charged to the allowance. The judgement
        provides the reasons for the refusals. If a refused report could be counted now, the reason
        for its refusal makes the device send the report again in a new upload.

        Raises:
            QuotaExceededError: if the remaining allowance is too small for the accepted reports.
                Nothing is then counted.
        """

    def count_all(self, judgements: Sequence[Judgement]) -> list[Outcome]:
        """Count uploads, each in its own atomic step, and return the outcomes in the same order.

        If an upload cannot be counted now, its outcome is the error.
        """

    def close(self, window: Window) -> None:
        """Close a window for good: it accepts no more reports, and its tallies are final."""

    def closed_windows(self) -> frozenset[str]:
        """Return the names of the closed windows.

        This method is called every second, so it does not wait for the replicas. ``closed_tallies``
        waits for the replicas.
        """

    def half_closed_windows(self) -> frozenset[str]:
        """Return the names of the windows that only some of the shards have closed.

        The closing of such a window was interrupted, or is still under way.
        """

    def tallied_windows(self) -> frozenset[str]:
        """Return the names of the windows that have a tally."""

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[StoredTally]:
        """Yield the tallies of closed windows, sorted by metric, edition and window.

        The tallies are complete and final only if the iterator reaches its end. An error may follow
        the last tally.
        """

    def open_snapshot(self, interval_s: int, left_out: frozenset[str], now_s: float) -> Snapshot:
        """Return the last snapshot of open windows; if it is too old, take a new one first.

        The difference between two snapshots reveals the reports that arrived in between. If
        snapshots were more frequent, the difference could reveal a single report.

        Args:
            interval_s: the minimum number of seconds between two snapshots. 0 in a trial.
            left_out: the windows to leave out, which must include all closed windows.
            now_s: the current time (Unix seconds).
        """

    def own_editions(self) -> OwnEditions:
        """Return the store's record of all editions that its collectors have ever accepted.

        Call this method after reading tallies. The record then contains the editions of these
        tallies, because an edition is recorded before its first report is counted.
        """

    def remember_editions(self, editions: OwnEditions) -> None:
        """Record editions permanently, before any of their reports is counted."""

    def require_writable(self) -> None:
        """Check, without changing anything, that at least one server can count uploads now."""


def close_due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> None:
    """Close each window whose grace period is over, and each whose closing was interrupted."""
    due = {window.text for window in due_windows(store, now_s=now_s, grace_s=grace_s)}
    for name in sorted(due | store.half_closed_windows()):
        store.close(Window.parse(name))


def due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> list[Window]:
    """Return the windows that have a tally, are not closed, and are past their grace period."""
    not_closed = map(Window.parse, sorted(store.tallied_windows() - store.closed_windows()))
    return [window for window in not_closed if is_due_to_close(window, now_s=now_s, grace_s=grace_s)]


def look_at_open_windows(
    store: TallyStore, closed: frozenset[str], *, now_s: float, interval_s: int, grace_s: int
) -> Snapshot:
    """Return the last snapshot of open windows; if it is too old, take a new one first.

    Windows that close before the next snapshot is allowed are left out. Otherwise, a reader could
    compare the snapshot of an open window with the final tally soon afterwards. The difference
    would reveal the reports that arrived in between.
    """
    closing = due_windows(store, now_s=now_s + interval_s, grace_s=grace_s)
    return store.open_snapshot(interval_s, closed.union(window.text for window in closing), now_s)
