"""All figures of one metric in one window."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from client_sdk.protocol.window import Window
from estimator.results.central import Central
from estimator.results.clusters import Clusters
from estimator.results.distribution import Distribution
from estimator.results.estimate import Estimate, Share, Shares
from estimator.results.joint import Joint
from estimator.results.learned import LearnedModel
from estimator.results.participation import AmongAll, TakingPart
from estimator.results.poisoning import Fakes
from estimator.results.question import Question
from estimator.results.texts import TextFindings
from estimator.statistics.arrays import Floats

NOTHING = np.zeros(0)


class MetricEstimate(Question, frozen=True, kw_only=True):
    """The figures of one tally. They describe the devices that take part.

    Attributes:
        window: the name of the day, week or month of the answers.
        closed: whether the tally can no longer change; if not, all figures are preliminary.
        reports: n.
        estimates: the share of each value, or of each group, in the domain's order. None if answers
            have no shares.
        mean: of a number in the metric's units, of a scale's positions from 1, or of a set's size.
            None for other kinds.
        mean_range: the least and the greatest possible mean, also of a group. None if there is no
            mean.
        sum: of the answers of all devices that reported. None if answers cannot be added.
        texts: of texts that nobody listed, those that were found or named. None for other kinds.
        coordinates: of vectors, the mean of each coordinate, counted from 0; of a model by
            products, the coefficient of each scaled feature; by crosses, the log-odds of yes in
            each cell. None for other kinds.
        norm: of vectors, the greatest length that one may have; of a model, the largest end of a
            coefficient's interval. None for other kinds.
        learned: of a model, what an app needs to predict by it. None for other kinds, and without
            reports.
        distribution: of a number's answers, in the metric's units. None unless the metric asks for
            it.
        answered: if windows without an answer are reported too, the share of each answer among the
            devices that answered; otherwise empty.
        at_least: of days of use, the share of devices that were used on at least a given number
            of days, by rising number; otherwise empty.
        joint: of two questions asked together, or of a number by group. None for other questions,
            and if it is not requested.
        covariance: on request, of up to `MOST_VALUES` shares of the channel's inputs, as rows. For
            a set the inputs are the drawn members, with the dummy last. Otherwise None.
        central: on request, what the tally reveals if nothing else is published. Otherwise None.
        fakes: on request, what made-up reports could have done. Otherwise None.
        clusters: on request, of answers on a scale or in a plane. Otherwise None.
        taking_part: how many devices take part. None where the schedule does not say what share of
            them it asks.
        among_all: on request, bounds on the figures of all installations. Otherwise None, and
            without reports.

    """

    window: str
    closed: bool
    reports: Annotated[int, msgspec.Meta(ge=0)]
    estimates: Shares | None = None
    mean: Estimate | None = None
    mean_range: tuple[float, float] | None = None
    sum: Estimate | None = None
    coordinates: Shares | None = None
    norm: float | None = None
    texts: TextFindings | None = None
    learned: LearnedModel | None = None
    distribution: Distribution | None = None
    answered: tuple[Share, ...] = ()
    at_least: tuple[Share, ...] = ()
    joint: Joint | None = None
    covariance: tuple[tuple[float, ...], ...] | None = None
    central: Central | None = None
    fakes: Fakes | None = None
    clusters: Clusters | None = None
    taking_part: TakingPart | None = None
    among_all: AmongAll | None = None

    @property
    def span(self) -> Window:
        """The window that ``window`` names."""
        return Window.parse(self.window)

    @property
    def is_comparable(self) -> bool:
        """Whether its figures can be compared with those of other windows, one by one."""
        return self.coordinates is None and self.texts is None

    @property
    def unbiased(self) -> Floats:
        """The unbiased shares, then the mean; empty without reports."""
        shares = NOTHING if self.estimates is None else self.estimates.unbiased
        mean = None if self.mean is None else self.mean.estimate
        return shares if mean is None else np.append(shares, mean)

    @property
    def shares_and_mean(self) -> tuple[Estimate, ...]:
        """The estimate of every share, then that of the mean."""
        shares: tuple[Estimate, ...] = () if self.estimates is None else tuple(self.estimates)
        return shares if self.mean is None else (*shares, self.mean)
