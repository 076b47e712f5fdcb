"""Tests for changes of the shares of texts that an analyst named.

The names must be chosen before anybody looks at the reports, as with ``--since``. Each text is then
an ordinary share, with the following differences.

**Which texts are tested.** A text is tested if every compared window has its share, and if it
shares no cell with another named text. Hashes are public, so these conditions do not depend on
reports. Every tested text uses the same groups in each window: only cells that named texts share
are ever left out.

**Other texts in the same cell.** A change of a text that is not named changes the share of its
cells, and so the estimate of a named text in one of these cells. Two texts share a cell of a group
with a probability of one over the number of cells, 2**17 by default. If groups contradict each
other about a text in any window, the text may share a cell, and its p-value is 1. The promise of at
most 5% false alarms therefore applies except if, by chance, a named text shares a cell with a text
that is not named, and the groups do not show it.

**The error.** A group is drawn for every report, so different people are used for a text in each
window. If n reports are used, the selection of people contributes a variance of p (1 - p) / n to a
share p, which counts as lasting. This is an upper bound: of the same people, only some are used
again. The rest is fresh noise. More lasting error, or less noise, never makes a change more
significant.

**Far tails.** Many texts can be tested together, so the errors are widened to the exact tails of a
binomial distribution (`estimator.discovery.tails`), at the distance that is significant if each
text is compared `FARTHEST_FAMILY` times.

Texts that were found are not tested. The search selects the texts whose counts noise or chance
increased, in one of the windows. A test would have to be valid among all texts that the search
could have found. It would also need the share of every found text in all windows, but the archived
report of a window contains only the texts found in this window.

The texts that the registry approves for publication were usually found in reports, so they are not
tested either unless the analyst names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of
from estimator.report.same_people import FARTHEST_FAMILY, Places, Sums, Windows, mean_over, widenings
from estimator.results.estimate import FigureLabel, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.statistics.arrays import Floats


def with_tested_texts(windows: Sequence[MetricEstimate]) -> list[MetricEstimate]:
    """Return the windows with the shares of those named texts that are tested.

    The texts are in the order of the first window. If no text is tested, there is no group.
    """
    named = [[group for group in window.groups if group.about.are_named_texts] for window in windows]
    if not all(named):
        return [
            structs.replace(window, groups=tuple(group for group in window.groups if not group.about.are_named_texts))
            if groups
            else window
            for window, groups in zip(windows, named, strict=True)
        ]
    of_windows = [groups[0].figures for groups in named]
    shared = set[FigureLabel]().union(*(window.texts.sharing for window in windows if window.texts is not None))
    everywhere = set(of_windows[0].labels).intersection(*(figures.labels for figures in of_windows[1:])) - shared
    tested = [label for label in of_windows[0].labels if label in everywhere]
    return [_with(window, tested) for window in windows]


def _with(window: MetricEstimate, texts: Sequence[FigureLabel]) -> MetricEstimate:
    def chosen(group: FigureGroup) -> FigureGroup:
        places = {label: place for place, label in enumerate(group.figures.labels)}
        return structs.replace(group, figures=group.figures.at([places[text] for text in texts]))

    groups = ((chosen(group) if group.about.are_named_texts else group) for group in window.groups)
    return structs.replace(window, groups=tuple(group for group in groups if len(group.figures)))


@dataclass(frozen=True, slots=True, eq=False)
class TextChanges:
    """Weighted sums of the shares of named texts over several windows.

    Attributes:
        shown: the sums that are reported.
        unclear: whether groups contradict each other about each text, shape (texts,).

    """

    shown: Sums
    unclear: NDArray[np.bool_]

    @classmethod
    def from_windows(
        cls, windows: Sequence[MetricEstimate], metric: Metric, statistic: str, weights: Floats
    ) -> TextChanges:
        """Return the sums of all tested texts, with weights of shape (sums, windows)."""
        unclear = set[str]().union(*(window.texts.unclear for window in windows if window.texts is not None))
        labels = windows[0].figures(statistic).labels
        shares = text_shares(windows, metric, statistic)
        return cls(shares.weighted(weights), np.array([label in unclear for label in labels], dtype=bool))

    @property
    def tested(self) -> Sums:
        """The sums from which p-values are computed; 0 for unclear texts."""
        return self.shown._replace(estimates=np.where(self.unclear, 0.0, self.shown.estimates))

    def unbounded(self) -> TextChanges:
        """Return the sums with infinitely wide intervals."""
        return replace(self, shown=self.shown.unbounded())

    def figures(
        self, like: Figures, place: tuple[Places, Places], ends: tuple[Floats, Floats], **more: Floats
    ) -> Figures:
        """Return a change of each text, like `Sums.figures`."""
        return self.shown.figures(like, place, ends, **more)


def text_shares(windows: Sequence[MetricEstimate], metric: Metric, statistic: str) -> Windows:
    """Return the shares of named texts in several windows, with both parts of their errors.

    Raises:
        TypeError: if the question is not about texts.

    """
    tails = analysis_of(metric).text_tails
    if tails is None:
        raise TypeError(f"{metric.name} is not about texts")
    of_windows = [window.figures(statistic) for window in windows]
    shares, errors, lows, highs = (
        np.array([getattr(figures, name) for figures in of_windows])
        for name in ("unbiased", "standard_errors", "lows", "highs")
    )
    used, at = tails.reports(shares, errors), np.clip(shares, 0.0, 1.0)
    farther = tails.widenings(used, FARTHEST_FAMILY * shares.shape[1])
    down, up = (np.maximum(each, farther) for each in widenings(shares, errors, lows, highs))
    middle, nothing = np.clip(mean_over(used, shares), 0.0, 1.0), np.zeros_like(errors)
    together = Windows(used, shares, errors, nothing, nothing, down, up, places=(at, 1 - at), width=1.0)
    return together.with_lasting(middle * (1 - middle))
