"""The table of all statistics that a report may contain.

A statistic is a kind of figure, such as share or mean. Every output format shows some of the
statistics, in the order of the table. To add a statistic, add an entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from estimator.results.estimate import Figures, LogScale, Scale
from estimator.words import EMPTY_TEXT, cell_of, is_yes_or_no, label_of, parts

PLAIN: Final = Scale()

SHOWN_TEXTS: Final = 10
"""The maximum number of texts that the terminal shows."""

SHOWN_SHARES: Final = 5
"""The maximum number of values of a metric that the terminal shows without ``--verbose``."""


class Chart(Enum):
    """The kinds of charts for a statistic on the HTML page.

    Charts of figures over time are not included, because every statistic can have one.
    """

    SHARES = "shares"
    MEAN = "mean"
    DOTS = "dots"
    HISTOGRAM = "bins"
    BAND = "band"
    CELLS = "joint"
    CURVE_OF_STEPS = "steps"
    CURVE_OF_SCORES = "scores"


def _cell(value: Any) -> str | None:  # noqa: ANN401 the type depends on the statistic
    return str(value) if isinstance(value, float) else cell_of(value)


def _nothing(value: Any) -> str | None:  # noqa: ANN401, ARG001 a single figure has no label
    return None


def _text_cell(value: str) -> str:
    return value or EMPTY_TEXT


def _range_cell(value: tuple[float, float]) -> str:
    return f"{value[0]} to {value[1]}"


def _difference_cell(value: tuple[Any, Any, Any]) -> str:
    outcome, first, second = map(cell_of, value)
    return f"{outcome}: {first} less {second}"


def _difference_of_means_cell(value: tuple[Any, Any]) -> str:
    return " less ".join(map(cell_of, value))


def _days(value: int) -> str:
    return f"{value} {'day' if value == 1 else 'days'} or more"


def _or_more(value: float) -> str:
    return f"{value:,.12g} or more"


def _text(value: str) -> str:
    return label_of(value) or EMPTY_TEXT


def _coordinate(value: int | str) -> str:
    return f"coordinate {value}" if isinstance(value, int) else value


def _quantile(value: float) -> str:
    return "median" if value == 0.5 else f"{100 * value:g}th percentile"  # noqa: PLR2004 a half


def _range(value: tuple[float, float]) -> str:
    return f"from {value[0]:.12g} to {value[1]:.12g}"


def _difference(value: tuple[Any, ...]) -> str:
    *outcomes, first, second = map(label_of, value)
    return ", ".join((*outcomes, f"{first} less {second}"))


def _share_from(value: tuple[bool, Any]) -> str:
    return f"{label_of(value[0])}: from {label_of(value[1])} on"


def _first(figures: Figures) -> int:  # noqa: ARG001 it is the first of any figures
    return 0


def _second(figures: Figures) -> int:
    return min(1, len(figures) - 1)


def _middle(figures: Figures) -> int:
    return (len(figures) - 1) // 2


def _yes_or_most_common(figures: Figures) -> int:
    if not figures.unbiased.size:
        return 0
    return 1 if is_yes_or_no(figures.labels) else int(figures.unbiased.argmax())


def _largest(figures: Figures) -> int:
    return int(abs(figures.unbiased).argmax()) if figures.unbiased.size else 0


def _clearest(figures: Figures) -> int:
    """Return the position of the figure with the largest distance from 0, in standard errors."""
    sizes, errors = abs(figures.unbiased), figures.standard_errors
    return int((sizes / errors).argmax()) if sizes.size and errors.size and errors.all() else 0


Answers = tuple[tuple[int, Any], ...]
"""Answers to a pair of metrics. The position of the metric, 0 or 1, precedes each answer."""


def _in_group(value: Any) -> Answers:  # noqa: ANN401 the type depends on the statistic
    return ((0, value[0] if isinstance(value, tuple) else value),)


def _in_either(value: tuple[Any, ...]) -> Answers:
    return tuple((0, group) for group in value[-2:])


def _of_outcome(value: tuple[bool, Any]) -> Answers:
    return ((1, value[0]),)


def _of_either_outcome(_: Any) -> Answers:  # noqa: ANN401 a single figure has no label
    return ((1, False), (1, True))


@dataclass(frozen=True, slots=True)
class Statistic:
    """One kind of figure, with its names and its properties in each output format.

    Attributes:
        title: the title of the figures on the page. For a pair of metrics, ``{0}`` and ``{1}``
            stand for the two names.
        headline: a priority. The main figure of a metric belongs to the statistic with the highest
            priority, but never to a statistic with priority 0.
        lead: the function that returns the position of the main figure.
        by_value: whether there is a figure for each value of a category. If there are many values,
            only some of these figures are shown.
        noun: the noun for one figure, such as ``value`` in "3 more values".
        line: the name of a figure's line on the terminal, with ``{}`` for the figure's label. Empty
            if the terminal does not show the statistic.
        most_lines: the maximum number of figures that the terminal shows, starting with the
            largest. 0 for no maximum.
        table_heading: the heading above the figures' lines in the verbose table. Lines under a
            heading come after all lines without a heading. Empty for no heading.
        chart: the chart on the page, besides the chart over time. None for no chart.
        drawn_first: a priority. The page shows the metric's chart with the highest priority, and
            collapses its other charts.
        of_sets: whether the answers are sets of values, with shares that do not add up to 1.
        is_compared: whether the figures are compared between strata and between windows. The
            possible effect of fabricated reports is computed for the same figures.
        members: for means and shares within groups, the name of the statistic that contains the
            shares of the groups, or the shares of all pairs of a group and a value. Changes of such
            figures between windows are tested. Empty for other statistics.
        in_ball: whether the figures are the coordinates of vectors. Changes of coordinates between
            windows are tested.
        is_followed: whether changes of the figures between windows are tested, although the figures
            are not compared between strata.
        is_followed_by_counts: whether the tests for changes of the figures between windows use the
            counts of symbols. The estimates of some metrics contain these counts.
        are_named_texts: whether the figures are shares of texts that the analyst named. Changes of
            a text's share are tested unless a hash function maps another named text to the same
            cell.
        untested: the name of the statistic in the report's list of untested figures. Empty if the
            list leaves out this statistic.
        within: for figures about only the devices with certain answers, the function that maps a
            figure's label to these answers. Otherwise None.
        has_bounds: whether `--with installs` computes bounds on the figures of all installations.
        pooled: the name of the statistic over all windows together. Empty if the statistic is not
            pooled.

    """

    description: str
    title: str = ""
    label: Callable[[Any], str] = label_of
    cell: Callable[[Any], str | None] = _cell
    is_share: bool = True
    headline: int = 0
    lead: Callable[[Figures], int] = _first
    by_value: bool = False
    noun: str = "value"
    line: str = ""
    most_lines: int = 0
    in_table: bool = False
    on_page: bool = False
    table_heading: str = ""
    chart: Chart | None = None
    drawn_first: int = 0
    is_mean: bool = False
    of_sets: bool = False
    is_compared: bool = False
    members: str = ""
    in_ball: bool = False
    is_followed: bool = False
    is_followed_by_counts: bool = False
    are_named_texts: bool = False
    untested: str = ""
    within: Callable[[Any], Answers] | None = None
    has_bounds: bool = False
    pooled: str = ""
    scale: Scale = PLAIN

    @property
    def has_changes(self) -> bool:
        """Whether changes of the figures between windows are tested."""
        follows = self.is_followed or self.is_followed_by_counts or self.are_named_texts
        return self.is_compared or follows or self.in_ball or bool(self.members)

    @property
    def is_of_answers(self) -> bool:
        """Whether the labels are answers. Sentences put answers in quotation marks."""
        return self.label in {label_of, _text}

    def parts(self, value: Any) -> str | tuple[str, ...]:  # noqa: ANN401 the type depends on the statistic
        """Convert a figure's label to text. A pair of answers becomes a pair of strings."""
        return parts(value) if self.label is label_of else self.label(value)


def _mean(description: str, title: str, *, of_sets: bool = False, scale: Scale = PLAIN) -> Statistic:
    return Statistic(
        description,
        title,
        lambda _: title.lower(),
        _nothing,
        is_share=False,
        headline=2,
        line="{}",
        in_table=True,
        on_page=True,
        chart=Chart.MEAN,
        drawn_first=1,
        is_mean=True,
        of_sets=of_sets,
        is_compared=True,
        has_bounds=True,
        pooled="pooled_mean",
        scale=scale,
    )


def _coefficient(description: str, title: str) -> Statistic:
    return Statistic(
        description,
        title,
        _coordinate,
        is_share=False,
        headline=4,
        lead=_clearest,
        by_value=True,
        most_lines=SHOWN_SHARES,
        noun="coefficient",
        line="{}",
        in_table=True,
        on_page=True,
        chart=Chart.DOTS,
        drawn_first=2,
        untested="coefficients",
    )


STATISTICS: Final[dict[str, Statistic]] = {
    "share": Statistic(
        "the share of devices with the value",
        "Share of devices",
        headline=3,
        lead=_yes_or_most_common,
        by_value=True,
        most_lines=SHOWN_SHARES,
        line="{}",
        in_table=True,
        on_page=True,
        chart=Chart.SHARES,
        drawn_first=2,
        is_compared=True,
        has_bounds=True,
        pooled="pooled_share",
    ),
    "share_of_answered": Statistic(
        "among the devices that answered, the share with the value",
        "Share of those who answered",
        most_lines=SHOWN_SHARES,
        line="{}, of answers",
        on_page=True,
        table_heading="among those who answered",
        chart=Chart.SHARES,
        untested="shares of those who answered",
    ),
    "share_at_least": Statistic(
        "the share of devices that were used on at least `value` days",
        "Share of devices that were used on",
        _days,
        headline=5,
        lead=_second,  # a quarter of the days, such as 7 of 28
        line="{}",
        in_table=True,
        on_page=True,
        is_followed=True,
        has_bounds=True,
    ),
    "share_above": Statistic(
        "the share of devices with an answer of at least `value`, which is a declared threshold",
        "Share of devices with an answer of",
        _or_more,
        headline=5,
        lead=_middle,
        line="{}",
        in_table=True,
        on_page=True,
        chart=Chart.SHARES,
        drawn_first=4,
        is_compared=True,
        has_bounds=True,
        pooled="pooled_share_above",
    ),
    "found_text": Statistic(
        "the share of devices with a text that was found; `…` ends a text that may be longer",
        "Texts found",
        _text,
        _text_cell,
        headline=1,
        noun="text",
        most_lines=SHOWN_TEXTS,
        line="{}",
        table_heading="texts found",
        untested="found texts",
        has_bounds=True,
    ),
    "named_text": Statistic(
        "the share of devices with a text that was named by `--with candidates`",
        "Texts named",
        _text,
        _text_cell,
        noun="text",
        most_lines=SHOWN_TEXTS,
        line="{}, named",
        table_heading="texts named",
        are_named_texts=True,
        untested="named texts",
        has_bounds=True,
    ),
    "approved_text": Statistic(
        "the share of devices with a found text that the registry allows to be published",
        "Texts that may be published",
        _text,
        _text_cell,
        headline=1,
        noun="text",
        most_lines=SHOWN_TEXTS,
        line="{}",
        untested="found texts",
    ),
    "coordinate": Statistic(
        "the mean of a coordinate of vectors, counted from 0",
        "Mean of each coordinate",
        _coordinate,
        is_share=False,
        headline=4,
        lead=_largest,
        by_value=True,
        most_lines=SHOWN_SHARES,
        noun="coordinate",
        line="{}",
        in_table=True,
        on_page=True,
        in_ball=True,
        chart=Chart.DOTS,
        drawn_first=2,
        has_bounds=True,
        pooled="pooled_coordinate",
    ),
    "coefficient": _coefficient(
        "the change of a model's label if a feature rises by half its range and the other features stay the same",
        "Change of the label as a feature rises by half its range",
    ),
    "log_odds": _coefficient(
        "the log-odds that a model's label is 'yes' if a feature has a certain value",
        "Log-odds of “yes” by feature",
    ),
    "auc": Statistic(
        "the probability that a model ranks a 'yes' above a 'no', if scores are normally distributed",
        "How often “yes” is ranked above “no”, if scores are normal",
        lambda _: "AUC",
        _nothing,
        is_share=False,
        line="{}",
        in_table=True,
        on_page=True,
        chart=Chart.CURVE_OF_SCORES,
        untested="the AUC",
    ),
    "mean": _mean("the mean of the answers (for a set see `mean_size`, for a scale `mean_position`)", "Mean"),
    "geometric_mean": _mean(
        'the geometric mean of 1 + x, minus 1, for a number with `scale = "log"`', "Geometric mean", scale=LogScale()
    ),
    "mean_position": _mean("the mean position on a scale, from 1", "Mean position"),
    "mean_size": _mean("the mean size of the sets", "Mean size", of_sets=True),
    "sum": Statistic(
        "the sum of the answers of all devices that reported",
        cell=_nothing,
        is_share=False,
    ),
    "variance": Statistic(
        "the variance of a number's answers",
        "Variance",
        lambda _: "variance",
        _nothing,
        is_share=False,
        in_table=True,
        untested="the variance",
    ),
    "quantile": Statistic(
        "the answer that is not exceeded by this fraction of the devices",
        "Quantiles",
        _quantile,
        is_share=False,
        line="{}",
        in_table=True,
        on_page=True,
        chart=Chart.DOTS,
        is_followed_by_counts=True,
        untested="quantiles",
    ),
    "range": Statistic(
        "on request, the share of devices with an answer between two numbers",
        "Share of devices within a range",
        _range,
        _range_cell,
        line="{}",
        in_table=True,
        on_page=True,
        untested="shares of ranges",
        has_bounds=True,
    ),
    "at_most": Statistic(
        "the share of devices with this answer or a lower one; the intervals are simultaneous",
        chart=Chart.BAND,
        untested="the histogram",
    ),
    "bin": Statistic(
        "the share of devices with an answer between two numbers; the bins cover the whole range",
        cell=_range_cell,
        chart=Chart.HISTOGRAM,
        drawn_first=3,
        untested="the histogram",
    ),
    "mean_within": Statistic(
        "the mean of the numbers within a group",
        "Mean of {1} by {0}",
        is_share=False,
        line="mean, {}",
        on_page=True,
        table_heading="mean of {1} in each group of {0}",
        chart=Chart.DOTS,
        drawn_first=5,
        members="share",
        within=_in_group,
    ),
    "share_within": Statistic(
        "among the devices of a group, the share with the value, written as `group, value`",
        "{1} within each group of {0}",
        table_heading="{1} within each group of {0}",
        chart=Chart.CELLS,
        drawn_first=5,
        members="share",
        untested="shares within groups",
        within=_in_group,
    ),
    "auc_of_steps": Statistic(
        "the probability that a device that says 'yes' is at a higher step of a scale than one that says 'no'",
        "How often “yes” is at a higher step than “no”",
        lambda _: "AUC",
        _nothing,
        is_share=False,
        in_table=True,
        on_page=True,
        untested="the AUC",
        within=_of_either_outcome,
    ),
    "share_from": Statistic(
        "the share at a step of a scale or above, among the devices that say 'no' or among those that say 'yes'",
        "Share at a step or above, of those who say “no” and of those who say “yes”",
        _share_from,
        cell_of,
        on_page=True,
        chart=Chart.CURVE_OF_STEPS,
        untested="shares from a step on",
        within=_of_outcome,
    ),
    "difference": Statistic(
        "the difference between two groups' shares, written as `value: first group less second group`",
        label=_difference,
        cell=_difference_cell,
        within=_in_either,
    ),
    "difference_of_means": Statistic(
        "the difference between two groups' means, written as `first group less second group`",
        label=_difference,
        cell=_difference_of_means_cell,
        is_share=False,
        within=_in_either,
    ),
}
"""A mapping from name to statistic, in the order in which every format shows the statistics."""
