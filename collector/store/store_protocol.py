"""The interface of a store, and functions that close windows or take snapshots of open windows.

`redis_store` implements the interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.verdict import Verdict
from collector.errors import QuotaExceededError, StoreUnavailableError
from collector.judge import Judgement, is_due_to_close


class CountedUpload(NamedTuple):
    """The outcome of an upload, whether it was counted now or earlier.

    Attributes:
        verdict: the verdict on each report. The same reports are accepted every time the upload is
            sent.
        is_duplicate: whether the id of the upload was remembered, so that nothing was counted this
            time. This also happens if the collector itself sends an upload to the store twice
            because a connection broke.

    """

    verdict: Verdict
    is_duplicate: bool


Outcome: TypeAlias = CountedUpload | QuotaExceededError | StoreUnavailableError
"""The outcome of one upload among several. An error is about this upload only."""


OwnEditions: TypeAlias = Mapping[str, str]
"""Maps each edition (METRIC:EDITION) to the own edition of its question.

The edition of a stratum maps to the question's own edition, under which the tally of the "others"
is stored (see `strata`). An own edition maps to itself, even if the question has no strata.
"""


@dataclass(frozen=True, slots=True)
class StoredTally:
    """The number of reports of each symbol, for one metric, edition and window.

    Attributes:
        metric: the metric's name.
        edition: the metric's edition, which determines the meaning of the reports.
        window: the window's name.
        closed: whether the tally can no longer change.
        counts: the number of reports of each symbol: m integers if there are m symbols.

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
        """Yield the tallies."""
        return iter(self.tallies)

    def without(self, left_out: frozenset[str]) -> Snapshot:
        """Return the snapshot without some windows, such as windows that have closed since then."""
        return Snapshot(self.taken_s, tuple(tally for tally in self.tallies if tally.window not in left_out))


class TallyStore(Protocol):
    """Counts uploads exactly once, and stores the tallies.

    Every method except ``count_all`` raises StoreUnavailableError if the store does not respond.
    """

    def count(self, judgement: Judgement) -> CountedUpload:
        """Count an upload in one atomic step, unless its id is remembered; return its verdict.

        The store remembers the id if a report was counted. Whenever this upload is sent again, the
        reports that were counted are accepted, the others are refused, and no allowance is charged.
        The reason for a refusal comes from the judgement. If a report was refused but the judgement
        would now accept it, it is refused for a reason that makes the device send it in another
        upload. If no report of an upload is counted, the upload leaves nothing behind, and is
        judged again if it is sent again. Reports of a window that was closed early are refused in
        the same step.

        Raises:
            QuotaExceededError: if the remaining allowance is too small for the reports that count.

        """

    def count_all(self, judgements: Sequence[Judgement]) -> list[Outcome]:
        """Count uploads, each in its own atomic step, and return their outcomes in order.

        If an upload cannot be counted now, its outcome is the error. The other uploads are still
        counted.
        """

    def close(self, window: Window) -> None:
        """Close a window for good: it accepts no more reports, and its tallies are final."""

    def closed_windows(self) -> frozenset[str]:
        """Return the names of the closed windows.

        This method is called every second. Therefore replicas do not confirm its response, unlike
        the response of ``closed_tallies``.
        """

    def half_closed_windows(self) -> frozenset[str]:
        """Return the names of the windows whose closing was interrupted.

        Only some shards have closed these windows.
        """

    def tallied_windows(self) -> frozenset[str]:
        """Return the names of the windows that have a tally."""

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[StoredTally]:
        """Yield the tallies of closed windows, sorted by metric, edition and window.

        The tallies are complete and final only if the iterator reaches its end: if the store has
        lost a part of them, the error may be raised only after the last tally.
        """

    def open_snapshot(self, interval_s: int, left_out: frozenset[str], now_s: float) -> Snapshot:
        """Return the last snapshot of open windows, which is renewed after ``interval_s``.

        If snapshots were more frequent, a reader could subtract two snapshots and see single
        reports (differencing).

        Args:
            interval_s: minimum number of seconds between two snapshots; 0 in a trial, whose reports
                need no protection.
            left_out: the windows to leave out, which must include all closed windows.
            now_s: the current time (Unix seconds).

        """

    def own_editions(self) -> OwnEditions:
        """Return all editions that were ever served, as the store has recorded them; see `strata`.

        If a caller reads tallies before calling this method, the result contains the editions of
        all these tallies, unless a tally is older than the store's record of editions.
        """

    def remember_editions(self, editions: OwnEditions) -> None:
        """Remember editions for good, before any of their reports is counted."""

    def require_writable(self) -> None:
        """Check that at least one server can count uploads now, without changing anything."""


def close_due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> None:
    """Close every window whose grace period is over, or whose closing was interrupted."""
    due = {window.text for window in due_windows(store, now_s=now_s, grace_s=grace_s)}
    for name in sorted(due | store.half_closed_windows()):
        store.close(Window.parse(name))


def due_windows(store: TallyStore, *, now_s: float, grace_s: int) -> list[Window]:
    """Return the windows that have a tally, are not closed, and whose grace period is over.

    Args:
        store: the store of the windows.
        now_s: Unix seconds.
        grace_s: how long a window accepts reports after its end, in seconds.

    """
    not_closed = map(Window.parse, sorted(store.tallied_windows() - store.closed_windows()))
    return [window for window in not_closed if is_due_to_close(window, now_s=now_s, grace_s=grace_s)]


def look_at_open_windows(
    store: TallyStore, closed: frozenset[str], *, now_s: float, interval_s: int, grace_s: int
) -> Snapshot:
    """Return the last snapshot of open windows; take a new snapshot if it is old enough.

    Windows that close before the next snapshot is allowed are left out. Otherwise, a reader could
    compare the snapshot of an open window with the final tally soon afterwards. The difference
    would reveal the reports that arrived in between.

    Args:
        store: the store of the windows.
        closed: the names of the closed windows.
        now_s: Unix seconds.
        interval_s: minimum number of seconds between two snapshots.
        grace_s: how long a window accepts reports after its end, in seconds.

    """
    closing = due_windows(store, now_s=now_s + interval_s, grace_s=grace_s)
    return store.open_snapshot(interval_s, closed.union(window.text for window in closing), now_s)
