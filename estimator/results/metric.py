"""All figures of one metric in one window, or in several windows together, and what goes with them.

The figures may come with a learned model, clusters of answers, texts that nobody listed, the number
of participating devices, the privacy loss by a published tally, and the possible effect of
fabricated reports.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.window import Window
from estimator.results.estimate import NO_LABEL, Estimate, Figure, FigureLabel, Record, says
from estimator.results.group import Figured, FigureGroup


class ModelInput(Record, frozen=True, kw_only=True):
    """One feature, and what it adds to a prediction."""

    name: Annotated[str, says("its key in an answer.")]
    low: Annotated[
        float | None, says("for a number, the end of its range that is scaled to -1. None for a category.")
    ] = None
    high: Annotated[float | None, says("for a number, the end that is scaled to 1. None for a category.")] = None
    values: Annotated[tuple[str, ...], says("for a category, its values. Empty for a number.")] = ()
    weights: Annotated[
        tuple[float, ...],
        says(
            "with products: one weight for a number or for two values, which are -1 and 1; "
            "otherwise one for each value but the first. With crosses: one for each value or "
            "each equal part of the range."
        ),
    ] = ()


class LearnedModel(Record, frozen=True, kw_only=True):
    """The intercept and the feature weights that predict the label.

    For a label of yes or no the sum is the log-odds of yes. For a number it is the prediction.
    """

    mechanism: Annotated[str, says("``rotated-axes``: weights of scaled features; ``crosses``: weights of cells.")]
    norm: Annotated[
        float | None, says("the maximum length of scaled features; longer ones are shortened to it. None for crosses.")
    ]
    penalty: Annotated[
        float | None, says("lambda of the ridge regression, computed from the known noise. None for crosses.")
    ]
    intercept: Annotated[float, says("the intercept of the weighted sum; 0 without reports.")]
    inputs: Annotated[tuple[ModelInput, ...], says("the features, in the registry's order.")]
    auc: Annotated[
        Estimate | None,
        says(
            "for a yes-or-no label, how often the model ranks a yes above a no, if scores are "
            "normal. None if unknown: for a number, and for crosses, which do not show how "
            "features are associated."
        ),
    ] = None
    correlation: Annotated[
        Estimate | None, says("the correlation of the prediction and the label. None for crosses.")
    ] = None


MODEL_SCHEMA: Final = 1
"""The schema number of a model's file."""


class ModelFile(Record, frozen=True, kw_only=True):
    """A model as a file that an app ships."""

    schema: Annotated[int, says("the schema number of this file.")]
    model: Annotated[str, says("the name of the metric.")]
    edition: Annotated[str, says("the edition of the question, as hexadecimal digits.")]
    window: Annotated[str, says("the window of the reports.")]
    reports: Annotated[int, says("the number of reports that the model was learned from.")]
    label: Annotated[dict[str, str], says("its kind: ``boolean``, or ``number`` with its ends ``low`` and ``high``.")]
    learned: Annotated[LearnedModel, says("what is needed to predict.")]


PARTICIPATION_CONFIDENCE: Final = 0.998
"""The confidence of the number of participating devices. Bounds use only its lower end, so they
miss in one of a thousand tallies more than the interval that they are derived from.
"""

ASSUMPTION: Final = "shuffled tally of honest reports"
"""Published with the privacy loss by a tally, which is false without this assumption."""


class Cluster(Record, frozen=True, kw_only=True):
    """Answers that lie close together."""

    share: Annotated[Estimate, says("the share of devices that gave one of these answers.")]
    stability: Annotated[float, says("how well resampled tallies reproduce the cluster, from 0 to 1.")]
    values: Annotated[tuple[Label, ...], says("its answers, in the domain's order; empty for a number.")] = ()
    start: Annotated[
        float | None, says("for a number, the lower end of its answers; otherwise None. ``from`` in JSON.")
    ] = msgspec.field(name="from", default=None)
    end: Annotated[
        float | None, says("for a number, the upper end of its answers; otherwise None. ``to`` in JSON.")
    ] = msgspec.field(name="to", default=None)
    mean: Annotated[Estimate | None, says("the mean of the answers. None if they are not on one axis.")] = None


class Clusters(Record, frozen=True):
    """The clusters of a tally."""

    clusters: Annotated[tuple[Cluster, ...], says("the clusters, ordered by their first answer.")]
    numbers: Annotated[
        tuple[float, ...],
        says("for each number of clusters, from 1, the fraction of resampled tallies with that number."),
    ]


class Move(Record, frozen=True):
    """How far fabricated reports could have moved an unbiased estimate."""

    statistic: Annotated[str, says("the statistic of the figure.")]
    down: Annotated[float, says("the largest decrease.")]
    up: Annotated[float, says("the largest increase.")]
    value: Annotated[
        FigureLabel,
        says(
            "the label of the figure. Omitted for the only figure of a statistic, and for "
            "coordinates and coefficients, which can all move equally far."
        ),
    ] = NO_LABEL


class RangeTest(Record, frozen=True):
    """A test of whether some population could have produced a tally."""

    statistic: Annotated[float, says("twice the log-likelihood ratio of the tally's frequencies to the likeliest law.")]
    p_value: Annotated[
        float, says("the probability that a tally of the likeliest law is at least as far from the range.")
    ]
    drawn: Annotated[
        int,
        says(
            "the number of simulated tallies; 0 if the tally is within the range, or farther "
            "from it than any simulation would be."
        ),
    ]
    impossible: Annotated[bool, says("whether no simulated tally is, or would be, as far from the range.")]


class Fakes(Record, frozen=True, kw_only=True):
    """The possible effect of fabricated reports on the estimates of a tally."""

    fraction: Annotated[float, says("beta, the assumed fraction of fabricated reports.")]
    moves: Annotated[tuple[Move, ...], says("the possible move of each figure, in their order.")] = ()
    test: Annotated[RangeTest, says("the test of the tally.")]


class TakingPart(Figure, frozen=True, kw_only=True):
    """The number of participating devices in a window; its interval has 99.8% confidence.

    It assumes that each device that is asked has budget left and sends one report. Devices that
    recorded nothing for the question are not among them.
    """

    asked: Annotated[float, says("the share of devices that the schedule asks in the window.")]


class AmongAll(Record, Figured, frozen=True, kw_only=True):
    """Bounds on figures of all installations, whatever those that do not participate would answer.

    No bound has an estimate. Other figures of the question have no bounds.
    """

    installs: Annotated[int, says("the number of all installations.")]
    taking_part: Annotated[
        Figure, says("the share of installations that participate; its interval has 99.8% confidence.")
    ]
    groups: Annotated[tuple[FigureGroup, ...], says("the bounds, by statistic.")] = ()


class Central(Record, frozen=True, tag_field="assumes", tag=ASSUMPTION):
    """The privacy loss of a device from published tallies."""

    delta: Annotated[
        float, says("the amount by which a probability may exceed e^epsilon times the probability for another answer.")
    ]
    epsilon: Annotated[float, says("the value, rounded up.")]


class Composed(Record, frozen=True):
    """The joint privacy loss from the closed tallies of one window."""

    window: Annotated[str, says("the name.")]
    tallies: Annotated[
        int,
        says(
            "the number of this report's tallies that have reports. Those of a question's public "
            "strata count once, because a device is in one of them."
        ),
    ]
    central: Annotated[
        Central | None,
        says(
            "the privacy loss of a device that is in all tallies. None if their own deltas exceed the requested delta."
        ),
    ]


class LeastShare(Record, frozen=True):
    """The share from which a text is found in 9 of 10 draws."""

    letters: Annotated[int, says("the number of letters in the text.")]
    share: Annotated[float | None, says("the share. None if no share is found so often.")]


class TextFindings(Record, frozen=True, kw_only=True):
    """The discovery of texts from a tally: what is certain, and what the list lacks."""

    candidates: Annotated[int, says("the number of texts tested for the statistic ``found_text``.")] = 0
    certain: Annotated[
        int, says("the number of texts named by the analyst that certainly occur: with 95% confidence, all of them do.")
    ] = 0
    unclear: Annotated[
        tuple[str, ...],
        says(
            "the found or named texts on which groups of devices contradict each other. Those "
            "that were not named have no share."
        ),
    ] = ()
    least: Annotated[
        tuple[LeastShare, ...],
        says(
            "the share from which a short text, and a text of maximum length, is found. Empty "
            "without reports, and if the question finds no texts."
        ),
    ] = ()
    max_length: Annotated[int, says("the number of letters that can be reported.")]
    made_up: Annotated[
        int | None,
        says(
            "on request, the number of fabricated reports that would put a text on the list "
            "that no device has; otherwise None."
        ),
    ] = None


class MetricFacts(Record, frozen=True, kw_only=True):
    """The parts of a metric's definition on which its estimates depend."""

    metric: Annotated[str, says("the name.")]
    title: Annotated[str, says("the title that people read instead of the name. By default, the name.")]
    edition: Annotated[str, says("12 hex digits that identify the meaning of its reports.")]
    kind: Annotated[str, says("``boolean``, ``category`` …")]
    mechanism: Annotated[str, says("the name.")]
    epsilon: Annotated[float, says("the epsilon of one report, rounded up from the channel's integers.")]
    delta: Annotated[float, says("the delta of one report, rounded up likewise.")]
    unit: Annotated[str, says("the unit of its numbers, such as ms; empty if the registry names no unit.")] = ""
    counted: Annotated[
        str, says("the treatment of numbers beyond its range, such as “counted up to 15”; empty if it has no range.")
    ] = ""

    @property
    def target(self) -> str:
        """The title, with how numbers beyond the range count: figures are of such numbers."""
        return f"{self.title}, {self.counted}" if self.counted else self.title


class Independence(Record, frozen=True):
    """A test of whether the answers to two questions are independent."""

    statistic: Annotated[
        float, says("Wald's statistic; approximately chi-square distributed if the answers are independent.")
    ]
    degrees_of_freedom: Annotated[int, says("the degrees of freedom of that distribution.")]
    p_value: Annotated[
        float,
        says(
            "the probability of a statistic this large if the answers are independent. If it "
            "depends on few people, at least the smallest p-value of a difference, corrected "
            "for the number of differences."
        ),
    ]


class MetricEstimate(MetricFacts, Figured, frozen=True, kw_only=True):
    """The figures of one tally. They describe the participating devices."""

    window: Annotated[str, says("the name of the day, week or month of the answers.")]
    closed: Annotated[bool, says("whether the tally can no longer change; if not, all figures are preliminary.")]
    reports: Annotated[int, msgspec.Meta(ge=0, description="n.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures, by statistic.")] = ()
    relation: Annotated[
        str,
        says(
            "for a question that only earlier releases ask, a sentence on its relation to the "
            "current question; otherwise empty."
        ),
    ] = ""
    names: Annotated[
        tuple[str, str] | None,
        says(
            "the names of the question that defines groups and of the question that is compared"
            " between them. None for other questions."
        ),
    ] = None
    independence: Annotated[
        Independence | None,
        says(
            "the test of independence for a pair of questions. None for other questions, and "
            "with too few reports for the test."
        ),
    ] = None
    texts: Annotated[
        TextFindings | None, says("for unlisted texts, the details of their discovery. None for other kinds.")
    ] = None
    learned: Annotated[
        LearnedModel | None,
        says("for a model, the data that an app needs for predictions. None for other kinds, and without reports."),
    ] = None
    covariance: Annotated[
        tuple[tuple[float, ...], ...] | None,
        says(
            "on request, the covariance matrix of up to `MOST_VALUES` shares of the channel's "
            "inputs, as rows. For a set, the inputs are the drawn members, with the dummy last."
            " Otherwise None."
        ),
    ] = None
    central: Annotated[
        Central | None,
        says("on request, the privacy loss from the tally if nothing else is published. Otherwise None."),
    ] = None
    fakes: Annotated[Fakes | None, says("on request, the possible effect of fabricated reports. Otherwise None.")] = (
        None
    )
    clusters: Annotated[
        Clusters | None, says("on request, the clusters of answers on a scale or in a plane. Otherwise None.")
    ] = None
    taking_part: Annotated[
        TakingPart | None,
        says(
            "the number of participating devices. None if the schedule does not determine the "
            "share of devices that it asks."
        ),
    ] = None
    among_all: Annotated[
        AmongAll | None,
        says("on request, bounds on the figures of all installations. Otherwise None, and without reports."),
    ] = None

    @property
    def span(self) -> Window:
        """The window that ``window`` names."""
        return Window.parse(self.window)


class Pooled(MetricFacts, Figured, frozen=True, kw_only=True):
    """The pooled figures of several windows of one question."""

    windows: Annotated[tuple[str, ...], says("the names of the windows, in chronological order.")]
    reports: Annotated[int, says("the number of reports in all of them.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures over all reports.")] = ()
