"""The errors of the estimator. Their messages tell the analyst what is wrong and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.protocol.errors import HearsayError, UnknownMetricError
from client_sdk.protocol.toml_table import suggestion

if TYPE_CHECKING:
    from client_sdk.protocol.metric import Metric
    from client_sdk.protocol.registry.registry import Registry


class TalliesError(HearsayError):
    """Tallies cannot be fetched or read."""


class CollectorDownError(TalliesError):
    """A collector does not respond, or says that it is unavailable. Try again later."""


class AnswersError(HearsayError):
    """The answers for a rehearsal cannot be read."""


class UnfitTallyError(HearsayError):
    """A tally contradicts the registry's definition of the metric, or the window is still open."""


class RequestError(HearsayError):
    """A requested figure cannot be estimated for a metric."""


class ReportError(HearsayError):
    """A report's or model's JSON cannot be read."""


class MissingLibraryError(HearsayError, ImportError):
    """An optional library is not installed. The message contains the command that installs it."""


class OutputError(HearsayError):
    """A file or folder cannot be written."""


class BusyError(HearsayError):
    """Another run is already doing this work in the same folder. This run does nothing."""


class AuditError(HearsayError):
    """An audit could not be carried out, so it neither passed nor failed."""


class PlanError(HearsayError):
    """A plan cannot be computed."""


class ConformanceError(HearsayError):
    """A program under test cannot be started, so it neither passed nor failed."""


def metric_named(registry: Registry, name: str) -> Metric:
    """Return the metric of the given name.

    Raise `UnknownMetricError` if the registry has no such metric.
    """
    try:
        return registry.metric(name)
    except UnknownMetricError as error:
        error.args = (f"{error}{suggestion(name, registry.metrics)}",)
        raise
