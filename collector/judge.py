"""Judges an upload: decides which reports are counted, and why the others are refused.

This module does no IO.

All reports of a metric, edition and window share one decision, the *ruling*. Windows and grace
periods begin and end at whole seconds. A ruling is therefore computed once per second instead of
once per report.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import Upload
from client_sdk.protocol.wire.verdict import CLOCK_SKEW_S, Refusal

IDS_OUTLIVE_S = 86_400
"""How long, in seconds, an upload's id is remembered after the upload's last window has closed.

If a response is lost just before the window closes, the device can send the upload again and get
the same verdict.
"""

CLOCKS_APART_S = 7 * 86_400
"""The maximum difference, in seconds, between the clocks of two collectors on one store.

The store files an upload's id under one of the upload's windows. The collector's clock determines
which one. A device may send the same upload to two collectors. To count nothing twice, the store
searches for the id under every window that the other collector may have chosen, if its clock
differs by at most this maximum.

Searching under one window takes as long as counting a report. With this limit, the store searches
under at most about thirty of an upload's windows.
"""

RULINGS = 4096
"""The maximum number of cached rulings: enough for all metrics in all open windows."""


class TallyLabel(NamedTuple):
    """The tally to which a report is added.

    Attributes:
        tally: the tally's name, METRIC:EDITION:WINDOW.
        symbols: the number of possible symbols. 0 for an unknown metric.
    """

    tally: str
    symbols: int

    @property
    def window(self) -> str:
        """The window's name."""
        return self.tally.rpartition(":")[2]


class Allowance(NamedTuple):
    """The number of reports that the keys with one name may send together on one UTC day.

    Attributes:
        name: the name of the keys.
        limit: the maximum number of reports, at least 1.
        expires_at: the end of the UTC day in Unix seconds.
    """

    name: str
    limit: int
    expires_at: int


class Judgement(NamedTuple):
    """The decision on an upload, if the store has not counted the upload before.

    Attributes:
        upload: the upload's id.
        additions: for each tally, the symbol of each accepted report, keyed by the report's index
            in the upload.
        refused: for each refused report, its index in the upload and the reason, in ascending order
            of the index.
        ends: the ends, in Unix seconds, of the windows under which the id may already be stored,
            the latest first. A collector with a different registry, or with a clock that differs by
            up to CLOCKS_APART_S, may have judged an earlier attempt to send the upload.
        latest_end: the latest end of a window with an accepted report, in Unix seconds. The id is
            stored under this end. 0 if no report is accepted: no id is then stored.
        remember_until: the time at which the id expires, in Unix seconds. 0 if no report is
            accepted.
        allowance: the allowance to which the counted reports are charged. None for no limit.
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
        """Return the judgement, but with all reports for the windows in ``closed`` refused."""
        kept = {label: reported for label, reported in self.additions.items() if label.window not in closed}
        late = (index for label in self.additions.keys() - kept.keys() for index in self.additions[label])
        refused = sorted((*self.refused, *((index, Refusal.WINDOW_CLOSED) for index in late)))
        latest_end = max((Window.parse(label.window).ends_at for label in kept), default=0)
        remember_until = self.remember_until - self.latest_end + latest_end if kept else 0
        return self._replace(
            additions=kept, refused=tuple(refused), latest_end=latest_end, remember_until=remember_until
        )


class _Ruling(NamedTuple):
    """The decision on all reports of a metric, edition and window.

    Attributes:
        refusal: the reason to refuse the reports at any time. None if there is no such reason.
        out_of_time: the reason to refuse the reports now because of their window. None if there is
            no such reason.
        label: the tally of the accepted reports.
        may_have_id: whether an upload's id may already be stored under this window (see
            `Judgement.ends`).
        remember_until: the expiry of the id (Unix seconds) if this is the upload's latest window
            with an accepted report.
    """

    refusal: Refusal | None
    out_of_time: Refusal | None
    label: TallyLabel
    ends_at: int
    may_have_id: bool
    remember_until: int


_Rule = Callable[[str, str, str], _Ruling]
"""A function that returns the ruling on a metric, an edition and a window."""


class _Second(NamedTuple):
    """A cached function that rules on reports received within one second, and its settings."""

    registry: Registry
    once: frozenset[str]
    now_s: float
    grace_s: int
    rule: _Rule


NONE_ONCE: frozenset[str] = frozenset()


def judge(  # noqa: PLR0913 the settings by name
    upload: Upload,
    registry: Registry,
    *,
    now_s: float,
    grace_s: int,
    once: frozenset[str] = NONE_ONCE,
    allowance: Allowance | None = None,
) -> Judgement:
    """Judge each report of an upload separately. A refused report affects no other report.

    Args:
        upload: the upload.
        registry: the definitions of the metrics, including former definitions.
        now_s: the current time (Unix seconds).
        grace_s: how long a window accepts reports after its end, in seconds.
        once: all editions that collectors on this store have ever accepted, as METRIC:EDITION. If
            the registry lacks one of these editions, reports of this edition come from an older
            version of the app. Reports of any other unknown edition come from a newer version.
        allowance: the allowance to which the counted reports are charged. None for no limit.
    """
    rule = _rules(registry, now_s, grace_s, once)
    additions: dict[TallyLabel, dict[int, int]] = {}
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
    return Judgement(
        upload=upload.id,
        reports=len(upload.reports),
        additions=additions,
        refused=tuple(refused),
        ends=tuple(sorted(ends, reverse=True)),
        latest_end=latest_end,
        remember_until=latest_memory,
        allowance=allowance,
    )


def is_due_to_close(window: Window, *, now_s: float, grace_s: int) -> bool:
    """Return whether a window's grace period is over."""
    return now_s >= window.ends_at + grace_s


def _out_of_time(window: Window, now_s: float, grace_s: int) -> Refusal | None:
    if window.starts_at > now_s + CLOCK_SKEW_S:
        return Refusal.WINDOW_IN_FUTURE
    if is_due_to_close(window, now_s=now_s, grace_s=grace_s):
        return Refusal.WINDOW_CLOSED
    return None


_latest: _Second | None = None


def _rules(registry: Registry, now_s: float, grace_s: int, once: frozenset[str]) -> _Rule:
    """Return the function that rules on reports received at ``now_s``.

    The function is cached, and is used again within the same second.
    """
    global _latest  # noqa: PLW0603 replaced atomically; every thread would store the same value
    second_s, latest = now_s // 1, _latest
    if (
        latest is None
        or latest.registry is not registry
        or latest.once is not once
        or latest.now_s != second_s
        or latest.grace_s != grace_s
    ):
        rule = lru_cache(RULINGS)(_rules_of(registry, second_s, grace_s, once))
        latest = _latest = _Second(registry, once, second_s, grace_s, rule)
    return latest.rule


def _rules_of(registry: Registry, now_s: float, grace_s: int, once: frozenset[str]) -> _Rule:
    def rule(name: str, edition: str, window_text: str) -> _Ruling:
        window = Window.parse(window_text)
        out_of_time = _out_of_time(window, now_s, grace_s)
        remember_until = window.ends_at + grace_s + IDS_OUTLIVE_S
        metric = registry.asked_as(name, edition)
        label = TallyLabel(f"{name}:{edition}:{window}", metric.channel.symbols if metric else 0)
        has_begun = window.starts_at <= now_s + CLOCK_SKEW_S + CLOCKS_APART_S
        may_have_id = has_begun and remember_until + CLOCKS_APART_S > now_s
        return _Ruling(
            refusal=_unknown(registry, once, name, edition) if metric is None else _refusal(metric, window),
            out_of_time=out_of_time,
            label=label,
            ends_at=window.ends_at,
            may_have_id=may_have_id,
            remember_until=remember_until,
        )

    return rule


def _unknown(registry: Registry, once: frozenset[str], name: str, edition: str) -> Refusal:
    if f"{name}:{edition}" in once:
        return Refusal.FORMER_EDITION
    return Refusal.UNKNOWN_EDITION if name in registry.metrics else Refusal.UNKNOWN_METRIC


def _refusal(metric: Metric, window: Window) -> Refusal | None:
    if window.kind is not metric.window:
        return Refusal.WRONG_WINDOW
    if metric.has_expired(window):
        return Refusal.METRIC_EXPIRED
    return None
