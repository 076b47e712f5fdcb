"""All results for one metric, in one window or in several windows together.

Besides the figures, the results may contain:

* a learned model, clusters of answers, or discovered texts;
* the number of participating devices;
* the privacy loss from a published tally;
* the possible effect of fabricated reports.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.window import Window
from estimator.results.estimate import NO_LABEL, Estimate, Figure, FigureLabel, Record, says
from estimator.results.group import Figured, FigureGroup


class ModelInput(Record, frozen=True, kw_only=True):
    """One feature of a model, with its weights."""

    name: Annotated[str, says("the key of the feature in an answer.")]
    low: Annotated[
        float | None, says("for a number, the lower end of its range, which is scaled to -1. None for a category.")
    ] = None
    high: Annotated[
        float | None, says("for a number, the upper end of its range, which is scaled to 1. None for a category.")
    ] = None
    values: Annotated[tuple[str, ...], says("for a category, the values. Empty for a number.")] = ()
    weights: Annotated[
        tuple[float, ...],
        says(
            "the weights of the feature. With ``rotated-axes``, a number has one weight. A category of two values, "
            "scaled to -1 and 1, has one weight. Any other category has one weight for each value except the first. "
            "With ``crosses``, a feature has one weight for each value or for each equal part of the range."
        ),
    ] = ()


class LearnedModel(Record, frozen=True, kw_only=True):
    """A learned model: the intercept and the weights of features that predict a label.

    The prediction is the sum of the intercept and the weighted features. For a yes-or-no label,
    this sum is the log-odds of "yes". For a numeric label, this sum is the predicted number.
    """

    mechanism: Annotated[
        str,
        says(
            "the mechanism: ``rotated-axes`` gives weights of scaled features, ``crosses`` gives weights of values and "
            "of parts of ranges."
        ),
    ]
    norm: Annotated[
        float | None,
        says(
            "the maximum length (norm) of a vector of scaled features. Longer vectors are scaled down to it. None for "
            "crosses."
        ),
    ]
    penalty: Annotated[
        float | None,
        says("the parameter lambda of the ridge regression, computed from the known noise. None for crosses."),
    ]
    intercept: Annotated[float, says("the intercept of the weighted sum; 0 if there are no reports.")]
    inputs: Annotated[tuple[ModelInput, ...], says("the features, in the registry's order.")]
    auc: Annotated[
        Estimate | None,
        says(
            "for a yes-or-no label, the probability that the model ranks a 'yes' above a 'no', if scores are "
            "normally distributed. None for a number, and for crosses, which do not show how features are associated."
        ),
    ] = None
    correlation: Annotated[
        Estimate | None, says("the correlation between the prediction and the label. None for crosses.")
    ] = None


MODEL_SCHEMA: Final = 1
"""The schema number of a model file."""


class ModelFile(Record, frozen=True, kw_only=True):
    """The file of a learned model. The app uses the model to predict the label on the device."""

    schema: Annotated[int, says("the schema number of this file.")]
    model: Annotated[str, says("the name of the metric.")]
    edition: Annotated[str, says("the edition of the question, as hexadecimal digits.")]
    window: Annotated[str, says("the window of the reports.")]
    reports: Annotated[int, says("the number of reports that the model was trained on.")]
    label: Annotated[
        dict[str, str],
        says("the kind of the label: ``boolean``, or ``number`` with the ends ``low`` and ``high`` of its range."),
    ]
    learned: Annotated[LearnedModel, says("the intercept and the weights, from which an app computes predictions.")]


PARTICIPATION_CONFIDENCE: Final = 0.998
"""The confidence of intervals for the number of participating devices. Bounds on the figures of all
installations use only the lower end of such an interval. In at most 0.1% of tallies, the lower end
is above the true number. The share of wrong bounds therefore increases by at most 0.1 percentage
points.
"""

MOST_COUNTED: Final = 2**53
"""The largest count of a symbol in a report file. A float represents every integer up to this count
exactly.
"""

ASSUMPTION: Final = "shuffled tally of honest reports"
"""The assumption behind the privacy loss from a tally, written next to the loss in JSON."""


class Cluster(Record, frozen=True, kw_only=True):
    """One cluster of answers that lie close together."""

    share: Annotated[Estimate, says("the share of devices whose answer is in the cluster.")]
    stability: Annotated[float, says("how well resampled tallies reproduce the cluster, from 0 (not at all) to 1.")]
    values: Annotated[
        tuple[Label, ...], says("the answers in the cluster, in the domain's order; empty for a number.")
    ] = ()
    start: Annotated[
        float | None, says("for a number, the lower end of the cluster; otherwise None. ``from`` in JSON.")
    ] = msgspec.field(name="from", default=None)
    end: Annotated[
        float | None, says("for a number, the upper end of the cluster; otherwise None. ``to`` in JSON.")
    ] = msgspec.field(name="to", default=None)
    mean: Annotated[
        Estimate | None, says("the mean of the answers in the cluster. None if answers do not lie on one axis.")
    ] = None


class Clusters(Record, frozen=True):
    """The clusters of answers in a tally."""

    clusters: Annotated[tuple[Cluster, ...], says("the clusters, ordered by their first answer.")]
    numbers: Annotated[
        tuple[float, ...],
        says("the fractions of resampled tallies that have 1 cluster, 2 clusters and so on."),
    ]


class Move(Record, frozen=True):
    """The largest changes in an unbiased estimate that fabricated reports can cause."""

    statistic: Annotated[str, says("the statistic of the figure.")]
    down: Annotated[float, says("the largest decrease.")]
    up: Annotated[float, says("the largest increase.")]
    value: Annotated[
        FigureLabel,
        says(
            "the label of the figure. Omitted for the only figure of a statistic. Also omitted for coordinates and "
            "coefficients, because all of them can move equally far."
        ),
    ] = NO_LABEL


class RangeTest(Record, frozen=True):
    """A test of whether some population could have produced a tally.

    The range of a mechanism contains all distributions of symbols that a population can produce.
    For example, at epsilon ln 3, "yes" is reported with a probability from 1/4 to 3/4.
    """

    statistic: Annotated[
        float,
        says(
            "twice the log-likelihood ratio between the tally's own frequencies and the likeliest distribution in the "
            "mechanism's range. For texts and vectors, Pearson's chi-square statistic."
        ),
    ]
    p_value: Annotated[
        float, says("the probability of a statistic at least this large under the likeliest distribution.")
    ]
    drawn: Annotated[
        int,
        says("the number of simulated tallies; 0 if the p-value needs no simulation."),
    ]
    impossible: Annotated[bool, says("whether a statistic this large is practically impossible for every population.")]


class Fakes(Record, frozen=True, kw_only=True):
    """The possible effect of fabricated reports on the estimates of a tally."""

    fraction: Annotated[float, says("beta, the assumed fraction of fabricated reports.")]
    moves: Annotated[tuple[Move, ...], says("the possible move of each figure, in the order of the figures.")] = ()
    test: Annotated[RangeTest, says("the test of whether some population could have produced the tally.")]


class TakingPart(Figure, frozen=True, kw_only=True):
    """The number of participating devices in a window, with an interval of 99.8% confidence.

    The number is estimated from the number of reports and the share of devices that are asked. The
    estimate assumes that each asked device has budget left and sends one report. Devices that
    recorded nothing for the metric are not included.
    """

    asked: Annotated[float, says("the share of devices that the schedule asks in the window.")]


class AmongAll(Record, Figured, frozen=True, kw_only=True):
    """Bounds on the figures of all installations, including installations without a report.

    A bound is an interval without an estimate. Only some of the metric's figures have bounds.
    """

    installs: Annotated[int, says("the number of all installations.")]
    taking_part: Annotated[
        Figure, says("the share of installations that participate; its interval has 99.8% confidence.")
    ]
    groups: Annotated[tuple[FigureGroup, ...], says("the bounds, by statistic.")] = ()


class Central(Record, frozen=True, tag_field="assumes", tag=ASSUMPTION):
    """The privacy loss of a device with a report in a published tally."""

    delta: Annotated[
        float,
        says(
            "the amount by which the probability of an outcome may exceed e^epsilon times its probability under "
            "another answer."
        ),
    ]
    epsilon: Annotated[float, says("the epsilon of the published tallies at this delta, rounded up.")]


class Composed(Record, frozen=True):
    """The joint privacy loss from all closed tallies of one window."""

    window: Annotated[str, says("the name of the window.")]
    tallies: Annotated[
        int,
        says(
            "the number of tallies of the window that have reports. The tallies of a question's public strata count "
            "as one, because a device is in only one of them."
        ),
    ]
    central: Annotated[
        Central | None,
        says(
            "the privacy loss of a device that is in all of these tallies. None if the sum of the mechanisms' own "
            "deltas exceeds the requested delta."
        ),
    ]


class LeastShare(Record, frozen=True):
    """The share above which a text of a certain length is found 9 times out of 10."""

    letters: Annotated[int, says("the number of letters in the text.")]
    share: Annotated[float | None, says("the smallest share. None if no share is large enough.")]


class TextFindings(Record, frozen=True, kw_only=True):
    """The certainty of the discovered texts, and the texts that may have been missed."""

    candidates: Annotated[int, says("the number of texts tested for the statistic ``found_text``.")] = 0
    certain: Annotated[
        int,
        says(
            "the number of texts named by the analyst that are shown to occur. With 95% confidence, all of these texts "
            "occur."
        ),
    ] = 0
    unclear: Annotated[
        tuple[str, ...],
        says(
            "the found or named texts on which groups of devices contradict each other. Of these texts, only the "
            "named ones have a share."
        ),
    ] = ()
    sharing: Annotated[
        tuple[str, ...],
        says(
            "the named texts that some group hashes to the same cell as another named text. Changes of their shares "
            "are not tested."
        ),
    ] = ()
    least: Annotated[
        tuple[LeastShare, ...],
        says(
            "the smallest share at which a short text is found, and the smallest share at which a text of maximum "
            "length is found. Empty if there are no reports or no texts are discovered."
        ),
    ] = ()
    max_length: Annotated[int, says("the maximum number of letters of a reported text.")]
    made_up: Annotated[
        int | None,
        says(
            "on request, the number of fabricated reports that could add a text that no device has to the list. "
            "Otherwise None."
        ),
    ] = None


class MetricFacts(Record, frozen=True, kw_only=True):
    """The parts of a metric's definition that determine the meaning of its estimates."""

    metric: Annotated[str, says("the name of the metric.")]
    title: Annotated[str, says("the title of the metric, which people read; by default, the name.")]
    edition: Annotated[str, says("12 hex digits that identify the meaning of the metric's reports.")]
    kind: Annotated[str, says("the kind of the metric, such as ``boolean`` or ``category``.")]
    mechanism: Annotated[str, says("the name of the mechanism.")]
    epsilon: Annotated[float, says("the epsilon of one report, rounded up.")]
    delta: Annotated[float, says("the delta of one report, rounded up.")]
    unit: Annotated[str, says("the unit of the metric's numbers, such as ms; empty if the registry names no unit.")] = (
        ""
    )
    counted: Annotated[
        str, says("the treatment of numbers beyond the range, such as “counted up to 15”; empty if there is no range.")
    ] = ""

    @property
    def target(self) -> str:
        """The metric's title, followed by ``counted`` if ``counted`` is not empty."""
        return f"{self.title}, {self.counted}" if self.counted else self.title


class Independence(Record, frozen=True):
    """A test of whether the answers to two metrics are independent."""

    statistic: Annotated[
        float, says("Wald's statistic; approximately chi-square distributed if the answers are independent.")
    ]
    degrees_of_freedom: Annotated[int, says("the degrees of freedom of the chi-square distribution.")]
    p_value: Annotated[
        float,
        says(
            "the probability of a statistic at least this large if the answers are independent. If the statistic "
            "depends on only a few people, the p-value is at least the smallest p-value of a difference, corrected "
            "for the number of differences."
        ),
    ]


class MetricEstimate(MetricFacts, Figured, frozen=True, kw_only=True):
    """The figures of one tally, which describe the participating devices in its window."""

    window: Annotated[str, says("the name of the day, week or month of the answers.")]
    closed: Annotated[
        bool,
        says(
            "whether the window is closed, so that the tally can no longer change; if not, all figures are preliminary."
        ),
    ]
    reports: Annotated[int, msgspec.Meta(ge=0, description="n, the number of reports in the tally.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures, by statistic.")] = ()
    counts: Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNTED)], ...],
        says(
            "if a distribution is estimated, the number of reports of each symbol. Changes of quantiles are tested "
            "with these counts. Empty for other questions."
        ),
    ] = ()
    relation: Annotated[
        str,
        says(
            "for a question that only earlier releases ask, a sentence on how it relates to the current question; "
            "otherwise empty."
        ),
    ] = ""
    names: Annotated[
        tuple[str, str] | None,
        says(
            "for a pair of questions, the name of the question whose answers define groups, and the name of the "
            "question that is compared between these groups. None for other questions."
        ),
    ] = None
    independence: Annotated[
        Independence | None,
        says(
            "the test of independence for a pair of questions. None for other questions, and "
            "if there are too few reports for the test."
        ),
    ] = None
    texts: Annotated[
        TextFindings | None, says("for unlisted texts, the details of their discovery. None for other kinds.")
    ] = None
    learned: Annotated[
        LearnedModel | None,
        says("for a model, the intercept and the weights. None for other kinds, or if there are no reports."),
    ] = None
    covariance: Annotated[
        tuple[tuple[float, ...], ...] | None,
        says(
            "on request, the covariance matrix of the shares of the channel's inputs, as a list of rows. The inputs "
            "for a set are its possible members and, last, a dummy that fills up small sets. None if not "
            "requested, or if there are more than `MOST_VALUES` inputs."
        ),
    ] = None
    central: Annotated[
        Central | None,
        says("on request, the privacy loss of a device if only this tally is published. Otherwise None."),
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
            "the number of participating devices. None if the schedule does not determine the share of devices that "
            "are asked."
        ),
    ] = None
    among_all: Annotated[
        AmongAll | None,
        says("on request, bounds on the figures of all installations. None if not requested or without reports."),
    ] = None

    @property
    def followed(self) -> tuple[FigureGroup, ...]:
        """The groups of figures that are tested for changes between windows."""
        return tuple(
            group
            for group in self.groups
            if group.about.has_changes and (self.counts or not group.about.is_followed_by_counts)
        )

    @property
    def untested(self) -> tuple[str, ...]:
        """The names of the statistics that are not tested for changes between windows."""
        followed = {group.statistic for group in self.followed}
        return tuple(
            group.statistic for group in self.groups if group.about.untested and group.statistic not in followed
        )

    @property
    def span(self) -> Window:
        """The window, parsed from its name."""
        return Window.parse(self.window)


class Pooled(MetricFacts, Figured, frozen=True, kw_only=True):
    """The figures of one metric, over several windows together."""

    windows: Annotated[tuple[str, ...], says("the names of the windows, in chronological order.")]
    reports: Annotated[int, says("the total number of reports in these windows.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures over all reports.")] = ()
