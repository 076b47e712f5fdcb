"""The Python interface of the reporting job, from tallies to a report or a model file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from importlib import import_module
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.base_url import is_base_url, is_readable_on_the_way
from estimator.analyses.metric import analysis_of
from estimator.errors import MissingLibraryError, ReportError, RequestError, metric_named
from estimator.fetch import Fetched, checked_token, fetch, token_of_environment
from estimator.formats.json_documents import builtins_of, json_text
from estimator.report.report import definitions_of, make_report
from estimator.results.metric import MODEL_SCHEMA, LearnedModel, ModelFile, ModelInput
from estimator.results.report import EstimateReport, Request, Selection
from estimator.shown_report import ShownReport
from estimator.tallies import Bounds, Tally, read_file

if TYPE_CHECKING:
    from estimator.scikit_learn import LearnedClassifier, LearnedRegressor

RANGE_PARTS: Final = 3
"""The number of elements of a requested range, such as ``("startup_ms", 2000, 5000)``."""


def load_model(path: str | PathLike[str]) -> LearnedClassifier | LearnedRegressor:
    """Read a model's file, and return the model as a fitted scikit-learn estimator.

    The methods of the estimator take an ``X`` with one column per feature, in the order of
    ``feature_names_in_``.

    Args:
        path: the path of a file that ``report --format model`` wrote.

    Raises:
        MissingLibraryError: if scikit-learn is not installed.
        ReportError: if the file cannot be read, is not a model's file, or has a schema number that
            this version cannot read.

    """
    file = read_model_file(path)
    try:
        kinds = import_module("estimator.scikit_learn")  # this import takes 4400 ms
    except ImportError:
        raise MissingLibraryError(
            "scikit-learn is required, but is not installed: pip install 'hearsay-ldp[sklearn]' "
            "(from a checkout: pip install ./client_sdk '.[sklearn]')"
        ) from None
    kind = kinds.LearnedClassifier if file.label["kind"] == "boolean" else kinds.LearnedRegressor
    fitted: LearnedClassifier | LearnedRegressor = kind(file)
    return fitted


def estimate(  # noqa: PLR0913 one argument for each option of the command
    registry: Registry | str | PathLike[str],
    tallies: str | PathLike[str] | Iterable[Tally] | None = None,
    *,
    collector: str | None = None,
    token: str | None = None,
    allow_plain_http: bool = False,
    first: str | date | None = None,
    last: str | date | None = None,
    since: str | date | None = None,
    preliminary: bool = False,
    simultaneous: bool = False,
    covariance: bool = False,
    pooled: bool = False,
    central: float | None = None,
    poisoning: float | None = None,
    clusters: bool = False,
    ranges: Sequence[tuple[str, float, float]] = (),
    candidates: Sequence[str] = (),
    installs: int | None = None,
    asked: float | None = None,
) -> ShownReport:
    """Estimate all metrics that have tallies, as ``hearsay-estimator report`` does.

    Args:
        registry: the metric definitions shipped with the app, or the path of their file.
        tallies: `Tally` objects, or the path of a file with a collector's response to
            ``/v1/tallies``. None to fetch the tallies from a collector.
        collector: the URL of the collector to fetch the tallies from. The URL must be ``https://``
            unless the collector runs on this machine.
        token: the secret of a read key of that collector. None to read the secret from the
            environment variable ``HEARSAY_READ_TOKEN`` or ``HEARSAY_READ_TOKEN_FILE``.
        allow_plain_http: allow ``http://`` for collectors on other machines. Anybody on the network
            path can then read the token and change the tallies.
        first: the first window to estimate, as a name or a `date`. Names are days (``2026-11-20``),
            weeks (``2026-W47``) or months (``2026-11``). Windows that end before the first window
            are left out.
        last: the last window to estimate, written like ``first``. Windows that begin after the last
            window are left out.
        since: a window, written like ``first``, such as the window of a release. The report
            compares this window and all later windows with all earlier windows. By default, the
            report searches for a change at any time.
        preliminary: also estimate windows that are still open. Estimates of open windows have
            ``closed=False``.
        simultaneous: widen the intervals, so that all intervals of a tally together contain the
            true values 95% of the time.
        covariance: also estimate the covariance of all shares of a metric.
        pooled: also estimate each metric from all its windows together.
        central: a delta above 0 and below 1. The report then states how much each closed tally,
            once published, reveals about a single device, as an epsilon for this delta.
        poisoning: a fraction above 0 and below 1. The report then states how far figures could be
            off if this fraction of the reports were fabricated.
        clusters: also find clusters in the answers to metrics of numbers, scales and pairs.
        ranges: also estimate the share of answers in each of these ranges. A range consists of the
            name of a metric, a start and an end. The range includes the start and the end.
        candidates: also estimate the share of each of these texts, for metrics of texts.
        installs: the number of installations of the app. The report then bounds the figures of all
            installations, including installations that do not report.
        asked: the share of devices that are asked for a report in a window, above 0 and at most 1.
            Required only if ``installs`` is given and the registry's schedule does not determine
            this share.

    Raises:
        CollectorDownError: if the collector cannot be reached or is unavailable.
        RegistryError: if the registry's file cannot be used.
        RequestError: if the share of a range cannot be estimated for its metric, if no metric of
            texts allows a candidate's letters, if ``installs`` is given and requires ``asked``, or
            if no windows can be compared for ``since``.
        TalliesError: if the tallies cannot be read, or are too many to estimate at once.
        TypeError: if ``candidates`` is a single string instead of a list, if a range is not a name
            and two numbers, or if ``first``, ``last`` or ``since`` is neither a string nor a date.
        UnknownMetricError: if a range names a metric that the registry does not define.
        ValueError: if ``central`` or ``poisoning`` is not between 0 and 1, if ``installs`` or
            ``asked`` is out of range, if neither or both of ``tallies`` and ``collector`` are
            given, if the collector's token is missing or invalid, or if an ``http://`` URL of
            another machine is not allowed.
        WindowError: if ``first``, ``last`` or ``since`` is not a window, or if ``first`` begins
            after ``last`` has ended.

    """
    for name, fraction in (("central", central), ("poisoning", poisoning)):
        if fraction is not None and not 0 < fraction < 1:
            raise ValueError(f"{name} must be above 0 and below 1")
    if (installs is not None and installs < 1) or (asked is not None and not 0 < asked <= 1):
        raise ValueError("installs must be a whole number from 1 up, and asked must be above 0 and at most 1")
    definitions = registry if isinstance(registry, Registry) else history.load(Path(registry))
    if (tallies is None) == (collector is None):
        raise ValueError("give either tallies or collector")
    _check_lists(ranges, candidates)
    selection = _selection(first, last, preliminary=preliminary)
    source = None if collector is None else (collector, _token(collector, token, allow_plain_http=allow_plain_http))
    fetched = _read(tallies, source, Bounds.from_metrics(definitions.counted, selection.spans), preliminary=preliminary)
    request = Request(
        simultaneous=simultaneous,
        covariance=covariance,
        central_delta=central,
        pool=pooled,
        fakes=poisoning,
        clusters=clusters,
        ranges=tuple(ranges),
        candidates=tuple(candidates),
        highlights=False,
        installs=installs,
        asked=asked,
        since=_window("since", since),
    )
    definitions = definitions_of(definitions, fetched.tallies)
    report = make_report(definitions, fetched.tallies, selection, request)
    return replace(ShownReport.from_report(report), snapshot_at=fetched.snapshot_at)


def _read(
    tallies: str | PathLike[str] | Iterable[Tally] | None,
    source: tuple[str, str] | None,
    bounds: Bounds,
    *,
    preliminary: bool,
) -> Fetched:
    """Read tallies from a collector, given by its URL and token, or from a file or memory."""
    if source is not None:
        collector, token = source
        return fetch(collector, token, preliminary=preliminary, bounds=bounds)
    if isinstance(tallies, str | PathLike):
        return Fetched(read_file(Path(tallies), bounds))
    return Fetched(list(tallies or ()))


def _token(collector: str, token: str | None, *, allow_plain_http: bool) -> str:
    if is_base_url(collector) and is_readable_on_the_way(collector) and not allow_plain_http:
        raise ValueError(
            "collector must be an https:// URL, unless it is on this machine: anybody on the network path could read "
            "the token and change the tallies; to accept this risk, pass allow_plain_http=True"
        )
    if token is not None:
        return checked_token(token, "token must be the secret of a read key, one line of ASCII")
    return token_of_environment()


def _check_lists(ranges: Sequence[object], candidates: object) -> None:
    """Raise `TypeError` if a range is malformed, or if ``candidates`` is a single string."""
    if isinstance(candidates, str):
        raise TypeError('candidates must be a list of texts, such as ["zebra"], not one text')
    if not all(map(_is_range, ranges)):
        raise TypeError('ranges must be a list of metrics, each with two numbers, such as [("startup_ms", 2000, 5000)]')


def _is_range(entry: object) -> bool:
    if not isinstance(entry, list | tuple) or len(entry) != RANGE_PARTS:
        return False
    name, *ends = entry
    return isinstance(name, str) and all(isinstance(end, Real) for end in ends)


def _selection(first: str | date | None, last: str | date | None, *, preliminary: bool) -> Selection:
    begin, end = _window("first", first), _window("last", last)
    if begin and end and begin.starts_at >= end.ends_at:
        raise WindowError(f"first ({begin}) begins after last ({end}) has ended; exchange the two")
    return Selection(begin, end, preliminary)


def _window(name: str, window: str | date | None) -> Window | None:
    if window is None:
        return None
    if not isinstance(window, str | date):
        raise TypeError(f"{name} must be the name of a window, such as '2026-11-20', or a date")
    return Window.parse(window if isinstance(window, str) else f"{window:%Y-%m-%d}")


LABELS: Final = ("boolean", "number")
"""The possible kinds of a model's label."""


def check_model(registry: Registry, name: str) -> None:
    """Raise `RequestError` if a metric is not a model.

    The check runs before the estimates, which take longer. Raise `UnknownMetricError` if the
    registry does not define the metric.
    """
    if analysis_of(metric_named(registry, name)).observation is None:
        raise RequestError(f'{name} is not a model; name a metric with kind = "model"')


def as_model_file(report: EstimateReport, registry: Registry, name: str) -> str:
    """Return the model ``name`` of the last window with enough reports, as JSON.

    Raise `RequestError` if no window has enough reports to learn from.
    """
    learned = [each for each in report.metrics if each.metric == name and each.learned is not None]
    if not learned:
        raise RequestError(f"no window of {name} has enough reports to learn from; wait, or choose other windows")
    observation = analysis_of(registry.metric(name)).observation
    last = max(learned, key=lambda each: each.span.starts_at)
    assert observation is not None  # noqa: S101 `check_model` refuses metrics without one
    assert last.learned is not None  # noqa: S101 `learned` contains only windows with a model
    file = ModelFile(
        schema=MODEL_SCHEMA,
        model=name,
        edition=last.edition,
        window=last.window,
        reports=last.reports,
        label=observation.definition["label"],  # type: ignore[arg-type] # it contains only texts
        learned=last.learned,
    )
    return json_text(builtins_of(file))


def read_model_file(path: str | PathLike[str]) -> ModelFile:
    """Read a model file.

    Raise `ReportError` if the file cannot be read, is not a model's file, or has a schema number
    that this version cannot read.
    """
    try:
        file = msgspec.json.decode(Path(path).read_bytes(), type=ModelFile)
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}; give the path of a model") from error
    except msgspec.DecodeError:
        raise ReportError(f"{path} is not a model; write it with report --format model") from None
    if file.schema != MODEL_SCHEMA:
        raise ReportError(f"{path} does not have schema {MODEL_SCHEMA}; use the version that wrote it")
    if file.label.get("kind") not in LABELS:
        raise ReportError(f"{path} has no label of kind {' or '.join(LABELS)}; write it with report --format model")
    if not _is_complete(file.learned):
        raise ReportError(f"{path} has no weights, or a range without ends; write it with report --format model")
    return file


def _is_complete(learned: LearnedModel) -> bool:
    has_norm = learned.norm is not None
    is_possible = learned.norm is None or learned.norm > 0
    return (
        is_possible and bool(learned.inputs) and all(_has_weights(each, has_norm=has_norm) for each in learned.inputs)
    )


def _has_weights(each: ModelInput, *, has_norm: bool) -> bool:
    """Return whether a feature of a model file is complete.

    A feature has either a list of values or a numeric range, never both. If ``has_norm``, a feature
    with v values has v - 1 weights, and a feature with a range has one weight. Otherwise, a feature
    has one weight per value or per part of its range.
    """
    if each.values:
        has_ends = (each.low, each.high) != (None, None)
        weights = max(1, len(each.values) - 1) if has_norm else len(each.values)
        return not has_ends and 1 < len(each.values) == len(set(each.values)) and len(each.weights) == weights
    if each.low is None or each.high is None or each.low >= each.high:
        return False
    return len(each.weights) == 1 if has_norm else len(each.weights) > 1
