"""The columns of a report as a table: CSV, Parquet and data frames share them."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple, get_args, get_type_hints

from estimator.results.estimate import Estimate
from estimator.results.report import POPULATION


class Row(NamedTuple):
    """One thing that was estimated; each column's annotation says what it holds."""

    metric: Annotated[str, "the metric's name"]
    edition: Annotated[str, "12 hex digits: what the reports mean"]
    window: Annotated[str | None, "when it was asked; of windows together the first and the last one"]
    closed: Annotated[bool | None, "whether the tally can no longer change; none of windows together"]
    kind: Annotated[str, "of the metric"]
    mechanism: Annotated[str, "its name"]
    epsilon: Annotated[float, "of one report"]
    reports: Annotated[int, "how many"]
    statistic: Annotated[str, "what is estimated (below)"]
    value: Annotated[str | None, "of which value, quantile, bin or pair of groups; none of a mean"]
    estimate: Annotated[float | None, "unbiased, never clipped (of `resampled_` ones: smoothed); none without reports"]
    standard_error: Annotated[float | None, "of the estimate; none without reports or where it is resampled"]
    low: Annotated[float, "the lower end of the interval, within what is possible"]
    high: Annotated[float, "its upper end"]
    estimate_ml: Annotated[float | None, "the likeliest estimate among those that are possible; or none"]
    confidence: Annotated[float, "of the interval"]
    population: Annotated[str, f"`{POPULATION}`: intervals take the devices for a random sample of a population"]
    estimate_shrunk: Annotated[float | None, "drawn towards what is usual: the least expected squared error; or none"]
    delta: Annotated[float, "of one report"]
    p_value: Annotated[float | None, "of a `difference`: how often so large a one would occur by chance; else none"]
    p_value_corrected: Annotated[float | None, "the same for all differences of groups in the report; else none"]


COLUMNS: Final = Row._fields

TYPES: Final[dict[str, type]] = {
    name: next(part for part in (*get_args(hint), hint) if isinstance(part, type))
    for name, hint in get_type_hints(Row).items()
}
"""Of each column: ``str``, ``bool``, ``int`` or ``float``."""

STATISTICS: Final = {
    "share": "of the people, those with the value",
    "mean": "of the answers (a set has `mean_size`, a scale `mean_position`)",
    "mean_position": "of the answers on a scale, from 1",
    "mean_size": "of the sets",
    "sum": "of the answers of so many people as reported",
    "share_of_answered": "of those who gave an answer, those with the value",
    "share_within": "of a group, those with the value: `group, value`",
    "difference": "of two groups' shares: `value: first group less second group`",
    "resampled_variance": "of the answers, from the smoothed histogram",
    "resampled_quantile": "the answer that so many people do not exceed",
    "resampled_bin": "of the people, those between two answers",
    "pooled_share": "as `share`, of all windows together",
    "pooled_mean": "as the mean, of all windows together",
    "change": "by how much the last window is above the first one",
}
"""Every statistic and what it is."""


class Line(NamedTuple):
    """What is a row's own: the statistic, the value, the estimate and, of a difference between groups, p-values."""

    statistic: str
    value: str | None
    estimate: Estimate
    p_value: float | None = None
    p_value_corrected: float | None = None


SCHEMA: Final = 2
"""The number of the schema that JSON, CSV and Parquet follow. A field that is added, removed or changes its meaning
makes another number: readers refuse what they do not know."""
