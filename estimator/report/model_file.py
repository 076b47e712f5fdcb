"""The model of a report as a file that an app ships."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Final

import msgspec

from client_sdk.protocol.registry.registry import Registry
from estimator.analyses.metric import analysis_of
from estimator.errors import ReportError, RequestError
from estimator.formats.json_documents import builtins_of, json_text
from estimator.results.learned import MODEL_SCHEMA, LearnedModel, ModelFile, ModelInput
from estimator.results.report import EstimateReport

LABELS: Final = ("boolean", "number")
"""The kinds of labels."""


def check_model(registry: Registry, name: str) -> None:
    """Refuse what is no model, before anything is estimated.

    Raises:
        RequestError: if the metric is of another kind.
        UnknownMetricError: if the registry does not define it.

    """
    if analysis_of(registry.metric(name)).observation is None:
        raise RequestError(f'{name} is no model; name a metric with kind = "model"')


def as_model_file(report: EstimateReport, registry: Registry, name: str) -> str:
    """Return the model of the last window of a report, as JSON.

    Args:
        report: with estimates of the metric.
        registry: that defines it.
        name: of the metric, a model.

    Raises:
        RequestError: if no window has a model.

    """
    learned = [each for each in report.metrics if each.metric == name and each.learned is not None]
    if not learned:
        raise RequestError(f"no window of {name} has enough reports to learn from; wait for more, or choose others")
    observation = analysis_of(registry.metric(name)).observation
    last = max(learned, key=lambda each: each.span.starts_at)
    assert observation is not None  # noqa: S101 `check_model` refuses others
    assert last.learned is not None  # noqa: S101 chosen so
    file = ModelFile(
        schema=MODEL_SCHEMA,
        model=name,
        edition=last.edition,
        window=last.window,
        reports=last.reports,
        label=observation.definition["label"],  # type: ignore[arg-type] # of texts alone
        learned=last.learned,
    )
    return json_text(builtins_of(file))


def read_model_file(path: str | PathLike[str]) -> ModelFile:
    """Read the file of a model.

    Raises:
        ReportError: if it cannot be read, or is no model of this schema.

    """
    try:
        file = msgspec.json.decode(Path(path).read_bytes(), type=ModelFile)
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}; name a readable model") from error
    except msgspec.DecodeError:
        raise ReportError(f"{path} is no model; make it with report --format model") from None
    if file.schema != MODEL_SCHEMA:
        raise ReportError(f"{path} has not the schema {MODEL_SCHEMA}; use the version that made it")
    if file.label.get("kind") not in LABELS:
        raise ReportError(f"{path} has no label of {' or '.join(LABELS)}; make it with report --format model")
    if not _is_complete(file.learned):
        raise ReportError(f"{path} lacks weights, or ends of a range; make it with report --format model")
    return file


def _is_complete(learned: LearnedModel) -> bool:
    has_norm = learned.norm is not None
    is_possible = learned.norm is None or learned.norm > 0
    return (
        is_possible and bool(learned.inputs) and all(_has_weights(each, has_norm=has_norm) for each in learned.inputs)
    )


def _has_weights(each: ModelInput, *, has_norm: bool) -> bool:
    """Whether a feature has its values or its ends, and as many weights as coordinates or cells."""
    if each.values:
        has_ends = (each.low, each.high) != (None, None)
        weights = max(1, len(each.values) - 1) if has_norm else len(each.values)
        return not has_ends and 1 < len(each.values) == len(set(each.values)) and len(each.weights) == weights
    if each.low is None or each.high is None or each.low >= each.high:
        return False
    return len(each.weights) == 1 if has_norm else len(each.weights) > 1
