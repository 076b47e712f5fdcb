"""The analysis of a metric: estimates, plans, rehearsals, and the effect of fabricated reports.

`Analysis` has a subclass for each shape of answers, such as labels, numbers or texts. Only these
subclasses depend on the metric's kind and channel.

Terms of this package:

* *input*: a device encodes its answer as an input from 0 to k - 1.
* *channel*: a mechanism with its parameters. The channel draws a symbol for an input.
* *symbol*: a number from 0 to m - 1. The device reports the symbol.
* *score*: a number for each symbol. Each share and each mean has its own set of scores. The mean
  score of all reports is an unbiased estimate of this share or mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypedDict, TypeVar, cast

import numpy as np

from client_sdk.protocol.epsilon import as_float, float_ceiling
from client_sdk.protocol.kinds.kind import Kind, Label
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.window import Window
from estimator.analyses.means import Contrast
from estimator.decoders.decoder import Inverse, Squares
from estimator.results.estimate import Figures
from estimator.results.group import FigureKey
from estimator.results.metric import LearnedModel, MetricEstimate
from estimator.results.report import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally

if TYPE_CHECKING:
    from client_sdk.protocol.model import Observation
    from estimator.analyses.clips import Clip, Numbers
    from estimator.discovery.power import Power
    from estimator.discovery.tails import TextTails
    from estimator.likelihood.histogram import Histogram


class MetricFields(TypedDict):
    """The fields of a `MetricEstimate` that describe its metric."""

    metric: str
    title: str
    edition: str
    kind: str
    mechanism: str
    epsilon: float
    delta: float
    unit: str
    counted: str


def metric_fields(metric: Metric) -> MetricFields:
    """Return the fields of a `MetricEstimate` that describe its metric."""
    return MetricFields(
        metric=metric.name,
        title=metric.title,
        edition=metric.edition,
        kind=metric.kind.name,
        mechanism=metric.channel.name,
        epsilon=as_float(metric.epsilon_nanos),
        delta=float_ceiling(metric.delta),
        unit=metric.unit,
        counted=metric.kind.counted(shipped()),
    )


K = TypeVar("K", bound=Kind)

Draws = Callable[[Counts, Window, np.random.Generator], Counts]
"""A function that draws a random tally.

The arguments are the number of devices with each answer, the window, and a random generator. The
result is the number of reports of each symbol.
"""

InputLaw = tuple[tuple[Any, float], ...]
"""The possible inputs of one answer, each with its probability.

For instance, a number between two grid points has these two points as possible inputs.
"""


class Analysis(ABC, Generic[K]):
    """The analysis of a metric's reports.

    Attributes:
        metric: the metric.
        kind: the metric's kind, which defines the valid answers.
        mean_name: the name of the mean in reports, such as "mean size".
        compares_groups: whether the metric compares the means of groups of devices.
        takes_candidates: whether the analyst may list texts to estimate.
        observation: the features and the label of a model. None unless the metric is a model.
    """

    mean_name: ClassVar[str] = "mean"
    compares_groups: ClassVar[bool] = False
    takes_candidates: ClassVar[bool] = False

    def __init__(self, metric: Metric) -> None:
        """Prepare the analysis of a metric."""
        self.metric = metric
        self.kind = cast("K", metric.kind)

    # estimates

    @abstractmethod
    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimates of each tally, in the order of the tallies.

        Each tally must have the metric's edition.
        """

    def check(self, tally: Tally) -> None:
        """Refuse a tally that cannot be estimated.

        Raises:
            UnfitTallyError: if the tally counts a symbol that the channel does not have, or if the
                metric's range is too narrow for floats to distinguish its numbers.
        """
        tally.check(self.metric.channel.symbols)

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:  # noqa: ARG002 used for models
        """Return the learned coefficients or log-odds, and the model.

        The model is None if the tally has too few reports.

        Raises:
            TypeError: if the metric is not a model.
        """
        raise TypeError(f"{self.metric.name} is not a model")

    def share_limit(self, request: Request) -> int:  # noqa: ARG002 used for texts
        """Return the maximum number of estimated shares in a tally."""
        return self.metric.channel.inputs

    @property
    def labels(self) -> Sequence[Label]:
        """The answers whose shares are estimated, in order. () if no shares are estimated."""
        return ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """The range of the mean, or of each coordinate of a vector. None if there is no mean."""
        return None

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The estimates that alerts may watch.

        Each key is the notation in an alert, such as ``share[VALUE]``.
        """
        return {}

    @property
    def has_distribution(self) -> bool:
        """Whether quantiles and the shares of ranges are estimated."""
        return False

    @property
    def histogram(self) -> Histogram | None:
        """The bins of the estimated distribution. None if no distribution is estimated."""
        return None

    @property
    def is_whole(self) -> bool:
        """Whether all answers are whole numbers."""
        return True

    @property
    def mean_statistic(self) -> str:
        """The `mean_name`, with underscores instead of spaces."""
        return self.mean_name.replace(" ", "_")

    def fitting(self, texts: Sequence[str]) -> list[str]:  # noqa: ARG002 used for texts
        """Return the given texts that are valid answers to the metric."""
        return []

    @property
    def scale(self) -> Floats:
        """The position of each input on a scale from 0 to 1.

        The mean of the devices' positions is the mean answer on this scale.
        """
        return np.array([0.0, 1.0])

    def contrast_by(self, inverse: Inverse) -> Contrast:
        """Return a score for each symbol. The mean score of all reports estimates the mean answer.

        ``inverse`` is the inverse of the channel. If answers are permanent, it may also be the
        inverse of the channel's last step, which randomizes the permanent answer.
        """
        return Contrast.remembered(inverse, tuple(self.scale.tolist()))

    # plans

    @property
    def squares(self) -> Squares | None:
        """The mean squared score of a report, for each share. None if no shares are estimated."""
        return None

    @property
    def share_count(self) -> int:
        """The number of shares whose precision a plan predicts."""
        return self.metric.channel.inputs

    @property
    def factor(self) -> float:
        """The factor that converts the share of an input to the share of an answer.

        If each device reports one of 3 members of its set, the factor is 3. Most kinds have the
        factor 1.
        """
        return 1.0

    @property
    def mean_variance(self) -> float | None:
        """The largest possible variance of a mean estimated from one report.

        * None if there is no mean.
        * The unit is the squared length of the range: 0.25 means a quarter of the squared length.
        * For vectors, this is the variance of a coordinate.
        * For a model with the mechanism `crosses`, this is the variance of a cell's share.
        """
        return None

    @property
    def width(self) -> float:
        """The length of the range of the mean, or of a vector's coordinates."""
        return 1.0 if self.ends is None else self.ends[1] - self.ends[0]

    @property
    def report_variance(self) -> float | None:
        """The largest possible variance of a share estimated from one report, over all populations.

        * If there are no shares, this is the variance of the mean, in squared units of the answers.
        * None if the metric has neither shares nor a mean.
        """
        squares = self.squares
        if squares is not None:
            return squares.worst * self.factor**2
        variance = self.mean_variance
        return None if variance is None else variance * self.width**2

    def least_difference(self, reports: int) -> float | None:  # noqa: ARG002 used for groups
        """Return the smallest difference between two groups' means that is detected with 80% power.

        A difference is detected if its 95% interval excludes 0. The interval is not corrected for
        the number of differences.

        Returns:
            The difference. None if the metric does not compare groups, if there are too few
            reports, or if even the largest possible difference would not be detected.
        """
        return None

    @property
    def rotation_error(self) -> float | None:
        """The part of a mean vector's error that does not shrink with more reports.

        Devices draw one of a finite number of rotations. The rotations differ between windows. The
        error is for one window, as a fraction of the vectors' length. In the assumed worst case,
        all vectors are identical. None unless answers are vectors.
        """
        return None

    @property
    def least_noise(self) -> float:
        """The minimum variance that the mechanism adds to a coordinate of a reported vector."""
        return 0.0

    def noise_within(self, shares: Floats, means: Floats) -> Floats:  # noqa: ARG002 used for groups
        """Return the minimum variance that fresh noise in one report adds to each group's mean.

        Fresh noise is the noise that devices draw anew in each window.

        Args:
            shares: the share of each group, above 0.
            means: the mean of each group, on a scale from 0 to 1.
        """
        return np.zeros_like(means)

    def shares_of_groups(self, shares: Floats, reports: int) -> tuple[Floats, Floats]:  # noqa: ARG002 used for pairs
        """Return, for each answer, the share of its group and the standard error of this share.

        An answer is a pair of a group and a value. ``shares`` contains the share of each pair. Both
        results have shape (pairs,).

        Raises:
            TypeError: unless answers are pairs.
        """
        raise TypeError(f"answers to {self.metric.name} are not pairs")

    @property
    def text_tails(self) -> TextTails | None:
        """The probabilities of extreme errors in the estimated shares of texts.

        None unless answers are texts.
        """
        return None

    @property
    def power(self) -> Power | None:
        """The probabilities of finding unlisted texts. None unless answers are texts."""
        return None

    def pilot(self, tally: Tally) -> Numbers | None:  # noqa: ARG002 used for distributions
        """Return the distribution of answers in a pilot window.

        None if no distribution is estimated.
        """
        return None

    def clips(self, people: Numbers, reports: int) -> tuple[Clip, ...]:  # noqa: ARG002 used for numbers
        """Return the range that gives the mean the smallest error, and other ranges to compare.

        Return () if the smallest error is more than 90% of the error with the metric's own range.
        ``people`` is the distribution of answers, and ``reports`` is the expected number of reports
        in a window.
        """
        return ()

    # fabricated reports

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and the largest score of a report, for each share and for the mean."""
        return np.zeros(0), np.zeros(0)

    # rehearsals

    observation: Observation | None = None

    def law(self, answer: object) -> Mapping[Any, Any]:
        """Return the possible inputs of an answer, with their exact probabilities.

        Raises:
            DomainError: if the object is not a valid answer.
        """
        return self.kind.law(answer, self.metric.channel.inputs)

    @abstractmethod
    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws random tallies for given answers.

        ``laws`` contains, for each distinct answer, its possible inputs with their probabilities.
        """

    def counted(self, value: Any) -> Sequence[Any]:  # noqa: ANN401 an answer
        """Return the values to whose shares an answer contributes.

        For a set, these values are its members.
        """
        return (value,)

    def worth(self, value: Any) -> float:  # noqa: ANN401, ARG002 an answer
        """Return the number that represents an answer in the mean.

        For a set, the number is the set's size.

        Raises:
            TypeError: if answers have no mean.
        """
        raise TypeError(f"a {self.kind.name} has no mean")

    def _estimated(self, tally: Tally, **more: Any) -> MetricEstimate:  # noqa: ANN401 fields of an estimate
        return MetricEstimate(
            **metric_fields(self.metric),
            window=tally.window.text,
            closed=tally.closed,
            reports=tally.reports,
            **more,
        )
