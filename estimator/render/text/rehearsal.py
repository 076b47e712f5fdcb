"""The forms of a rehearsal: those of a report, with the truth beside each estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.kind import word
from estimator.formats.to_csv import csv_text
from estimator.formats.to_json import document_of, json_text
from estimator.rehearsal.compared import Coverage, FigureKind, figures_of, holds, pairs_of
from estimator.rehearsal.rehearsal import Rehearsal, Rehearsed
from estimator.render.rounding import text_of, within
from estimator.render.text.lines import SHARE_DECIMALS, SHARES, TOO_FEW, FigureLine, lines_of
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style, figure_texts
from estimator.render.words import left_out_words, mechanism_words, text_label
from estimator.report.highlights import left_out, shown_values
from estimator.results.highlight import SHOWN_VALUES
from estimator.results.row import COLUMNS, metric_rows
from estimator.statistics.confidence import CONFIDENCE
from estimator.words import plural

OF_DISTRIBUTIONS: Final = {
    FigureKind.VARIANCE: "variance",
    FigureKind.QUANTILES: "quantiles",
    FigureKind.BAND_POINTS: "band_points",
    FigureKind.BAND: "band",
    FigureKind.BINS: "bins",
    FigureKind.RANGES: "ranges",
}
"""The names in JSON of the coverages of a distribution's figures."""

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
        pairs = pairs_of(figures_of(rehearsed.estimated), rehearsed.truths)
        for entry, (figure, truth) in zip(_entries(metric), pairs, strict=True):
            entry |= {"truth": truth, "holds": None if truth is None else holds(figure, truth)}
        of_vectors = FigureKind.COORDINATES in figures_of(rehearsed.estimated)
        first = FigureKind.COORDINATES if of_vectors else FigureKind.SHARES_AND_MEAN
        metric["coverage"] = _coverage(rehearsed.coverages.get(first))
        if "at_least" in metric:
            metric["at_least_coverage"] = _coverage(rehearsed.coverages.get(FigureKind.AT_LEAST))
        if FigureKind.GROUP_MEANS in figures_of(rehearsed.estimated):
            metric["group_means_coverage"] = _coverage(rehearsed.coverages.get(FigureKind.GROUP_MEANS))
        if rehearsed.texts is not None:
            metric["texts_coverage"] = _coverage(rehearsed.coverages.get(FigureKind.TEXTS))
            metric["texts"] |= {
                "false": list(rehearsed.texts.false),
                "missed": [{"value": text, "truth": share} for text, share in rehearsed.texts.missed],
            }
        if "distribution" in metric:
            metric["distribution"]["band_holds"] = rehearsed.is_band_held
            metric["distribution_coverage"] = {
                name: _coverage(rehearsed.coverages.get(kind)) for kind, name in OF_DISTRIBUTIONS.items()
            }
    return json_text({"seed": rehearsal.seed} | document)


def rehearsal_as_csv(rehearsal: Rehearsal) -> str:
    """Return the report's rows with the truth, whether the interval holds it, and the seed."""
    rows: list[list[object]] = []
    for rehearsed in rehearsal.metrics:
        pairs = pairs_of(figures_of(rehearsed.estimated), rehearsed.truths)
        for row in metric_rows(rehearsed.estimated, CONFIDENCE):
            # a sum follows from the mean and has no truth of its own
            figure, truth = next(pairs, (None, None))
            is_held = None if figure is None or truth is None else holds(figure, truth)
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


def _entries(metric: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the JSON of each figure that has a truth, in the order of the report's rows."""
    yield from metric.get("estimates", ())
    if "mean" in metric:
        yield metric["mean"]
    yield from metric.get("coordinates", ())
    yield from metric.get("at_least", ())
    yield from metric.get("texts", {}).get("found", ())
    if metric["kind"] == MeanByGroup.name and "joint" in metric:
        yield from (group["estimates"][0] for group in metric["joint"]["groups"])
    distribution = metric.get("distribution")
    if distribution is not None:
        yield distribution["variance"]
        for name in ("quantiles", "band", "bins", "ranges"):
            yield from distribution.get(name, ())


def _coverage(coverage: Coverage | None) -> dict[str, float] | None:
    if coverage is None:
        return None
    return {"rounds": coverage.rounds, "population": coverage.population, "noise_alone": coverage.noise_alone}


def _block(rehearsed: Rehearsed, style: Style) -> str:
    estimated = rehearsed.estimated
    positions, not_shown = shown_values(estimated), left_out(estimated)
    more = left_out_words(not_shown, estimated.kind)
    lines = [
        f"{estimated.metric}: {estimated.kind}",
        f"  {mechanism_words(estimated)}, reports: {estimated.reports:,}",
        _heading(style),
        *(
            f"  {style.filled(line.label, VALUE_WIDTH)} {_numbers(line, truth, style)}"
            for line, truth in zip(lines_of(estimated, positions), _shown_truths(rehearsed, positions), strict=True)
        ),
        *([f"  … and {more}; --format json and csv have all"] if not_shown else []),
        *_group_means(rehearsed, style),
        *_texts(rehearsed, style),
        *_band_line(rehearsed),
        *_coverage_lines(rehearsed.coverages),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _shown_truths(rehearsed: Rehearsed, positions: Sequence[int]) -> Iterator[float | None]:
    """Yield the truth of each of the ``lines_of`` the estimates."""
    figures = figures_of(rehearsed.estimated)
    truths = {kind: rehearsed.truths.get(kind, (None,) * len(of_kind)) for kind, of_kind in figures.items()}
    shares_and_mean = truths.pop(FigureKind.SHARES_AND_MEAN)
    values = 0 if rehearsed.estimated.estimates is None else len(rehearsed.estimated.estimates)
    of_values = truths.pop(FigureKind.COORDINATES, shares_and_mean)
    yield from (of_values[position] for position in positions)
    yield from shares_and_mean[values:]
    for kind in (FigureKind.AT_LEAST, FigureKind.VARIANCE, FigureKind.QUANTILES, FigureKind.RANGES):
        yield from truths.get(kind, ())


def _group_means(rehearsed: Rehearsed, style: Style) -> Iterator[str]:
    """Yield the mean of each group beside its truth."""
    of_kind = {FigureKind.GROUP_MEANS: figures_of(rehearsed.estimated).get(FigureKind.GROUP_MEANS, ())}
    groups = rehearsed.estimated.joint.groups if rehearsed.estimated.joint is not None else ()
    for group, (mean, truth) in zip(groups, pairs_of(of_kind, rehearsed.truths), strict=False):
        label = style.filled(f"mean, {word(group.group)}", VALUE_WIDTH)
        line = FigureLine(label, mean, None, rehearsed.estimated.mean_range)
        yield f"  {label} {_numbers(line, truth, style, TOO_FEW)}"


def _texts(rehearsed: Rehearsed, style: Style) -> Iterator[str]:
    """Yield the texts found beside their truth, those missed, and those that nobody has."""
    outcome, findings = rehearsed.texts, rehearsed.estimated.texts
    if outcome is None or findings is None:
        return
    shown = {FigureKind.TEXTS: tuple(findings.found or ())[:SHOWN_VALUES]}
    truths = {FigureKind.TEXTS: rehearsed.truths[FigureKind.TEXTS][:SHOWN_VALUES]}
    for figure, truth in pairs_of(shown, truths):
        label = style.filled(text_label(getattr(figure, "value", "")), VALUE_WIDTH)
        yield f"  {label} {_numbers(FigureLine(label, figure, SHARE_DECIMALS, SHARES), truth, style)}"
    yield f"  found: {plural(outcome.occurring, 'text')}; false: {plural(len(outcome.false), 'text')}"
    yield f"  missed, though more common than one that was found: {plural(len(outcome.missed), 'text')}"
    if outcome.commonest is not None:
        text, share = outcome.commonest
        yield f"  the most common text that was not found: {style.cut(text_label(text), VALUE_WIDTH)}, {share:.2%}"


def _heading(style: Style) -> str:
    estimate, interval = style.shown("estimate ± s.e."), f"{CONFIDENCE:.0%} interval"
    return f"  {'':{VALUE_WIDTH}} {'truth':>8}  {estimate:>18}  {'error':>8}  {interval:^17}"


def _band_line(rehearsed: Rehearsed) -> list[str]:
    """Return whether the band holds, of which a table shows no point."""
    if rehearsed.is_band_held is None or rehearsed.estimated.distribution is None:
        return []
    points = rehearsed.estimated.distribution.band
    missed = len(points) - sum(map(holds, points, rehearsed.truths[FigureKind.BAND_POINTS]))
    outcome = f"misses the truth at {missed} of" if missed else "holds the truth at all"
    return [f"  the band of the distribution function {outcome} {len(points)} points"]


def _coverage_lines(coverages: Mapping[FigureKind, Coverage]) -> list[str]:
    if not coverages:
        return []
    rounds = next(iter(coverages.values())).rounds
    return [f"  coverage over {rounds:,} rounds (of the noise alone)"] + [
        f"    {kind:30} {coverage.population:6.1%} ({coverage.noise_alone:.1%})" for kind, coverage in coverages.items()
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
