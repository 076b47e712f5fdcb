"""The errors of the estimator, with messages for the analyst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.protocol.errors import HearsayError, UnknownMetricError
from client_sdk.protocol.toml_table import suggestion

if TYPE_CHECKING:
    from client_sdk.protocol.metric import Metric
    from client_sdk.protocol.registry.registry import Registry


class TalliesError(HearsayError):
    """Tallies cannot be fetched or read. The message says what is wrong, where, and what to do."""


class CollectorDownError(TalliesError):
    """A collector does not respond, or says that it is unavailable. Try again later."""


class AnswersError(HearsayError):
    """The answers for a rehearsal cannot be read. The message says what is wrong, and where."""


class UnfitTallyError(HearsayError):
    """A tally contradicts the registry's definition of its metric, or its window is still open.

    The message says why the tally is not estimated, and what to do.
    """


class RequestError(HearsayError):
    """A requested figure cannot be estimated for a metric. The message says why, and what to do."""


class ReportError(HearsayError):
    """A report's or model's JSON cannot be read. The message says what is wrong, and what to do."""


class MissingLibraryError(HearsayError, ImportError):
    """An optional library is not installed. The message contains the command that installs it."""


class OutputError(HearsayError):
    """A file or folder cannot be written. The message names the path, the cause and the remedy."""


class BusyError(HearsayError):
    """Another run is already doing this work in the same folder. This run does nothing."""


class AuditError(HearsayError):
    """An audit could not be carried out, so it neither passed nor failed."""


class PlanError(HearsayError):
    """A plan cannot be computed. The message says why, and what to do."""


class ConformanceError(HearsayError):
    """A program under test cannot be started, so it neither passed nor failed."""


def metric_named(registry: Registry, name: str) -> Metric:
    """Return the metric of the given name.

    Raises:
        UnknownMetricError: if the registry has no such metric. The message suggests a similar name.

    """
    try:
        return registry.metric(name)
    except UnknownMetricError as error:
        error.args = (f"{error}{suggestion(name, registry.metrics)}",)
        raise
