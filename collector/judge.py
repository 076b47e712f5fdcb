"""Judges an upload: which reports count, where, and why the others do not. Pure: the clock is an argument.

What holds of a metric, an edition and a window holds for a whole second, for windows and graces begin and end at whole
ones. So it is looked up once a second, not once a report.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from client_sdk.protocol import CLOCK_SKEW_S, Metric, Refusal, Registry, Upload, Window

IDS_OUTLIVE_S = 86_400
"""Seconds that an upload id is remembered beyond the close of its last window.

A day: a client that saw its window close just before the acknowledgement was lost still gets its first answer.
"""


CLOCKS_APART_S = 7 * 86_400
"""How far the clocks that judge two attempts of an upload may be apart: an id is looked for where such a one left it.

A week: collectors whose clocks are wrong by hours, or for days, count nothing twice. And of the 256 windows that an
upload may name no more than some thirty are looked under, for each takes the store as long as counting a report.
"""


class Label(NamedTuple):
    """What a report speaks of, and so which tally it is added to.

    Attributes:
        tally: the tally's name, METRIC:EDITION:WINDOW.
        symbols: how many symbols the alphabet has; 0 of an unknown metric.

    """

    tally: str
    symbols: int

    @property
    def window(self) -> str:
        """The window's name."""
        return self.tally.rpartition(":")[2]


class Allowance(NamedTuple):
    """How many reports may be counted for one name until a day ends.

    Attributes:
        name: whose allowance it is, such as the name of an upload key; never an address.
        limit: how many reports may be counted, from 1.
        expires_at: Unix seconds of the end of the UTC day, when the next allowance begins.

    """

    name: str
    limit: int
    expires_at: int


class Judgement(NamedTuple):
    """What is to become of an upload, if the store has not seen it before.

    Attributes:
        upload: the upload's id.
        reports: how many reports it has.
        additions: the reports that count: the symbol of each by its label and its index in the upload.
        refused: index and reason of the others, by rising index.
        ends: Unix seconds of the ends of those windows in the upload, each once, the latest first, under which another
            attempt may have left the id, whatever registry judged it, and a clock up to CLOCKS_APART_S from this one.
        latest_end: Unix seconds of the latest end among windows of the reports that count, under which the id is left;
            0 where none counts, for then nothing needs remembering.
        remember_until: Unix seconds until which it is; 0 likewise.
        allowance: what the reports that count are charged to, if anything.

    """

    upload: str
    reports: int
    additions: dict[Label, dict[int, int]]
    refused: tuple[tuple[int, Refusal], ...]
    ends: tuple[int, ...]
    latest_end: int
    remember_until: int
    allowance: Allowance | None = None

    def without(self, closed: Collection[str]) -> Judgement:
        """Return the same judgement where some windows, by name, take no reports any more."""
        kept = {label: reported for label, reported in self.additions.items() if label.window not in closed}
        late = (index for label in self.additions.keys() - kept.keys() for index in self.additions[label])
        refused = sorted((*self.refused, *((index, Refusal.WINDOW_CLOSED) for index in late)))
        latest_end = max((Window.parse(label.window).ends_at for label in kept), default=0)
        remember_until = self.remember_until - self.latest_end + latest_end if kept else 0
        return self._replace(
            additions=kept, refused=tuple(refused), latest_end=latest_end, remember_until=remember_until
        )


class _Ruling(NamedTuple):
    """What holds of every report of a metric, edition and window.

    Attributes:
        refusal: why none of them counts, whenever it comes, or none.
        out_of_time: why none of them counts now, or none.
        label: theirs.
        ends_at: Unix seconds of the window's end.
        may_have_id: whether the id may have been left under it by another attempt.
        remember_until: Unix seconds until which the id of an upload is remembered of which one is counted.

    """

    refusal: Refusal | None
    out_of_time: Refusal | None
    label: Label
    ends_at: int
    may_have_id: bool
    remember_until: int


_Rule = Callable[[str, str, str], _Ruling]
"""Returns the ruling on a metric, an edition and a window."""

RULINGS = 4096
"""How many rulings of a second are kept: those on what an app asks, in every window that takes reports."""


class _Second(NamedTuple):
    """The rules of one second.

    Attributes:
        registry: the definitions.
        now_s: Unix seconds, whole ones.
        grace_s: seconds after its end during which a window still takes reports.
        rule: the rules.

    """

    registry: Registry
    now_s: float
    grace_s: int
    rule: _Rule


def judge(upload: Upload, registry: Registry, *, now_s: float, grace_s: int) -> Judgement:
    """Judge every report of an upload by itself: a refused one does not take the others with it."""
    return _judge(upload, _rules(registry, now_s, grace_s))


def judge_all(
    uploads: Iterable[Upload], registry: Registry, *, now_s: float, grace_s: int, allowance: Allowance | None = None
) -> list[Judgement]:
    """Judge several uploads at one instant."""
    rule = _rules(registry, now_s, grace_s)
    return [_judge(upload, rule, allowance) for upload in uploads]


def is_due_to_close(window: Window, *, now_s: float, grace_s: int) -> bool:
    """Whether a window's grace is over."""
    return now_s >= window.ends_at + grace_s


def _out_of_time(window: Window, now_s: float, grace_s: int) -> Refusal | None:
    if window.starts_at > now_s + CLOCK_SKEW_S:
        return Refusal.WINDOW_IN_FUTURE
    if is_due_to_close(window, now_s=now_s, grace_s=grace_s):
        return Refusal.WINDOW_CLOSED
    return None


def _judge(upload: Upload, rule: _Rule, allowance: Allowance | None = None) -> Judgement:
    additions: dict[Label, dict[int, int]] = {}
    refused: list[tuple[int, Refusal]] = []
    ends: set[int] = set()
    latest_end = latest_memory = 0
    for index, (metric, edition, window, symbol) in enumerate(upload.reports):
        refusal, out_of_time, label, ends_at, may_have_id, remember_until = rule(metric, edition, window)
        if may_have_id:
            ends.add(ends_at)
        if refusal is None:
            refusal = Refusal.SYMBOL_OUT_OF_RANGE if symbol >= label.symbols else out_of_time
        if refusal is not None:
            refused.append((index, refusal))
            continue
        if ends_at > latest_end:
            latest_end, latest_memory = ends_at, remember_until
        if label in additions:
            additions[label][index] = symbol
        else:
            additions[label] = {index: symbol}
    latest_first = tuple(sorted(ends, reverse=True))
    return Judgement(
        upload.id, len(upload.reports), additions, tuple(refused), latest_first, latest_end, latest_memory, allowance
    )


_latest: _Second | None = None


def _rules(registry: Registry, now_s: float, grace_s: int) -> _Rule:
    """Return the rules of the second of an instant; those of the latest one are kept."""
    global _latest  # noqa: PLW0603 replaced whole, and by what any thread would put there
    second_s = now_s // 1
    latest = _latest
    if latest is None or latest.registry is not registry or latest.now_s != second_s or latest.grace_s != grace_s:
        rule = lru_cache(RULINGS)(_rules_of(registry, second_s, grace_s))
        latest = _latest = _Second(registry, second_s, grace_s, rule)
    return latest.rule


def _rules_of(registry: Registry, now_s: float, grace_s: int) -> _Rule:
    def rule(name: str, edition: str, window_text: str) -> _Ruling:
        window = Window.parse(window_text)
        out_of_time = _out_of_time(window, now_s, grace_s)
        remember_until = window.ends_at + grace_s + IDS_OUTLIVE_S
        metric = registry.metrics.get(name)
        label = Label(f"{name}:{edition}:{window}", metric.channel.symbols if metric else 0)
        has_begun = window.starts_at <= now_s + CLOCK_SKEW_S + CLOCKS_APART_S
        may_have_id = has_begun and remember_until + CLOCKS_APART_S > now_s
        refusal = _refusal(metric, edition, window)
        return _Ruling(refusal, out_of_time, label, window.ends_at, may_have_id, remember_until)

    return rule


def _refusal(metric: Metric | None, edition: str, window: Window) -> Refusal | None:
    if metric is None:
        return Refusal.UNKNOWN_METRIC
    if edition != metric.edition:
        return Refusal.UNKNOWN_EDITION
    if window.kind is not metric.window:
        return Refusal.WRONG_WINDOW
    if metric.has_expired(window):
        return Refusal.METRIC_EXPIRED
    return None
