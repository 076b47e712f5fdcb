"""What a judge decides about an upload, as data.

The store counts by it, and needs neither the registry nor the judge for that.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.verdict import Refusal


class TallyLabel(NamedTuple):
    """The tally that a report is added to.

    Attributes:
        tally: the tally's name, METRIC:EDITION:WINDOW.
        symbols: the number of symbols in the alphabet; 0 for an unknown metric.

    """

    tally: str
    symbols: int

    @property
    def window(self) -> str:
        """The window's name."""
        return self.tally.rpartition(":")[2]


class Allowance(NamedTuple):
    """How many reports may be counted for one name until the end of a day.

    Attributes:
        name: the owner of the allowance, such as the name of an upload key; never an address.
        limit: how many reports may be counted, from 1.
        expires_at: Unix seconds of the end of the UTC day, when the next allowance begins.

    """

    name: str
    limit: int
    expires_at: int


class Judgement(NamedTuple):
    """What happens to an upload that the store has not seen before.

    Attributes:
        upload: the upload's id.
        reports: how many reports it has.
        additions: for each label the reports that count: their symbols by their index in the
            upload.
        refused: index and reason of the other reports, by rising index.
        ends: Unix seconds, the latest first: the ends of the upload's windows under which another
            attempt may have left the id. Another registry may have judged that attempt, and a clock
            up to CLOCKS_APART_S from this one.
        latest_end: Unix seconds: the latest end of a window with a report that counts. The id is
            put under it. It is 0 if no report counts, for then nothing needs to be remembered.
        remember_until: Unix seconds until which the id is remembered; 0 if no report counts.
        allowance: the allowance that the counted reports are charged to, or None.

    """

    upload: str
    reports: int
    additions: dict[TallyLabel, dict[int, int]]
    refused: tuple[tuple[int, Refusal], ...]
    ends: tuple[int, ...]
    latest_end: int
    remember_until: int
    allowance: Allowance | None = None

    def without(self, closed: Collection[str]) -> Judgement:
        """Return the judgement for the case that the named windows no longer take reports."""
        kept = {label: reported for label, reported in self.additions.items() if label.window not in closed}
        late = (index for label in self.additions.keys() - kept.keys() for index in self.additions[label])
        refused = sorted((*self.refused, *((index, Refusal.WINDOW_CLOSED) for index in late)))
        latest_end = max((Window.parse(label.window).ends_at for label in kept), default=0)
        remember_until = self.remember_until - self.latest_end + latest_end if kept else 0
        return self._replace(
            additions=kept, refused=tuple(refused), latest_end=latest_end, remember_until=remember_until
        )
