"""The output of a rehearsal: a report with the true value beside each estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import UNSET

from estimator.formats.json_documents import as_json
from estimator.formats.tables import COLUMNS, csv_text, metric_rows
from estimator.rehearsal.model_rehearsal import RehearsedModel, TriedModel
from estimator.rehearsal.population import BAND, Coverage
from estimator.rehearsal.rehearsal import Rehearsal, Rehearsed, RehearsedFigure
from estimator.render.rounding import Rounded, text_of, within
from estimator.render.text.plan import clip_lines
from estimator.render.text.report import TOO_FEW, lines_of
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style
from estimator.render.words import mechanism_words
from estimator.report.conclusions import by_value, left_out, shown_values
from estimator.results.statistic import STATISTICS, Chart
from estimator.statistics.confidence import CONFIDENCE
from estimator.words import plural

CSV_COLUMNS: Final = (*COLUMNS, "truth", "holds", "seed")

FOOTNOTES: Final = """\
error: estimate minus truth. *: the interval misses the truth.
Estimates are unbiased. Only the estimates of a distribution are smoothed. An
estimate outside its interval is shown as the nearer end; --format json and csv
contain the original. Intervals are rounded outwards.
Intervals treat the devices as a random sample of a population. Coverage: how
often intervals contain the population's true value if devices are drawn again
each time. Noise alone: how often intervals contain the devices' own true value
if the devices stay the same.
"""


def rehearsal_as_csv(rehearsal: Rehearsal) -> str:
    """Return a report's rows as CSV, with three more columns: ``truth``, ``holds`` and ``seed``."""
    rows: list[list[object]] = []
    for rehearsed in rehearsal.metrics:
        for _, figure, row in metric_rows(rehearsed, rehearsal.confidence):
            beside = (figure.truth, figure.holds) if isinstance(figure, RehearsedFigure) else (None, None)
            rows.append([*row, *beside, rehearsal.seed])
    return csv_text([CSV_COLUMNS, *rows])


def rehearsal_as_table(rehearsal: Rehearsal, style: Style = PLAIN) -> str:
    """Return a rehearsal as text."""
    seed = f"seed {rehearsal.seed}\n"
    return style.shown("\n".join([seed, *(_block(rehearsed, style) for rehearsed in rehearsal.metrics), FOOTNOTES]))


FORMATS: Final[dict[str, Callable[..., str]]] = {
    "table": rehearsal_as_table,
    "json": as_json,
    "csv": rehearsal_as_csv,
}
"""The values of ``--format``. Every output ends with a line break."""


def model_as_table(rehearsed: RehearsedModel, style: Style = PLAIN) -> str:
    """Return a model's quality as text, with a line for each epsilon and number of devices."""
    draws = f"{rehearsed.rounds} draws of {rehearsed.rows:,} rows, seed {rehearsed.seed}"
    lines = [
        f"{rehearsed.metric}: {rehearsed.mechanism}, mean AUC over {draws}",
        f"  without privacy           {rehearsed.auc_without_privacy:.3f}",
        *(
            f"  epsilon {tried.epsilon:<6.4g} {tried.devices:>10,}  {_auc(tried, rehearsed)}"
            for tried in rehearsed.tried
        ),
    ]
    return style.shown("".join(f"{line}\n" for line in lines))


def _auc(tried: TriedModel, rehearsed: RehearsedModel) -> str:
    if tried.auc is None:
        return f"devices lose more than {rehearsed.most_loss:g}"
    if tried.loss is None:
        return f"{tried.auc:.3f} ± {tried.spread:.3f}"
    return f"{tried.auc:.3f}: loses {tried.loss:.3f} ± {tried.loss_error:.3f}"


MODEL_FORMATS: Final[dict[str, Callable[..., str]]] = {"table": model_as_table, "json": as_json}


def _block(rehearsed: Rehearsed, style: Style) -> str:
    positions, values = shown_values(rehearsed), by_value(rehearsed)
    hidden = left_out(rehearsed)
    lines = [
        f"{rehearsed.target}: {rehearsed.kind}",
        f"  {mechanism_words(rehearsed)}, reports: {rehearsed.reports:,}",
        _heading(style),
        *_figure_lines(rehearsed, positions, style),
        *([f"  … and {values.more(hidden)}; --format json and csv have all"] if values is not None and hidden else []),
        *_texts(rehearsed, style),
        *_band_line(rehearsed),
        *_coverage_lines(rehearsed.coverage),
        *clip_lines(rehearsed.clips, rehearsed.unit),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _figure_lines(rehearsed: Rehearsed, positions: Sequence[int], style: Style) -> Iterator[str]:
    for group in rehearsed.groups:
        about = group.about
        if about.chart in {Chart.BAND, Chart.HISTOGRAM}:
            continue
        for line in lines_of(group, positions):
            if isinstance(line.figure, RehearsedFigure):
                whole = about.table_heading and isinstance(line.label, str)
                label = style.filled(about.line.format(line.label) if whole else line.label, VALUE_WIDTH)
                unknown = TOO_FEW if about.table_heading else "no reports"
                yield f"  {label} {_numbers(line.rounded, line.figure, style, unknown)}"


def _texts(rehearsed: Rehearsed, style: Style) -> Iterator[str]:
    texts = rehearsed.texts
    if texts is None:
        return
    occurring = len(rehearsed.figures("found_text")) - len(texts.false)
    yield f"  found: {plural(occurring, 'text')}; false: {plural(len(texts.false), 'text')}"
    yield f"  missed, though more common than a text that was found: {plural(len(texts.missed), 'text')}"
    if texts.commonest is not None:
        shown = style.cut(STATISTICS["found_text"].label(texts.commonest.value), VALUE_WIDTH)
        yield f"  the most common text that was not found: {shown}, {texts.commonest.truth:.2%}"


def _heading(style: Style) -> str:
    estimate, interval = style.shown("estimate ± s.e."), f"{CONFIDENCE:.0%} interval"
    return f"  {'':{VALUE_WIDTH}} {'truth':>8}  {estimate:>18}  {'error':>8}  {interval:^17}"


def _band_line(rehearsed: Rehearsed) -> list[str]:
    """Return a line on whether the confidence band contains the whole true distribution function.

    The table does not show single points of the band. Returns [] if there is no band.
    """
    if rehearsed.band_holds is UNSET:
        return []
    points = [figure for figure in rehearsed.figures(BAND) if isinstance(figure, RehearsedFigure)]
    missed = sum(not point.holds for point in points)
    outcome = f"misses the truth at {missed} of" if missed else "contains the truth at all"
    return [f"  the band of the distribution function {outcome} {len(points)} points"]


def _coverage_lines(coverages: Mapping[str, Coverage]) -> list[str]:
    if not coverages:
        return []
    rounds = next(iter(coverages.values())).rounds
    return [f"  coverage over {rounds:,} rounds (noise alone)"] + [
        f"    {statistic:30} {coverage.population:6.1%} ({coverage.noise_alone:.1%})"
        for statistic, coverage in coverages.items()
    ]


def _numbers(texts: Rounded, figure: RehearsedFigure, style: Style, unknown: str) -> str:
    interval = f"{style.shown(f'{texts.low} to {texts.high}'):^17}"
    value = within(figure.estimate, figure.low, figure.high)
    if figure.truth is None or value is None:
        return f"{'':8}  {unknown:>18}  {'':8}  {style.shown(texts.interval):^17}"
    estimate = style.shown(f"{texts.estimate}{texts.suffix}" + (f" ± {texts.error}" if texts.error else ""))
    error = style.shown(text_of(value - figure.truth, texts.decimals, texts.power))
    truth, sign = style.shown(texts.beside(figure.truth)), "+" if value > figure.truth else ""
    return f"{truth:>8}  {estimate:>18}  {sign + error:>8}  {interval}{'' if figure.holds else ' *'}"
