"""What the collector needs of a store: the port; `redis_store` is its adapter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from client_sdk.protocol import Verdict, Window
from collector.errors import QuotaExceededError, StoreUnavailableError
from collector.judge import Judgement


class StoreFullError(StoreUnavailableError):
    """The memory of the store is full: nothing of the upload was counted, and everything acknowledged is kept."""


class Counted(NamedTuple):
    """An upload that has its verdict: counted now or before, as far as it can be.

    Attributes:
        verdict: what became of each report: the same ones are accepted every time that the upload comes.
        is_duplicate: whether its id was remembered, so that nothing was counted this time. An upload that was sent
            again within the collector, because a connection broke, counts as a duplicate too.

    """

    verdict: Verdict
    is_duplicate: bool


Outcome: TypeAlias = Counted | QuotaExceededError | StoreUnavailableError
"""What became of one upload of several: an error here speaks of this upload only."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The histogram of the symbols that were reported for one question, edition and window.

    Attributes:
        metric: the metric's name.
        edition: what the reports mean.
        window: the window's name.
        closed: whether it can no longer change.
        counts: how often each symbol was reported: m integers.

    """

    metric: str
    edition: str
    window: str
    closed: bool
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A look at windows that are open.

    Attributes:
        taken_s: Unix seconds.
        tallies: by metric, edition and window.

    """

    taken_s: int
    tallies: tuple[Tally, ...]

    def __iter__(self) -> Iterator[Tally]:
        """Yield the tallies."""
        return iter(self.tallies)

    def without(self, left_out: frozenset[str]) -> Snapshot:
        """Return the same look without some windows, such as those that were closed since."""
        return Snapshot(self.taken_s, tuple(tally for tally in self.tallies if tally.window not in left_out))


class TallyStore(Protocol):
    """Counts uploads exactly once and keeps the tallies.

    Every method but ``count_all`` raises StoreUnavailableError where the store does not answer.
    """

    def count(self, judgement: Judgement) -> Counted:
        """Count an upload in one atomic step, unless its id is remembered, and return its verdict.

        An id is remembered where a report was counted. However often its upload comes, the reports that were counted
        are accepted and the others refused, for what the judgement says now (or, if it has nothing against one by now,
        for a reason that has it sent again in another upload), and it is charged to no allowance. An upload of which
        nothing was counted leaves nothing behind: it is judged anew. Reports of a window that was closed early are
        refused here, in the same step.

        Raises:
            QuotaExceededError: if its allowance has too little left for the reports that count.

        """

    def count_all(self, judgements: Sequence[Judgement]) -> list[Outcome]:
        """Count uploads, each in an atomic step of its own, and return their outcomes in the same order.

        An upload that cannot be counted now does not take the others with it: its outcome is the error.
        """

    def close(self, window: Window) -> None:
        """Close a window for good: from now on it takes no report, and its tallies are final."""

    def closed_windows(self) -> frozenset[str]:
        """Return the names of the windows that were closed.

        It is asked for every second, so nothing is done to make sure that it stays so; ``closed_tallies`` does.
        """

    def tallied_windows(self) -> frozenset[str]:
        """Return the names of the windows that have any tally."""

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[Tally]:
        """Yield the tallies of windows, of those that are closed, by metric, edition and window.

        They are whole, and final, if the end was reached: the error that the store lost a part of them may come last.
        """

    def open_snapshot(self, interval_s: int, left_out: frozenset[str], now_s: float) -> Snapshot:
        """Return the tallies of windows that are open as of the last look, which is renewed every ``interval_s``.

        Looking more often would let a reader subtract two looks and see single reports (differencing).

        Args:
            interval_s: seconds for which a look is the last one.
            left_out: the windows that are closed, and others that are not to be looked at.
            now_s: Unix seconds, when a look that is taken now is taken.

        """

    def require_writable(self) -> None:
        """Return if uploads can be counted now, of a store of several servers those of any; and change nothing."""
