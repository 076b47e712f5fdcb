"""The job for programs: tallies in, the report as typed objects out."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from client_sdk.protocol import Registry, Window
from estimator.formats.document import ReportDocument
from estimator.report.report import make_report
from estimator.results.request import Selection, Wanted
from estimator.tallies.bounds import Bounds
from estimator.tallies.tally import Tally, read_file


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
) -> ReportDocument:
    """Estimate everything that tallies tell, as ``hearsay-estimator report`` does.

    Args:
        registry: the definitions that the app was shipped with.
        tallies: a path of NDJSON, the body of ``/v1/tallies``; or tallies that were read already.
        first: from this window on, such as ``2026-11-20``, ``2026-W47`` or ``2026-11``.
        last: up to the end of this window.
        preliminary: also windows that are still open, which are marked by ``closed``.
        simultaneous: intervals that hold together, for all that one tally tells.
        covariance: of all shares of a metric, too.
        pool: all windows of a metric together, too, and the change.
        central_delta: the delta of the central epsilon of each closed tally, above 0 and below 1; or none.
        fakes: the part of the reports, above 0 and below 1, that is taken for made up; or none.
        clusters: of numbers, scales and pairs, too.

    Raises:
        TalliesError: if the tallies cannot be read, or are too many to be estimated at once.
        ValueError: if ``central_delta`` or ``fakes`` is not between 0 and 1.
        WindowError: if ``first`` or ``last`` is no window.

    """
    for name, part in (("central_delta", central_delta), ("fakes", fakes)):
        if part is not None and not 0 < part < 1:
            raise ValueError(f"{name} must be above 0 and below 1")
    selection = Selection(_window(first), _window(last), preliminary)
    bounds = Bounds.of(registry, selection.spans)
    read = read_file(Path(tallies), bounds) if isinstance(tallies, str | PathLike) else tallies
    wanted = Wanted(simultaneous, covariance, central_delta, pool, fakes=fakes, clusters=clusters)
    return ReportDocument.of(make_report(registry, read, selection, wanted))


def _window(text: str | None) -> Window | None:
    return None if text is None else Window.parse(text)
