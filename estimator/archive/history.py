"""The earlier windows of an archive, which the page of a window shows beside its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.archive.folder import REPORT, Archive
from estimator.errors import ReportError
from estimator.formats.from_json import read_report
from estimator.render.html.page import MOST_PLACES
from estimator.report.strata import apart
from estimator.results.metric import MetricEstimate

MOST_WINDOWS: Final = 90
"""The earlier windows of a page, a quarter of days: with fifty questions they take 1.5 MB."""

MOST_BYTES: Final = 2**26
"""The reports that are read for a page. A question of a million values has one of this size."""


@dataclass(frozen=True, slots=True)
class History:
    """The estimates of earlier windows, each read once.

    Attributes:
        archive: whose windows they are.
        registry: the definitions. Estimates of other editions are left out.
        known: what was read: the size of its report, and the estimates.

    """

    archive: Archive
    registry: Registry
    known: dict[Window, tuple[int, tuple[MetricEstimate, ...]]] = field(default_factory=dict)

    def before(self, window: Window) -> list[MetricEstimate]:
        """Return the estimates of earlier windows of the same kind, in the order of time."""
        reach_s = self._most_windows * (window.ends_at - window.starts_at)
        earlier = [
            each
            for each in self.archive.windows()
            if each.kind is window.kind and 0 < window.starts_at - each.starts_at <= reach_s
        ]
        self._forget(earlier)
        estimates: list[tuple[MetricEstimate, ...]] = []
        left = MOST_BYTES
        for each in earlier:
            size, of_window = self._read(each)
            left -= size
            if left < 0:
                break
            estimates.append(of_window)
        return [estimate for of_window in reversed(estimates) for estimate in of_window]

    @property
    def _most_windows(self) -> int:
        """How far a page looks back: gaps have places on it, and months differ in length."""
        return min(MOST_WINDOWS, MOST_PLACES // (2 * len(apart(self.registry).metrics)))

    def _forget(self, needed: list[Window]) -> None:
        for window in self.known.keys() - set(needed):
            if all(window.kind is each.kind for each in needed):
                del self.known[window]

    def _read(self, window: Window) -> tuple[int, tuple[MetricEstimate, ...]]:
        if window not in self.known:
            path = self.archive.path(window) / REPORT
            size = path.stat().st_size
            of_window: tuple[MetricEstimate, ...] = ()
            if size <= MOST_BYTES:
                with suppress(ReportError):  # perhaps of another version
                    of_window = self._same_editions(read_report(path).metrics)
            self.known[window] = size, of_window
        return self.known[window]

    def _same_editions(self, estimates: tuple[MetricEstimate, ...]) -> tuple[MetricEstimate, ...]:
        editions = {name: metric.edition for name, metric in apart(self.registry).metrics.items()}
        return tuple(each for each in estimates if editions.get(each.metric) == each.edition)
