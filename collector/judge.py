"""Judges an upload: which reports count, where, and why the others do not. Pure: the clock is an argument."""

from __future__ import annotations

from typing import NamedTuple

from client_sdk.spec import CLOCK_SKEW_S, Metric, Refusal, Registry, Report, Upload, Window

IDS_OUTLIVE_S = 86_400
"""Seconds that an upload id is remembered beyond the close of its last window.

A day: a client that saw its window close just before the acknowledgement was lost still gets its first answer.
"""


class Addition(NamedTuple):
    """One report that counts.

    Attributes:
        place: its index in the upload.
        metric: the metric's name.
        edition: what the report means.
        window: the window's name.
        symbol: the symbol to count.
        symbols: how many symbols the alphabet has.

    """

    place: int
    metric: str
    edition: str
    window: str
    symbol: int
    symbols: int


class Judgement(NamedTuple):
    """What is to become of an upload, if the store has not seen it before.

    Attributes:
        upload: the upload's id.
        reports: how many reports it has.
        additions: the reports that count.
        refused: index and reason of the others, by rising index.
        latest_end: Unix seconds of the latest end of any window in the upload: a function of its bytes alone, so that
            every attempt looks for the id in the same place.
        remember_until: Unix seconds until which the id is remembered; 0 where no window is open, for then nothing is
            counted and nothing needs remembering.

    """

    upload: str
    reports: int
    additions: tuple[Addition, ...]
    refused: tuple[tuple[int, Refusal], ...]
    latest_end: int
    remember_until: int


def judge(upload: Upload, registry: Registry, *, now_s: float, grace_s: int) -> Judgement:
    """Judge every report of an upload by itself: a refused one does not take the others with it."""
    additions: list[Addition] = []
    refused: list[tuple[int, Refusal]] = []
    latest_end = remember_until = 0
    for index, report in enumerate(upload.reports):
        window = Window.parse(report.window)
        latest_end = max(latest_end, window.ends_at)
        out_of_time = _out_of_time(window, now_s, grace_s)
        if out_of_time is None:
            remember_until = max(remember_until, window.ends_at + grace_s + IDS_OUTLIVE_S)
        metric = registry.metrics.get(report.metric)
        refusal = _refusal(report, metric, window) or out_of_time
        if refusal is not None:
            refused.append((index, refusal))
        elif metric is not None:
            additions.append(Addition(index, *report, metric.channel.symbols))
    return Judgement(upload.id, len(upload.reports), tuple(additions), tuple(refused), latest_end, remember_until)


def is_due_to_close(window: Window, *, now_s: float, grace_s: int) -> bool:
    """Whether a window's grace is over."""
    return now_s >= window.ends_at + grace_s


def _out_of_time(window: Window, now_s: float, grace_s: int) -> Refusal | None:
    if window.starts_at > now_s + CLOCK_SKEW_S:
        return Refusal.WINDOW_IN_FUTURE
    if is_due_to_close(window, now_s=now_s, grace_s=grace_s):
        return Refusal.WINDOW_CLOSED
    return None


def _refusal(report: Report, metric: Metric | None, window: Window) -> Refusal | None:
    if metric is None:
        return Refusal.UNKNOWN_METRIC
    if report.edition != metric.edition:
        return Refusal.UNKNOWN_EDITION
    if window.kind is not metric.window:
        return Refusal.WRONG_WINDOW
    if metric.has_expired(window):
        return Refusal.METRIC_EXPIRED
    if report.symbol >= metric.channel.symbols:
        return Refusal.SYMBOL_OUT_OF_RANGE
    return None
