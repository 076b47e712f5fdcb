"""The reporting job for programs: tallies in, a report as typed objects out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.report.report import make_report
from estimator.results.report import EstimateReport
from estimator.results.request import Request, Selection
from estimator.tallies.bounds import Bounds
from estimator.tallies.read import read_file
from estimator.tallies.tally import Tally


def estimate(  # noqa: PLR0913 one argument an option of the command
    registry: Registry,
    tallies: str | PathLike[str] | Iterable[Tally],
    *,
    first: str | None = None,
    last: str | None = None,
    preliminary: bool = False,
    simultaneous: bool = False,
    covariance: bool = False,
    pool: bool = False,
    central_delta: float | None = None,
    fakes: float | None = None,
    clusters: bool = False,
    ranges: Sequence[tuple[str, float, float]] = (),
) -> EstimateReport:
    """Estimate everything that tallies allow, as ``hearsay-estimator report`` does.

    Args:
        registry: the definitions that the app was shipped with.
        tallies: the path of an NDJSON file, the body of ``/v1/tallies``; or tallies that were read
            already.
        first: the first window, such as ``2026-11-20``, ``2026-W47`` or ``2026-11``.
        last: the last window, included.
        preliminary: also estimate windows that are still open; ``closed`` marks them.
        simultaneous: intervals that hold together for all figures of a tally.
        covariance: also the covariance of all shares of a metric.
        pool: also all windows of a metric together, and the change.
        central_delta: the delta of each closed tally's central epsilon, above 0 and below 1; or
            None.
        fakes: the assumed fraction of made-up reports, above 0 and below 1; or None.
        clusters: also clusters of numbers, scales and pairs.
        ranges: also the share of answers between two numbers, both included: the metric, the start
            and the end of each.

    Raises:
        RequestError: if a range cannot be had of its metric.
        TalliesError: if the tallies cannot be read, or are too many to estimate at once.
        UnknownMetricError: if a range is of a metric that the registry does not define.
        ValueError: if ``central_delta`` or ``fakes`` is not between 0 and 1.
        WindowError: if ``first`` or ``last`` is not a window.

    """
    for name, fraction in (("central_delta", central_delta), ("fakes", fakes)):
        if fraction is not None and not 0 < fraction < 1:
            raise ValueError(f"{name} must be above 0 and below 1")
    selection = Selection(_window(first), _window(last), preliminary)
    bounds = Bounds.of(registry, selection.spans)
    read = read_file(Path(tallies), bounds) if isinstance(tallies, str | PathLike) else tallies
    request = Request(
        simultaneous=simultaneous,
        covariance=covariance,
        central_delta=central_delta,
        pool=pool,
        fakes=fakes,
        clusters=clusters,
        ranges=tuple(ranges),
        highlights=False,
    )
    return make_report(registry, read, selection, request)


def _window(text: str | None) -> Window | None:
    return None if text is None else Window.parse(text)
