"""The analysis of a question's reports: estimates, plans, fabricated reports and rehearsals.

Each shape of answers has its own subclass of `Analysis`. For instance, all questions answered by
one of several labels share one shape. Only the subclass contains code for its kinds and channels,
so no other code needs to test the kind of a question.
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
"""A function that draws a tally at random.

The function takes the number of devices with each answer, the window and the generator of random
numbers. It returns the number of reports of each symbol.
"""

InputLaw = tuple[tuple[Any, float], ...]
"""The possible encodings of an answer as a channel input, each with its probability."""


class Analysis(ABC, Generic[K]):
    """The analysis of a question's reports.

    Attributes:
        metric: the question.
        kind: the question's kind, which defines the valid answers.
        mean_name: the name of the mean in reports. In the name of the mean's statistic, underscores
            replace the spaces.
        compares_groups: whether the means of groups are compared.
        takes_candidates: whether an analyst may name texts to have their shares estimated.
        observation: the features and label of a model; None for other kinds.

    """

    mean_name: ClassVar[str] = "mean"
    compares_groups: ClassVar[bool] = False
    takes_candidates: ClassVar[bool] = False

    def __init__(self, metric: Metric) -> None:
        """Prepare the analysis of a question. Its kind must be one that the class analyzes."""
        self.metric = metric
        self.kind = cast("K", metric.kind)

    # estimates

    @abstractmethod
    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimates of each tally in order. Tallies must have the metric's edition."""

    def check(self, tally: Tally) -> None:
        """Refuse a tally that cannot be estimated.

        Raises:
            UnfitTallyError: if the tally does not have the channel's alphabet, or if floats are too
                coarse for the range.

        """
        tally.check(self.metric.channel.symbols)

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:  # noqa: ARG002 used for models
        """Return the coefficients or log-odds estimated from a tally, and the learned model.

        The model is None if there are too few reports to learn from.

        Raises:
            TypeError: if the question is not a model.

        """
        raise TypeError(f"{self.metric.name} is not a model")

    def share_limit(self, request: Request) -> int:  # noqa: ARG002 used for texts
        """Return the maximum number of shares among the estimates of a tally."""
        return self.metric.channel.inputs

    @property
    def labels(self) -> Sequence[Label]:
        """The answers whose shares are reported, in order; () if no shares are reported."""
        return ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """The range of the mean, or of each coordinate of a vector; None if there is no mean."""
        return None

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The figures that an alert may name, keyed by their notation, such as ``share[VALUE]``."""
        return {}

    @property
    def has_distribution(self) -> bool:
        """Whether quantiles and the shares of ranges are estimated."""
        return False

    @property
    def histogram(self) -> Histogram | None:
        """The bins of a distribution that is estimated from symbol counts; otherwise None."""
        return None

    @property
    def is_whole(self) -> bool:
        """Whether all answers are whole numbers. Only whole numbers can have a share each."""
        return True

    @property
    def mean_statistic(self) -> str:
        """The name of the mean's statistic."""
        return self.mean_name.replace(" ", "_")

    def fitting(self, texts: Sequence[str]) -> list[str]:  # noqa: ARG002 used for texts
        """Return those of the given texts that people can answer."""
        return []

    @property
    def scale(self) -> Floats:
        """The position of each answer on a scale from 0 to 1, if each answer is a channel input."""
        return np.array([0.0, 1.0])

    def contrast_by(self, inverse: Inverse) -> Contrast:
        """Return the contrast for the mean, given the inverse of the channel or its last step."""
        return Contrast.remembered(inverse, tuple(self.scale.tolist()))

    # plans

    @property
    def squares(self) -> Squares | None:
        """The mean squared score of a report, for each share; None if no shares are reported."""
        return None

    @property
    def share_count(self) -> int:
        """The number of shares whose precision a plan predicts."""
        return self.metric.channel.inputs

    @property
    def factor(self) -> float:
        """The factor by which a share of an input is multiplied to get the share of an answer."""
        return 1.0

    @property
    def mean_variance(self) -> float | None:
        """The largest possible variance of a mean estimated from one report, in squared ranges.

        For example, 0.25 means a quarter of the squared length of the range. For vectors, this is
        the variance of a coordinate. For a model by crosses, it is the variance of the share of a
        cell. None if there is no mean.
        """
        return None

    @property
    def width(self) -> float:
        """The length of the range of the mean, or of a vector's coordinates, in its unit."""
        return 1.0 if self.ends is None else self.ends[1] - self.ends[0]

    @property
    def report_variance(self) -> float | None:
        """The largest possible variance of an estimate from one report, in squared units.

        This is the variance of a share, or of the mean if there are no shares. None if neither
        variance is known.
        """
        squares = self.squares
        if squares is not None:
            return squares.worst * self.factor**2
        variance = self.mean_variance
        return None if variance is None else variance * self.width**2

    def least_difference(self, reports: int) -> float | None:  # noqa: ARG002 used for groups
        """Return the smallest difference between two groups' means that is detected with 80% power.

        A difference is detected if its 95% interval, not corrected for other differences, excludes
        0. Return None if the question does not compare groups, if there are too few reports, or if
        the difference would exceed the range.
        """
        return None

    @property
    def rotation_error(self) -> float | None:
        """The error that the finite number of rotations causes if all vectors are identical.

        This is the error in a single window, divided by the length of the vectors. Each window has
        different rotations. If vectors differ, the error is smaller. None unless answers are
        vectors.
        """
        return None

    @property
    def least_noise(self) -> float:
        """The minimum variance that the mechanism adds to a coordinate of a reported vector.

        It is 0 unless answers are vectors.
        """
        return 0.0

    def noise_within(self, shares: Floats, means: Floats) -> Floats:  # noqa: ARG002 used for groups
        """Return the minimum variance that fresh noise adds to each group's mean, for one report.

        Args:
            shares: the share of each group, above 0.
            means: the mean of each group, on a scale from 0 to 1.

        """
        return np.zeros_like(means)

    def shares_of_groups(self, shares: Floats, reports: int) -> tuple[Floats, Floats]:  # noqa: ARG002 used for pairs
        """Return the share of each pair's group and its standard error, each of shape (pairs,).

        Args:
            shares: the share of each pair of a group and a value.
            reports: the number of reports.

        Raises:
            TypeError: unless answers are pairs.

        """
        raise TypeError(f"answers to {self.metric.name} are not pairs")

    @property
    def text_tails(self) -> TextTails | None:
        """The far tails of the errors of texts' shares; None unless answers are texts."""
        return None

    @property
    def power(self) -> Power | None:
        """The power of the search for unlisted texts; None unless answers are texts."""
        return None

    def pilot(self, tally: Tally) -> Numbers | None:  # noqa: ARG002 used for distributions
        """Return the estimated distribution of a tally's answers, or None if there is none."""
        return None

    def clips(self, people: Numbers, reports: int) -> tuple[Clip, ...]:  # noqa: ARG002 used for numbers
        """Return candidate clips including the best; () if the full range is about as good."""
        return ()

    # fabricated reports

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and the largest score of a report: for each share, then for the mean."""
        return np.zeros(0), np.zeros(0)

    # rehearsals

    observation: Observation | None = None

    def law(self, answer: object) -> Mapping[Any, Any]:
        """Return the possible encodings of an answer as a channel input, with exact probabilities.

        Raises:
            DomainError: if the object is not a valid answer.

        """
        return self.kind.law(answer, self.metric.channel.inputs)

    @abstractmethod
    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies. All preparation is done here, and not in each draw.

        Args:
            laws: for each distinct answer of the devices, its possible encodings.

        """

    def counted(self, value: Any) -> Sequence[Any]:  # noqa: ANN401 an answer
        """Return the values whose reported shares count a device with this answer."""
        return (value,)

    def worth(self, value: Any) -> float:  # noqa: ANN401, ARG002 an answer
        """Return the number that an answer contributes to the mean.

        Raises:
            TypeError: if answers have no mean.

        """
        raise TypeError(f"a {self.kind.name} has no mean")

    def _estimated(self, tally: Tally, **more: Any) -> MetricEstimate:  # noqa: ANN401 fields of an estimate
        """Return the estimate of a tally, with the given additional fields."""
        return MetricEstimate(
            **metric_fields(self.metric),
            window=tally.window.text,
            closed=tally.closed,
            reports=tally.reports,
            **more,
        )
