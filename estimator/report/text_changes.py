"""Tests for changes of the shares of texts that an analyst named.

The analyst must choose the texts, like the window of ``--since``, before anybody looks at the
reports. The share of a named text is tested like any other share, apart from the following
differences. The differences are due to the mechanism
(`client_sdk.protocol.mechanisms.grouped_geometry`). Each device draws one of several groups. A hash
function of the group maps the device's text to one of many cells.

**Tested texts.** A text is tested if every compared window contains its share, and if no group maps
the text to the same cell as another named text. The hash functions are public, so these conditions
do not depend on the reports. The share of a tested text is computed from the same groups in each
window.

**Other texts in the same cell.** If a named text and an unnamed text share a cell, a change of the
second text also changes the estimate of the first. In one group, this happens to two texts with a
probability of 1 / c. Here, c is the number of cells, 2**17 by default. In other groups, the same
two texts usually have different cells. The other groups contradict the first group if the second
text is common. If groups contradict each other about a named text in any window, the text's p-value
is 1. The false-alarm probability is therefore at most 5%, except if a named text shares a cell with
an unnamed text and the groups do not contradict each other. If answers are lists of texts, a
smaller error of the same kind occurs if a text's cell is on one line with the cells of two texts of
a list (see the module `grouped_geometry`).

**The error.** A device draws its group anew for every report, so each window uses the reports of
different people. If n reports are used, the selection of people contributes a variance of p (1 - p)
/ n to a share p. All of this variance counts as lasting (see `estimator.report.same_people`). The
lasting part is then an upper bound, because another window uses the reports of only some of these
people. The rest of the error counts as fresh noise. An increase of the lasting part never makes a
change more significant.

**Far tails.** If many texts are tested together, a significant change is many standard errors from
0. At this distance, a binomial distribution can have heavier tails than a normal distribution.
Errors are therefore widened to fit the exact binomial tails (`estimator.discovery.tails`) at the
distance that is significant among `FARTHEST_FAMILY` comparisons.

**Untested texts.** Texts that a search found are not tested. The search selects texts with counts
that noise or chance increased in one of the windows. A valid test would have to account for all
texts that the search could have found. A valid test would also need the share of every found text
in all windows. A window's archived report contains only the texts found in this window. Texts that
the registry approves for publication were usually also found in reports. Approved texts are tested
only if the analyst names them.
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
    """Return copies of the windows. Named texts that are not tested are left out.

    The texts are in the order of the first window. If no text is tested, the copies contain no
    group of figures for named texts.
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
        unclear: for each text, whether the groups contradict each other about the text's share in
            any window, shape (texts,).

    """

    shown: Sums
    unclear: NDArray[np.bool_]

    @classmethod
    def from_windows(
        cls, windows: Sequence[MetricEstimate], metric: Metric, statistic: str, weights: Floats
    ) -> TextChanges:
        """Return the weighted sums of the shares of all tested texts.

        The windows come from `with_tested_texts`. ``weights`` contains the weights of the windows
        in each sum, shape (sums, windows).
        """
        unclear = set[str]().union(*(window.texts.unclear for window in windows if window.texts is not None))
        labels = windows[0].figures(statistic).labels
        shares = text_shares(windows, metric, statistic)
        return cls(shares.weighted(weights), np.array([label in unclear for label in labels], dtype=bool))

    @property
    def tested(self) -> Sums:
        """The sums from which p-values are computed. The sums of unclear texts are 0."""
        return self.shown._replace(estimates=np.where(self.unclear, 0.0, self.shown.estimates))

    def unbounded(self) -> TextChanges:
        """Return the same sums with infinitely wide intervals."""
        return replace(self, shown=self.shown.unbounded())

    def figures(
        self, like: Figures, place: tuple[Places, Places], ends: tuple[Floats, Floats], **more: Floats
    ) -> Figures:
        """Return the change of each text, with its interval.

        The arguments are those of `Sums.figures`.
        """
        return self.shown.figures(like, place, ends, **more)


def text_shares(windows: Sequence[MetricEstimate], metric: Metric, statistic: str) -> Windows:
    """Return named texts' shares in each window, with the fresh and lasting parts of their errors.

    Raise `TypeError` if the metric is not about texts.
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
