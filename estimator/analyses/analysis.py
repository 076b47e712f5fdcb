"""The analysis of a question's reports: estimates, plans, made-up reports and rehearsals.

There is one class for each shape of report. It knows the kinds and channels of that shape, so no
other code needs to check the kind of a question.
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
from estimator.decoders.decoder import Squares
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


class MetricFields(TypedDict):
    """The fields of a `Metric`."""

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
    """Return the fields of a `Metric` about a metric."""
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
"""Maps the number of devices with each answer, and the window, to the reports of each symbol."""

InputLaw = tuple[tuple[Any, float], ...]
"""Each input that an answer may become, with its probability."""


class Analysis(ABC, Generic[K]):
    """How the reports of a question are analyzed.

    Attributes:
        metric: the question.
        kind: what may be answered.
        mean_name: what the mean is called, which is also the name of its statistic.
        compares_groups: whether means of groups are compared.
        takes_candidates: whether an analyst may name texts.
        observation: the features and label of a model; None for other kinds.

    """

    mean_name: ClassVar[str] = "mean"
    compares_groups: ClassVar[bool] = False
    takes_candidates: ClassVar[bool] = False

    def __init__(self, metric: Metric) -> None:
        """Analyze a question whose shape matches the class."""
        self.metric = metric
        self.kind = cast("K", metric.kind)

    # estimates

    @abstractmethod
    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimates of each tally of the metric's own edition, in order."""

    def check(self, tally: Tally) -> None:
        """Refuse a tally that cannot be estimated.

        Raises:
            UnfitTallyError: if it does not have the channel's alphabet, or if floats cannot
                distinguish the numbers.

        """
        tally.check(self.metric.channel.symbols)

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:  # noqa: ARG002 of models
        """Return the coefficients or log-odds of a tally of a model, and the model.

        The model is None if there are too few reports.

        Raises:
            TypeError: if the question is not a model.

        """
        raise TypeError(f"{self.metric.name} is no model")

    def share_limit(self, request: Request) -> int:  # noqa: ARG002 of texts
        """Return the maximum number of shares among the estimates of a tally."""
        return self.metric.channel.inputs

    @property
    def labels(self) -> Sequence[Label]:
        """The answers whose shares are in a report, in its order; () if it has no shares."""
        return ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """The smallest and largest possible mean, or coordinate. None if there is no mean."""
        return None

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The figures that an alert may name, keyed by their notation, without their values."""
        return {}

    @property
    def has_distribution(self) -> bool:
        """Whether quantiles and shares of ranges are estimated."""
        return False

    @property
    def is_whole(self) -> bool:
        """Whether numbers are whole, so that each has a share of its own."""
        return True

    @property
    def mean_statistic(self) -> str:
        """The name of the mean's statistic."""
        return self.mean_name.replace(" ", "_")

    def fitting(self, texts: Sequence[str]) -> list[str]:  # noqa: ARG002 of texts
        """Return the candidates that can be answers."""
        return []

    @property
    def scale(self) -> Floats:
        """The position of each input's answer on a scale from 0 to 1, if answers are inputs."""
        return np.array([0.0, 1.0])

    # plans

    @property
    def squares(self) -> Squares | None:
        """The mean squares of a report's score for each share. None if there are no shares."""
        return None

    @property
    def share_count(self) -> int:
        """The number of shares for which a plan is made."""
        return self.metric.channel.inputs

    @property
    def factor(self) -> float:
        """The factor that converts the share of an input to the share of a value."""
        return 1.0

    @property
    def mean_variance(self) -> float | None:
        """The variance of the mean in the worst population, on a range of length 1.

        For vectors, this is the variance of a coordinate; for crosses, of a cell's share. None if
        there is no mean.
        """
        return None

    @property
    def width(self) -> float:
        """The length of the range of a mean, or of a coordinate of vectors, in its units."""
        return 1.0 if self.ends is None else self.ends[1] - self.ends[0]

    @property
    def report_variance(self) -> float | None:
        """The worst variance of one report: of a share, otherwise of the mean, in squared units.

        None if neither is known.
        """
        squares = self.squares
        if squares is not None:
            return squares.worst * self.factor**2
        variance = self.mean_variance
        return None if variance is None else variance * self.width**2

    def least_difference(self, reports: int) -> float | None:  # noqa: ARG002 of groups
        """Return the smallest difference of two groups' means that is detected four times in five.

        Detected means that its 95% interval, not corrected for other differences, excludes 0. None
        for other questions, with too few reports, or if the difference would exceed the range.
        """
        return None

    @property
    def rotation_error(self) -> float | None:
        """The error due to the finite number of rotations if all vectors are identical.

        It is the error in one window, as a fraction of the vectors' length; each window has its own
        rotations. If vectors differ, the error is smaller. None for other kinds.
        """
        return None

    @property
    def least_noise(self) -> float:
        """The minimum variance of the mechanism per coordinate of a report; 0 for other kinds."""
        return 0.0

    def noise_within(self, shares: Floats, means: Floats) -> Floats:  # noqa: ARG002 of groups
        """Return the minimum variance per report that fresh noise adds to the means of groups.

        Args:
            shares: the shares of the groups, above 0.
            means: the means of the groups, on a scale from 0 to 1.

        """
        return np.zeros_like(means)

    @property
    def power(self) -> Power | None:
        """How well texts are found; None for other kinds."""
        return None

    def pilot(self, tally: Tally) -> Numbers | None:  # noqa: ARG002 of distributions
        """Return the estimated distribution of answers. None if a tally does not show it."""
        return None

    def clips(self, people: Numbers, reports: int) -> tuple[Clip, ...]:  # noqa: ARG002 of numbers
        """Return the best clip and a few others; () if none is clearly better than the range."""
        return ()

    # made-up reports

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and largest score of a report for each share, then for the mean."""
        return np.zeros(0), np.zeros(0)

    # rehearsals

    observation: Observation | None = None

    def law(self, answer: object) -> Mapping[Any, Any]:
        """Return each input that an answer may become, with its exact probability.

        Raises:
            DomainError: if it is not an answer.

        """
        return self.kind.law(answer, self.metric.channel.inputs)

    @abstractmethod
    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies of devices. All preparation is done here, once.

        Args:
            laws: the law of each answer that devices give.

        """

    def counted(self, value: Any) -> Sequence[Any]:  # noqa: ANN401 an answer
        """Return the values whose shares in a report include this answer."""
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
