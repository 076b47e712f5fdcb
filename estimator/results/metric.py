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
    low: Annotated[float | None, says("of a number, the end of its range that is scaled to -1. None for values.")] = (
        None
    )
    high: Annotated[float | None, says("of a number, the end that is scaled to 1. None for values.")] = None
    values: Annotated[tuple[str, ...], says("of a category, its values. Empty for a number.")] = ()
    weights: Annotated[
        tuple[float, ...],
        says(
            "by products, one for a number or for two values, which are -1 and 1; otherwise one for "
            "each value but the first, which has none. By crosses, one for each value or each even "
            "part of the range."
        ),
    ] = ()


class LearnedModel(Record, frozen=True, kw_only=True):
    """What predicts the label: the intercept, and the weights of all features.

    For a label of yes or no the sum is the log-odds of yes. For a number it is the prediction.
    """

    mechanism: Annotated[str, says("``rotated-axes``: weights of scaled features; ``crosses``: weights of cells.")]
    norm: Annotated[
        float | None, says("of scaled features, the length to which longer ones are shortened. None for crosses.")
    ]
    penalty: Annotated[
        float | None, says("lambda of the ridge regression, from the noise that is known. None for crosses.")
    ]
    intercept: Annotated[float, says("of the sum; 0 without reports.")]
    inputs: Annotated[tuple[ModelInput, ...], says("the features, in the registry's order.")]
    auc: Annotated[
        Estimate | None,
        says(
            "of yes and no, how often the model ranks a yes above a no, if scores are normal. None "
            "where it cannot be known: for a number, and for crosses, which do not tell how "
            "features are associated."
        ),
    ] = None
    correlation: Annotated[Estimate | None, says("of the prediction and the label. None for crosses.")] = None


MODEL_SCHEMA: Final = 1
"""The schema number of a model's file."""


class ModelFile(Record, frozen=True, kw_only=True):
    """A model as a file that an app ships."""

    schema: Annotated[int, says("of this file.")]
    model: Annotated[str, says("the name of the metric.")]
    edition: Annotated[str, says("of the question, as hexadecimal digits.")]
    window: Annotated[str, says("of the reports.")]
    reports: Annotated[int, says("how many it was learned from.")]
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
    mean: Annotated[Estimate | None, says("of the answers. None if they do not lie on a line.")] = None


class Clusters(Record, frozen=True):
    """The clusters of a tally."""

    clusters: Annotated[tuple[Cluster, ...], says("ordered by their first answer.")]
    numbers: Annotated[
        tuple[float, ...],
        says("for each number of clusters, from 1, the fraction of resampled tallies with that number."),
    ]


class Move(Record, frozen=True):
    """By how much made-up reports could have moved an unbiased estimate."""

    statistic: Annotated[str, says("of the figure.")]
    down: Annotated[float, says("the largest decrease.")]
    up: Annotated[float, says("the largest increase.")]
    value: Annotated[
        FigureLabel,
        says(
            "of the figure. Left out for the only figure of its statistic; for coordinates and "
            "coefficients it is left out because the move is that of any of them."
        ),
    ] = NO_LABEL


class RangeTest(Record, frozen=True):
    """A test of whether some population could have produced a tally."""

    statistic: Annotated[
        float, says("twice the log-likelihood ratio of the tally's own frequencies to the likeliest law.")
    ]
    p_value: Annotated[float, says("the probability that a tally of the likeliest law lies as far from the range.")]
    drawn: Annotated[
        int,
        says(
            "the number of simulated tallies; 0 if the tally lies within the range, or so far from "
            "it that none would lie as far."
        ),
    ]
    impossible: Annotated[bool, says("whether not a single simulated tally lies, or would lie, as far from the range.")]


class Fakes(Record, frozen=True, kw_only=True):
    """What made-up reports could have done to the estimates of a tally."""

    fraction: Annotated[float, says("beta, the assumed fraction of made-up reports.")]
    moves: Annotated[tuple[Move, ...], says("of the figures, in their order.")] = ()
    test: Annotated[RangeTest, says("of the tally.")]


class TakingPart(Figure, frozen=True, kw_only=True):
    """The number of participating devices in a window; its interval has 99.8% confidence.

    It assumes that each device that is asked has budget left and sends one report. Devices that
    recorded nothing for the question are not among them.
    """

    asked: Annotated[float, says("the share of them that the schedule asks the question in the window.")]


class AmongAll(Record, Figured, frozen=True, kw_only=True):
    """Bounds on figures of all installations, whatever those that do not participate would answer.

    No bound has an estimate. Other figures of the question have no bounds.
    """

    installs: Annotated[int, says("the number of all installations.")]
    taking_part: Annotated[Figure, says("the share of them that participate; its interval has a confidence of 99.8%.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the bounds, by the statistics that they bound.")] = ()


class Central(Record, frozen=True, tag_field="assumes", tag=ASSUMPTION):
    """The privacy loss of a device by published tallies."""

    delta: Annotated[float, says("by how much a probability may exceed e^epsilon times another answer's.")]
    epsilon: Annotated[float, says("rounded up.")]


class Composed(Record, frozen=True):
    """What the closed tallies of one window reveal together."""

    window: Annotated[str, says("its name.")]
    tallies: Annotated[
        int,
        says(
            "the number of this report's tallies that have reports. Those of a question's public "
            "strata count once, because a device is in one of them."
        ),
    ]
    central: Annotated[
        Central | None,
        says("the loss of a device that is in all of them. None if their own deltas exceed the requested delta."),
    ]


class LeastShare(Record, frozen=True):
    """From which share on a text is found 9 times in 10."""

    letters: Annotated[int, says("of the text.")]
    share: Annotated[float | None, says("None if no share is found so often.")]


class TextFindings(Record, frozen=True, kw_only=True):
    """How the texts of a tally were found: what their list lacks, and what is sure."""

    candidates: Annotated[int, says("how many texts were tested for the statistic ``found_text``.")] = 0
    certain: Annotated[
        int, says("how many of the texts that the analyst named surely occur: with 95% confidence all of them do.")
    ] = 0
    unclear: Annotated[
        tuple[str, ...],
        says(
            "found or named texts about which groups of devices contradict each other. If they were "
            "not named, they have no share."
        ),
    ] = ()
    least: Annotated[
        tuple[LeastShare, ...],
        says(
            "from which share on a short text and one of the most letters are found. Empty without "
            "reports, and if the question finds no texts."
        ),
    ] = ()
    max_length: Annotated[int, says("the letters of a text that are heard of.")]
    made_up: Annotated[
        int | None, says("on request, how many made-up reports put a text on the list that nobody has; otherwise None.")
    ] = None


class MetricFacts(Record, frozen=True, kw_only=True):
    """The parts of a metric's definition on which its estimates depend."""

    metric: Annotated[str, says("its name.")]
    title: Annotated[str, says("what people read in place of its name, which it is by default.")]
    edition: Annotated[str, says("12 hex digits that identify what its reports mean.")]
    kind: Annotated[str, says("``boolean``, ``category`` …")]
    mechanism: Annotated[str, says("its name.")]
    epsilon: Annotated[float, says("of one report, rounded up from the channel's integers.")]
    delta: Annotated[float, says("of one report, rounded up likewise.")]
    unit: Annotated[str, says("of its numbers, such as ms; empty where the registry names none.")] = ""
    counted: Annotated[
        str, says("how numbers beyond its range count, such as “counted up to 15”; empty where none does.")
    ] = ""

    @property
    def target(self) -> str:
        """The title, with how numbers beyond the range count: figures are of such numbers."""
        return f"{self.title}, {self.counted}" if self.counted else self.title


class Independence(Record, frozen=True):
    """A test of whether the answers to two questions are independent."""

    statistic: Annotated[float, says("Wald's; approximately chi-square distributed if they are independent.")]
    degrees_of_freedom: Annotated[int, says("of that distribution.")]
    p_value: Annotated[
        float,
        says(
            "the probability of a statistic this large if they are independent. Where few people "
            "decide, at least the smallest one of a difference, corrected for their number."
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
            "of a question that only apps of earlier releases answer, a sentence on how it relates to "
            "the one that is asked now; empty for others."
        ),
    ] = ""
    names: Annotated[
        tuple[str, str] | None,
        says(
            "of the question that makes groups, and of the question that is compared between them. "
            "None for other questions."
        ),
    ] = None
    independence: Annotated[
        Independence | None,
        says("of the answers to two questions. None for other questions, and with too few reports for the test."),
    ] = None
    texts: Annotated[
        TextFindings | None, says("of texts that nobody listed, how they were found. None for other kinds.")
    ] = None
    learned: Annotated[
        LearnedModel | None,
        says("of a model, what an app needs to predict by it. None for other kinds, and without reports."),
    ] = None
    covariance: Annotated[
        tuple[tuple[float, ...], ...] | None,
        says(
            "on request, of up to `MOST_VALUES` shares of the channel's inputs, as rows. For a set "
            "the inputs are the drawn members, with the dummy last. Otherwise None."
        ),
    ] = None
    central: Annotated[
        Central | None, says("on request, what the tally reveals if nothing else is published. Otherwise None.")
    ] = None
    fakes: Annotated[Fakes | None, says("on request, what made-up reports could have done. Otherwise None.")] = None
    clusters: Annotated[Clusters | None, says("on request, of answers on a scale or in a plane. Otherwise None.")] = (
        None
    )
    taking_part: Annotated[
        TakingPart | None,
        says("how many devices participate. None where the schedule does not say what share of them it asks."),
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

    windows: Annotated[tuple[str, ...], says("their names, in order of time.")]
    reports: Annotated[int, says("the number of reports in all of them.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures over all reports.")] = ()
