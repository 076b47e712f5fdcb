"""The forms of a rehearsal: those of a report, with the truth beside each estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from estimator.formats.to_csv import csv_text
from estimator.formats.to_json import document_of, json_text
from estimator.rehearsal.compared import Coverage, holds
from estimator.rehearsal.rehearsal import Rehearsal, Rehearsed
from estimator.rehearsal.truths import TRUTHS
from estimator.render.rounding import text_of, within
from estimator.render.text.lines import TOO_FEW, FigureLine, lines_of
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style, figure_texts
from estimator.render.words import mechanism_words
from estimator.report.highlights import by_value, left_out, shown_values
from estimator.results.group import FigureKey
from estimator.results.row import COLUMNS, metric_rows
from estimator.results.statistic import STATISTICS, Chart
from estimator.statistics.confidence import CONFIDENCE
from estimator.words import plural

CSV_COLUMNS: Final = (*COLUMNS, "truth", "holds", "seed")

FOOTNOTES: Final = """\
error: estimate minus truth. *: the interval misses the truth.
Estimates are unbiased; of a distribution they are smoothed. One outside its
interval is shown as the nearer end; --format json and csv have it as it is.
Intervals are rounded outwards.
Intervals treat the devices as a random sample of a population. Coverage is how
often they hold its truth when devices are drawn again, and (of the noise alone)
that of the same devices each time.
"""


def rehearsal_as_json(rehearsal: Rehearsal) -> str:
    """Return the report's JSON with the truth beside each estimate. Windows are null."""
    document = document_of(rehearsal.report)
    for entry in (*document["metrics"], *document["skipped"]):
        entry["window"] = None
    for metric, rehearsed in zip(document["metrics"], rehearsal.metrics, strict=True):
        for of_group, group in zip(metric.get("groups", ()), rehearsed.estimated.groups, strict=True):
            if group.statistic in TRUTHS:
                for entry, key, figure in zip(of_group["figures"], group.keys, group.figures, strict=True):
                    truth = rehearsed.truths.get(key)
                    entry |= {"truth": truth, "holds": None if truth is None else holds(figure, truth)}
        metric["coverage"] = {name: asdict(coverage) for name, coverage in rehearsed.coverages.items()}
        if rehearsed.band:
            metric["band_holds"] = all(rehearsed.band)
        if rehearsed.texts is not None:
            metric["texts"] |= {
                "false": list(rehearsed.texts.false),
                "missed": [{"value": text, "truth": share} for text, share in rehearsed.texts.missed],
            }
    return json_text({"seed": rehearsal.seed} | document)


def rehearsal_as_csv(rehearsal: Rehearsal) -> str:
    """Return the report's rows with the truth, whether the interval holds it, and the seed."""
    rows: list[list[object]] = []
    for rehearsed in rehearsal.metrics:
        for key, figure, row in metric_rows(rehearsed.estimated, CONFIDENCE):
            truth = None if key is None else rehearsed.truths.get(key)
            is_held = None if truth is None else holds(figure, truth)
            rows.append([*row._replace(window=None), truth, is_held, rehearsal.seed])
    return csv_text([CSV_COLUMNS, *rows])


def rehearsal_as_table(rehearsal: Rehearsal, style: Style = PLAIN) -> str:
    """Return a rehearsal as text of 80 columns."""
    seed = f"seed {rehearsal.seed}\n"
    return style.shown("\n".join([seed, *(_block(rehearsed, style) for rehearsed in rehearsal.metrics), FOOTNOTES]))


FORMATS: Final[dict[str, Callable[..., str]]] = {
    "table": rehearsal_as_table,
    "json": rehearsal_as_json,
    "csv": rehearsal_as_csv,
}
"""The values of ``--format``. Every form ends with a line break."""


def _block(rehearsed: Rehearsed, style: Style) -> str:
    estimated = rehearsed.estimated
    positions, values = shown_values(estimated), by_value(estimated)
    hidden = left_out(estimated)
    lines = [
        f"{estimated.metric}: {estimated.kind}",
        f"  {mechanism_words(estimated)}, reports: {estimated.reports:,}",
        _heading(style),
        *_figure_lines(rehearsed, positions, style),
        *([f"  … and {values.more(hidden)}; --format json and csv have all"] if values is not None and hidden else []),
        *_texts(rehearsed, style),
        *_band_line(rehearsed),
        *_coverage_lines(rehearsed.coverages),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _figure_lines(rehearsed: Rehearsed, positions: Sequence[int], style: Style) -> Iterator[str]:
    """Yield each figure that has a line in a report and a truth, beside the truth."""
    for group in rehearsed.estimated.groups:
        about = group.about
        if about.chart in {Chart.BAND, Chart.HISTOGRAM} or group.statistic not in TRUTHS:
            continue
        for line in lines_of(group, positions):
            named = about.line.format(line.label) if about.table_heading and isinstance(line.label, str) else line.label
            label = style.filled(named, VALUE_WIDTH)
            truth = rehearsed.truths.get(FigureKey(group.statistic, line.figure.value))
            yield f"  {label} {_numbers(line, truth, style, TOO_FEW if about.table_heading else 'no reports')}"


def _texts(rehearsed: Rehearsed, style: Style) -> Iterator[str]:
    """Yield how many texts were found, those missed, and those that nobody has."""
    outcome = rehearsed.texts
    if outcome is None:
        return
    yield f"  found: {plural(outcome.occurring, 'text')}; false: {plural(len(outcome.false), 'text')}"
    yield f"  missed, though more common than one that was found: {plural(len(outcome.missed), 'text')}"
    if outcome.commonest is not None:
        text, share = outcome.commonest
        shown = style.cut(STATISTICS["found_text"].label(text), VALUE_WIDTH)
        yield f"  the most common text that was not found: {shown}, {share:.2%}"


def _heading(style: Style) -> str:
    estimate, interval = style.shown("estimate ± s.e."), f"{CONFIDENCE:.0%} interval"
    return f"  {'':{VALUE_WIDTH}} {'truth':>8}  {estimate:>18}  {'error':>8}  {interval:^17}"


def _band_line(rehearsed: Rehearsed) -> list[str]:
    """Return whether the band holds, of which a table shows no point."""
    held = rehearsed.band
    if not held:
        return []
    missed = held.count(False)
    outcome = f"misses the truth at {missed} of" if missed else "holds the truth at all"
    return [f"  the band of the distribution function {outcome} {len(held)} points"]


def _coverage_lines(coverages: Mapping[str, Coverage]) -> list[str]:
    if not coverages:
        return []
    rounds = next(iter(coverages.values())).rounds
    return [f"  coverage over {rounds:,} rounds (of the noise alone)"] + [
        f"    {statistic:30} {coverage.population:6.1%} ({coverage.noise_alone:.1%})"
        for statistic, coverage in coverages.items()
    ]


def _numbers(line: FigureLine, truth: float | None, style: Style, unknown: str = "no reports") -> str:
    figure = line.figure
    texts = figure_texts(figure, line.decimals, line.ends)
    interval = f"{style.shown(f'{texts.low} … {texts.high}'):^17}"
    value = within(figure.estimate, figure.low, figure.high)
    if truth is None or value is None:
        return f"{'':8}  {unknown:>18}  {'':8}  {interval}"
    estimate = style.shown(texts.estimate + (f" ± {texts.error}" if texts.error else ""))
    difference, of_truth = style.shown(text_of(value - truth, texts.decimals)), style.shown(texts.beside(truth))
    sign = "+" if value > truth else ""
    missed = "" if holds(figure, truth) else " *"
    return f"{of_truth:>8}  {estimate:>18}  {sign + difference:>8}  {interval}{missed}"
