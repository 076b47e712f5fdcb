"""A report as a table, with the same rows and columns in CSV, Parquet and data frames.

CSV follows RFC 4180, except that lines end with LF. Times are in UTC, in the form of ISO 8601.

A spreadsheet treats a cell as a formula if it begins with =, +, - or @ (OWASP, "CSV Injection").
Some reports contain texts that a search found in the answers of devices, and a malicious device can
send a formula. A found text that a spreadsheet would treat as a formula gets a leading apostrophe.
A text that already begins with an apostrophe gets a second apostrophe. To restore a found text,
remove one leading apostrophe. Texts that were not found by a search come from the registry or the
analyst, and are written unchanged.

The libraries pandas, polars and pyarrow are imported only by the functions that need them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_args, get_type_hints

from client_sdk.protocol.kinds.kind import word
from client_sdk.protocol.window import Window
from estimator.errors import MissingLibraryError
from estimator.results.estimate import NO_LABEL, Figure
from estimator.results.group import Figured, FigureGroup, FigureKey
from estimator.results.metric import PARTICIPATION_CONFIDENCE, MetricEstimate, MetricFacts, Pooled
from estimator.results.report import POPULATION, SCHEMA, Changes, EstimateReport
from estimator.results.statistic import STATISTICS

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

FOUND_TEXT: Final = "found_text"
"""The only statistic whose values are texts that devices chose."""

DEVICES, TAKING_PART = "devices_taking_part", "share_taking_part"

TRIAL: Final = "trial"
"""The content of the column ``population`` if the reports come from a trial by the developers.
"""

DESCRIPTIONS: Final = {
    **{name: statistic.description for name, statistic in STATISTICS.items()},
    **{
        statistic.pooled: f"`{name}` over all windows together"
        for name, statistic in STATISTICS.items()
        if statistic.pooled
    },
    "change": "the change of a share or mean from the first window to the last; with `--since`, from earlier to later "
    "windows",
    "found_change": "the clearest trend or step of a share or mean that changed or may have changed, written as "
    "`value: verdict`",
    "effect": "the difference between two public strata's shares, written as `value: second stratum less "
    "first stratum`",
    "effect_on_mean": "the difference between two public strata's means, written as `second stratum less first "
    "stratum`",
    DEVICES: "the number of participating devices, if the schedule determines the share of devices that are asked",
    TAKING_PART: "the share of all installations that participate, with `--with installs`",
    **{
        f"{name}_among_all": f"bounds on `{name}` among all installations, with `--with installs`"
        for name, statistic in STATISTICS.items()
        if statistic.has_bounds
    },
}
"""The possible values of the column ``statistic``, with their descriptions."""

BOUNDS_MISS: Final = round((1 - PARTICIPATION_CONFIDENCE) / 2, 6)
"""The probability that the number of devices is below the lower end of its confidence interval.

The error probability of bounds for all installations is the sum of this probability and the error
probability of the figure's own interval.
"""

GUARD: Final = "'"
"""The apostrophe that makes a spreadsheet treat a cell as text."""

GUARDED: Final = (GUARD, *"=+-@\t\r\n", *"＝＋－＠")  # noqa: RUF001 spreadsheets treat full-width signs like the others
"""A found text with one of these characters at its beginning gets a leading apostrophe."""

IN_PANDAS: Final = {
    str: "string",
    bool: "boolean",
    int: "int64",
    float: "float64",
    datetime: "datetime64[us, UTC]",
}

SCHEMA_KEY: Final = b"hearsay.schema"
"""The key of the schema's number in the metadata of a Parquet file."""


class Row(NamedTuple):
    """One estimated figure. Each attribute is a column, and its annotation describes the column."""

    metric: Annotated[str, "the metric's name"]
    edition: Annotated[str, "12 hex digits that identify the meaning of the reports"]
    window: Annotated[str | None, "the name of the window; for pooled windows, the names of the first and the last"]
    window_start: Annotated[
        datetime | None, "the UTC time at which the window, or the first of several, begins; empty in rehearsals"
    ]
    window_end: Annotated[
        datetime | None, "the UTC time at which the window, or the last of several, ends; empty in rehearsals"
    ]
    closed: Annotated[
        bool | None, "whether the window is closed, so that the tally can no longer change; empty for pooled windows"
    ]
    kind: Annotated[str, "the kind of the metric"]
    mechanism: Annotated[str, "the name of the mechanism"]
    epsilon: Annotated[float, "the epsilon of one report"]
    delta: Annotated[float, "the delta of one report"]
    reports: Annotated[int, "the number of reports"]
    statistic: Annotated[str, "the estimated statistic (below)"]
    value: Annotated[
        str | None,
        "the value, quantile, answer, bin, range or pair of groups that the figure is about; empty for a mean",
    ]
    estimate: Annotated[
        float | None,
        "the unbiased estimate, which is not clipped; for a distribution, a smoothed estimate within the interval; "
        "empty without reports",
    ]
    standard_error: Annotated[
        float | None, "the standard error of the estimate; empty without reports and for the figures of a distribution"
    ]
    low: Annotated[float, "the lower end of the interval, within the possible range"]
    high: Annotated[float, "the upper end of the interval"]
    maximum_likelihood: Annotated[
        float | None, "the maximum-likelihood estimate within the possible range; empty if not computed"
    ]
    shrunken: Annotated[
        float | None,
        "the estimate moved toward the others, which lowers the expected squared error; empty if not computed",
    ]
    p_value: Annotated[
        float | None,
        "for groups, strata or windows, the probability of a difference at least this large by chance; otherwise empty",
    ]
    p_value_corrected: Annotated[
        float | None, "the p-value, corrected for all differences of the same kind in the report; otherwise empty"
    ]
    confidence: Annotated[float, "the confidence of the interval"]
    population: Annotated[
        str,
        f"`{POPULATION}` if figures describe the participating devices, which intervals treat as a random sample, and "
        f"not the devices whose users decline; `{TRIAL}` if the reports come from a trial by the app's developers",
    ]
    unit: Annotated[
        str | None,
        "the unit of the metric's numbers, such as ms; for a variance, the square of the unit; empty for shares",
    ]
    counted: Annotated[
        str | None, "the treatment of numbers beyond the metric's range, such as `counted up to 15`; otherwise empty"
    ]


COLUMNS: Final = Row._fields


TYPES: Final[dict[str, type]] = {
    name: next(part for part in (*get_args(hint), hint) if isinstance(part, type))
    for name, hint in get_type_hints(Row).items()
}
"""The type of each column: ``str``, ``bool``, ``int``, ``float`` or ``datetime``."""


class Cells(NamedTuple):
    """The cells of a row that differ between the figures of one tally."""

    statistic: str
    value: str | None
    figure: Figure
    unit: str = ""


def rows_of(report: EstimateReport) -> Iterator[Row]:
    """Yield a row for every estimated figure.

    Rows on single windows come first. Rows on pooled windows, on changes, and on differences
    between public strata follow, in this order.
    """
    rows = _rows_of(report)
    return (row._replace(population=TRIAL) for row in rows) if report.is_trial else rows


def _rows_of(report: EstimateReport) -> Iterator[Row]:
    for metric in report.metrics:
        yield from (row for *_, row in metric_rows(metric, report.confidence))
    for pooled in report.pooled:
        row = _rows_in(pooled, pooled.reports, (pooled.windows[0], pooled.windows[-1]), closed=None)
        yield from (row(report.confidence, cells) for cells in _pooled_cells(pooled))
    metrics = {(metric.metric, metric.window): metric for metric in report.metrics}
    for changes in report.changes:
        about = metrics[changes.metric, changes.last]
        row = _rows_in(about, about.reports, (changes.first, changes.last), closed=True)
        yield from (row(report.confidence, cells) for cells in _change_cells(changes))
    for effect in report.effects:
        about = metrics[effect.metric, effect.window]
        row = _rows_in(about, about.reports, (effect.window,), closed=True)
        cells_of_effect = _effect_cells(effect, f"{effect.second} less {effect.first}")
        yield from (row(report.confidence, cells) for cells in cells_of_effect)


def metric_rows(estimated: MetricEstimate, confidence: float) -> Iterator[tuple[FigureKey | None, Figure, Row]]:
    """Yield each row of one tally, with its figure and, if there is one, the figure's key."""
    row = _rows_in(
        estimated, estimated.reports, (estimated.window,) if estimated.window else (), closed=estimated.closed
    )
    for group in estimated.groups:
        for key, cells in zip(group.keys, _cells(group), strict=True):
            yield key, cells.figure, row(confidence, cells)
    for holds, cells in _participation_cells(estimated, confidence):
        yield None, cells.figure, row(holds, cells)


def _cells(group: FigureGroup, statistic: str = "") -> Iterator[Cells]:
    name = statistic or group.statistic
    return (Cells(name, _value(group, figure), figure, group.unit) for figure in group.figures)


def _value(group: FigureGroup, figure: Figure) -> str | None:
    return None if figure.value is NO_LABEL else group.about.cell(figure.value)


def _pooled_cells(pooled: Pooled) -> Iterator[Cells]:
    for group in pooled.groups:
        yield from _cells(group, group.about.pooled)


def _change_cells(changes: Changes) -> Iterator[Cells]:
    for group in changes.groups:
        for cells in _cells(group, "change"):
            yield cells._replace(value=_changed(group, cells.value))
    for change in changes.found:
        group = changes.group_of(change)
        told = " ".join(filter(None, (change.verdict, change.since)))
        value = f"{_changed(group, _value(group, change))}: {told}{', new' if change.is_new else ''}"
        yield Cells("found_change", value, change, group.unit)


def _changed(group: FigureGroup, value: str | None) -> str:
    """Return the content of the column ``value`` for a figure that is tested for changes."""
    if value is None:
        return group.about.title.lower()
    if group.about.members and not group.about.is_share:
        return f"mean of {value}"
    has_name = group.about.is_followed_by_counts or group.about.members
    return f"{group.statistic} {value}" if has_name else value


def _effect_cells(effect: Figured, between: str) -> Iterator[Cells]:
    for group in effect.groups:
        for cells in _cells(group, "effect"):
            if cells.value is None:
                yield cells._replace(statistic="effect_on_mean", value=between)
            else:
                yield cells._replace(value=f"{cells.value}: {between}")


def _participation_cells(estimated: MetricEstimate, confidence: float) -> Iterator[tuple[float, Cells]]:
    if estimated.taking_part is not None:
        yield PARTICIPATION_CONFIDENCE, Cells(DEVICES, None, estimated.taking_part)
    among_all = estimated.among_all
    if among_all is not None:
        yield PARTICIPATION_CONFIDENCE, Cells(TAKING_PART, str(among_all.installs), among_all.taking_part)
        bounds: Iterable[Cells] = (
            cells for group in among_all.groups for cells in _cells(group, f"{group.statistic}_among_all")
        )
        yield from ((confidence - BOUNDS_MISS, cells) for cells in bounds)


_Place = tuple[str | None, datetime | None, datetime | None, bool | None]
"""The name of a row's window, its beginning, its end, and whether it is closed."""


def _rows_in(
    about: MetricFacts, reports: int, windows: tuple[str, ...], *, closed: bool | None
) -> Callable[[float, Cells], Row]:
    """Return a function that makes rows about one metric and one or several windows.

    The function has two arguments: the confidence of the interval, and the `Cells` of the row.
    """
    place: _Place = (None, None, None, closed)
    if windows:
        first, last = (Window.parse(windows[end]) for end in (0, -1))
        start, end = (datetime.fromtimestamp(instant_s, UTC) for instant_s in (first.starts_at, last.ends_at))
        place = (" to ".join(windows), start, end, closed)
    return partial(_row, about, reports, place)


def _row(
    about: MetricFacts,
    reports: int,
    place: _Place,
    confidence: float,
    cells: Cells,
) -> Row:
    figure = cells.figure
    window, window_start, window_end, closed = place
    return Row(
        metric=about.metric,
        edition=about.edition,
        window=window,
        window_start=window_start,
        window_end=window_end,
        closed=closed,
        kind=about.kind,
        mechanism=about.mechanism,
        epsilon=about.epsilon,
        delta=about.delta,
        reports=reports,
        statistic=cells.statistic,
        value=cells.value,
        estimate=figure.estimate,
        standard_error=figure.standard_error,
        low=figure.low,
        high=figure.high,
        maximum_likelihood=figure.maximum_likelihood,
        shrunken=figure.shrunken,
        p_value=figure.p_value,
        p_value_corrected=figure.p_value_corrected,
        confidence=confidence,
        population=POPULATION,
        unit=cells.unit or None,
        counted=about.counted or None,
    )


STATISTIC, VALUE = COLUMNS.index("statistic"), COLUMNS.index("value")


def as_csv(report: EstimateReport) -> str:
    """Return the report as CSV. Missing cells are empty; booleans are ``true`` or ``false``."""
    return csv_text([COLUMNS, *rows_of(report)])


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV. A row may have further columns after the columns of a report."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_csv_cells, rows))
    return text.getvalue()


def _csv_cells(row: Sequence[object]) -> list[object]:
    cells = [_csv_cell(cell) for cell in row]
    if cells[STATISTIC] == FOUND_TEXT and str(cells[VALUE]).startswith(GUARDED):
        cells[VALUE] = f"{GUARD}{cells[VALUE]}"
    return cells


def _csv_cell(cell: object) -> object:
    if isinstance(cell, datetime):
        return f"{cell:%Y-%m-%dT%H:%M:%SZ}"
    return word(cell) if isinstance(cell, bool) else cell


def to_pandas(report: EstimateReport) -> pd.DataFrame:
    """Return the rows of a report as a data frame. Missing cells are NaN or NA.

    Raises:
        MissingLibraryError: if pandas is not installed.

    """
    pandas = _library("pandas", "pip install pandas")
    return pandas.DataFrame(
        {name: pandas.Series(cells, dtype=IN_PANDAS[TYPES[name]]) for name, cells in _columns(report).items()}
    )


def to_polars(report: EstimateReport) -> pl.DataFrame:
    """Return the rows of a report as a data frame. Missing cells are null.

    Raises:
        MissingLibraryError: if polars is not installed.

    """
    polars = _library("polars", "pip install polars")
    of_types = {
        str: polars.String,
        bool: polars.Boolean,
        int: polars.Int64,
        float: polars.Float64,
        datetime: polars.Datetime("us", "UTC"),
    }
    return polars.DataFrame(_columns(report), schema={name: of_types[kind] for name, kind in TYPES.items()})


def to_parquet(report: EstimateReport) -> bytes:
    """Return the rows of a report as a Parquet file. Missing cells are null.

    Raises:
        MissingLibraryError: if pyarrow is not installed.

    """
    arrow = _library(
        "pyarrow", "pip install 'hearsay-ldp[parquet]' (from a checkout: pip install ./client_sdk '.[parquet]')"
    )
    parquet = import_module("pyarrow.parquet")
    of_types = {
        str: arrow.string(),
        bool: arrow.bool_(),
        int: arrow.int64(),
        float: arrow.float64(),
        datetime: arrow.timestamp("us", "UTC"),
    }
    fields = [(name, of_types[kind]) for name, kind in TYPES.items()]
    schema = arrow.schema(fields, metadata={SCHEMA_KEY: str(SCHEMA)})
    file = io.BytesIO()
    parquet.write_table(arrow.table(_columns(report), schema=schema), file)
    return file.getvalue()


def _columns(report: EstimateReport) -> Mapping[str, list[object]]:
    rows = list(rows_of(report))
    return {name: [row[position] for row in rows] for position, name in enumerate(COLUMNS)}


def _library(name: str, how: str) -> Any:  # noqa: ANN401 a module of a library that may be missing
    try:
        return import_module(name)
    except ImportError:
        raise MissingLibraryError(f"{name} is required, but is not installed: {how}") from None
