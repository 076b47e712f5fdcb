"""The forms of a rehearsal: those of a report, with the truth beside each estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from estimator.formats.to_csv import csv_text
from estimator.formats.to_json import document_of, json_text
from estimator.rehearsal.rehearsal import Coverage, Rehearsal, Rehearsed, compared, holds
from estimator.render.text.lines import lines_of
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style
from estimator.render.words import mechanism_words
from estimator.report.highlights import left_out, shown_values
from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate
from estimator.results.row import COLUMNS, metric_rows
from estimator.statistics.confidence import CONFIDENCE

CSV_COLUMNS: Final = (*COLUMNS, "truth", "holds", "seed")

FOOTNOTES: Final = """\
error: estimate minus truth. *: the interval misses the truth.
Estimates are unbiased and never clipped. Intervals treat the devices as a
random sample of a population. Coverage is how often they hold its truth when
devices are drawn again, and (noise alone) that of the same devices each time.
"""


def rehearsal_as_json(rehearsal: Rehearsal) -> str:
    """Return the report's JSON with the truth beside each estimate. Windows are null."""
    document = document_of(rehearsal.report)
    for entry in (*document["metrics"], *document["skipped"]):
        entry["window"] = None
    for metric, rehearsed in zip(document["metrics"], rehearsal.metrics, strict=True):
        entries = [*metric.get("estimates", ()), *([metric["mean"]] if "mean" in metric else [])]
        distribution = metric.get("distribution")
        if distribution is not None:
            entries += [distribution["variance"], *distribution["quantiles"], *distribution["bins"]]
        for entry, estimate, truth in zip(entries, compared(rehearsed.estimated), rehearsed.truths, strict=True):
            entry |= {"truth": truth, "holds": None if truth is None else holds(estimate, truth)}
        metric["coverage"] = _coverage(rehearsed.coverage)
        if distribution is not None:
            metric["distribution_coverage"] = _coverage(rehearsed.distribution_coverage)
    return json_text({"seed": rehearsal.seed} | document)


def rehearsal_as_csv(rehearsal: Rehearsal) -> str:
    """Return the report's rows, each with the truth, whether the interval holds it, and the seed."""
    rows: list[list[object]] = []
    for rehearsed in rehearsal.metrics:
        pairs = zip(compared(rehearsed.estimated), rehearsed.truths, strict=True)
        for row in metric_rows(rehearsed.estimated, CONFIDENCE):
            # a sum follows from the mean and has no truth of its own
            estimate, truth = next(pairs, (None, None))
            is_held = None if estimate is None or truth is None else holds(estimate, truth)
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


def _coverage(coverage: Coverage | None) -> dict[str, float] | None:
    if coverage is None:
        return None
    return {"rounds": coverage.rounds, "population": coverage.population, "noise_alone": coverage.noise_alone}


def _block(rehearsed: Rehearsed, style: Style) -> str:
    estimated = rehearsed.estimated
    positions, not_shown = shown_values(estimated), left_out(estimated)
    values = 0 if estimated.estimates is None else len(estimated.estimates)
    truths = [*(rehearsed.truths[position] for position in positions), *rehearsed.truths[values:]]
    # a table leaves out bins, which come last
    shown = zip(lines_of(estimated, positions), truths, strict=False)
    lines = [
        f"{estimated.metric}: {estimated.kind}",
        f"  {mechanism_words(estimated)}, reports: {estimated.reports:,}",
        _heading(style),
        *(
            f"  {style.cut(line.label, VALUE_WIDTH):{VALUE_WIDTH}} {_numbers(line.figure, truth, line.digits, style)}"
            for line, truth in shown
        ),
        *([f"  … and {not_shown:,} more values; --format json and csv have all"] if not_shown else []),
        *_coverage_line("coverage", rehearsed.coverage),
        *_coverage_line("coverage of variance and quantiles", rehearsed.distribution_coverage),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _heading(style: Style) -> str:
    estimate, interval = style.shown("estimate ± s.e."), f"{CONFIDENCE:.0%} interval"
    return f"  {'':{VALUE_WIDTH}} {'truth':>8}  {estimate:>18}  {'error':>8}  {interval:^17}"


def _coverage_line(title: str, coverage: Coverage | None) -> list[str]:
    if coverage is None:
        return []
    rounds = f"{title} over {coverage.rounds:,} rounds"
    return [f"  {rounds}: {coverage.population:.1%} (noise alone: {coverage.noise_alone:.1%})"]


def _numbers(figure: Estimate | Figure, truth: float | None, digits: str, style: Style) -> str:
    interval = f"{style.shown(f'{figure.low:{digits}} … {figure.high:{digits}}'):^17}"
    value = figure.estimate
    deviation = None if isinstance(figure, Figure) else figure.standard_error
    if truth is None or value is None:
        return f"{'':8}  {'no reports':>18}  {'':8}  {interval}"
    estimate = style.shown(f"{value:{digits}}" + ("" if deviation is None else f" ± {deviation:{digits}}"))
    # an error has fewer digits than its mean
    error_digits = ".3g" if digits.endswith("g") else digits
    missed = "" if holds(figure, truth) else " *"
    return f"{truth:8{digits}}  {estimate:>18}  {value - truth:+8{error_digits}}  {interval}{missed}"
