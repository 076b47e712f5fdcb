"""All figures of one metric in one window, or in several windows together."""

from __future__ import annotations

from typing import Annotated

import msgspec

from client_sdk.protocol.window import Window
from estimator.results.extras import AmongAll, Central, Clusters, Fakes, TakingPart, TextFindings
from estimator.results.group import Figured, FigureGroup
from estimator.results.learned import LearnedModel
from estimator.results.record import Record, says


class Question(Record, frozen=True, kw_only=True):
    """The parts of a metric's definition on which its estimates depend."""

    metric: Annotated[str, says("its name.")]
    edition: Annotated[str, says("12 hex digits that identify what its reports mean.")]
    kind: Annotated[str, says("``boolean``, ``category`` …")]
    mechanism: Annotated[str, says("its name.")]
    epsilon: Annotated[float, says("of one report, rounded up from the channel's integers.")]
    delta: Annotated[float, says("of one report, rounded up likewise.")]
    unit: Annotated[str, says("of its numbers, such as ms; empty where the registry names none.")] = ""


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


class MetricEstimate(Question, Figured, frozen=True, kw_only=True):
    """The figures of one tally. They describe the devices that take part."""

    window: Annotated[str, says("the name of the day, week or month of the answers.")]
    closed: Annotated[bool, says("whether the tally can no longer change; if not, all figures are preliminary.")]
    reports: Annotated[int, msgspec.Meta(ge=0, description="n.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures, by statistic.")] = ()
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
        says("how many devices take part. None where the schedule does not say what share of them it asks."),
    ] = None
    among_all: Annotated[
        AmongAll | None,
        says("on request, bounds on the figures of all installations. Otherwise None, and without reports."),
    ] = None

    @property
    def span(self) -> Window:
        """The window that ``window`` names."""
        return Window.parse(self.window)


class Pooled(Question, Figured, frozen=True, kw_only=True):
    """The pooled figures of several windows of one question."""

    windows: Annotated[tuple[str, ...], says("their names, in order of time.")]
    reports: Annotated[int, says("the number of reports in all of them.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the figures over all reports.")] = ()
    changes: Annotated[
        tuple[FigureGroup, ...],
        says("for each value, or the mean, the last window minus the first; empty for vectors."),
    ] = ()
