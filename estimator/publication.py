"""A folder that publishes the results of public metrics through any static file server.

```
PUBLIC/index.html  index.json       the latest result of every public metric; link to a metric
                                    as index.html#q-NAME
PUBLIC/metrics/NAME.json            a report on all windows of one metric; the report contains the
                                    metric's strata and former editions, and load_report reads it
PUBLIC/.lock                        locked while a run is writing
```

The folder contains only data that `estimator.report.publishing` allows. Each run estimates only
windows that are not published yet, and adds the estimates to the metrics' files. Each file is
replaced in one step: first the metrics' files, then the index. At the end, the run removes the
files of metrics that are no longer public.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from client_sdk.protocol.registry.registry import Registry
from estimator.errors import OutputError, ReportError
from estimator.formats.json_documents import as_json, read_report
from estimator.output_files import remove_parts, replace_file
from estimator.render.html.page import filled, page_of
from estimator.render.html.standing import for_the_public, newest, standing_of, without_sums
from estimator.report.publishing import LEAST_REPORTS, publishable, published, rounded_tallies
from estimator.report.report import in_order, make_report, of_known_editions, over_windows
from estimator.report.strata import apart
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport, Request
from estimator.results.standing import INDEX, PAGE
from estimator.tallies import Tally

METRICS: Final = "metrics"
"""The subfolder that contains a file for each metric."""

SUFFIX: Final = ".json"

NOTHING_PUBLISHED: Final = f"No window has {LEAST_REPORTS} reports yet."
"""The text for a metric that has no window with enough reports to be published."""

PLAIN: Final = Request(highlights=False)
"""The request for the published figures. The option ``--with`` adds figures only to the archive,
not to a public folder.
"""


def publish(
    folder: Path, registry: Registry, tallies: Iterable[Tally], advance: Callable[[int], object] = lambda _: None
) -> tuple[bool, bool]:
    """Update a public folder, which must be locked.

    Return two booleans: whether any file changed, and whether no window is published. ``registry``
    contains all metrics, and ``tallies`` the tallies of the windows that may be published.
    ``advance`` is called with the number of tallies just estimated. Raise `OutputError` if a file
    cannot be written.
    """
    public = publishable(registry)
    estimates = {name: known_estimates(folder, name, public) for name in public.metrics}
    missing = [
        tally
        for tally in tallies
        if tally.metric in public.metrics and tally.window.text not in {each.window for each in estimates[tally.metric]}
    ]
    fresh = make_report(registry, rounded_tallies(missing), request=PLAIN, advance=advance).metrics
    for estimated in _published(fresh, public):
        estimates[_metric(estimated)].append(estimated)
    return _write(folder, public, estimates), not any(estimates.values())


def known_estimates(folder: Path, name: str, public: Registry) -> list[MetricEstimate]:
    """Return the published estimates of a metric, except estimates that are no longer public."""
    with suppress(ReportError):  # the file is missing, or another version wrote it
        return _published(read_report(_path(folder, name)).metrics, public)
    return []


def _published(estimates: Iterable[MetricEstimate], public: Registry) -> list[MetricEstimate]:
    metrics = apart(public).metrics
    every = (published(each, metrics[each.metric]) for each in of_known_editions(estimates, public))
    return [each for each in every if each is not None]


def _metric(estimated: MetricEstimate) -> str:
    """Return the name of an estimate's metric. The name of a stratum is cut off."""
    return estimated.metric.partition("[")[0]


def _path(folder: Path, name: str) -> Path:
    return folder / METRICS / f"{name}{SUFFIX}"


def _write(folder: Path, public: Registry, estimates: dict[str, list[MetricEstimate]]) -> bool:
    of_all = [each for of_metric in estimates.values() for each in of_metric]
    windows = {window.text for window in newest({each.span for each in of_all}, public)}
    shown = over_windows([each for each in of_all if each.window in windows], public)
    page = page_of(shown, public)
    page = dataclasses.replace(page, metrics=tuple(map(without_sums, page.metrics)))
    standing = standing_of(page, absent=NOTHING_PUBLISHED)
    text = filled("publication.html.jinja", page, **for_the_public(page, standing, public))
    try:
        (folder / METRICS).mkdir(exist_ok=True)
        remove_parts(folder / METRICS)
        changed = [
            replace_file(_path(folder, name), as_json(_report_on(name, of_metric, shown, public)))
            for name, of_metric in estimates.items()
        ]
        changed += [
            replace_file(folder / INDEX, as_json(standing)),
            replace_file(folder / PAGE, text),
        ]
        left = [each for each in (folder / METRICS).glob(f"*{SUFFIX}") if each.stem not in estimates]
        for path in left:
            path.unlink()
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from error
    return any(changed) or bool(left)


def _report_on(name: str, estimates: list[MetricEstimate], shown: EstimateReport, public: Registry) -> EstimateReport:
    return replace(
        shown,
        metrics=tuple(in_order(estimates, apart(public).metrics)),
        changes=tuple(each for each in shown.changes if each.metric.partition("[")[0] == name),
        effects=tuple(each for each in shown.effects if each.metric == name),
        highlights=(),
    )
