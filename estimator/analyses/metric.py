"""Estimates, with their uncertainty, from a metric and its tallies.

Standard errors and intervals describe a population, from which the devices are a random sample.
They include the randomness of the sample and of the mechanism. As statements about only the devices
that reported, the intervals are therefore slightly too wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.metric import Metric
from estimator.analyses.analysis import Analysis
from estimator.decoders.inversions import has_inverse
from estimator.results.metric import MetricEstimate
from estimator.results.report import PLAIN, Request
from estimator.tallies import Tally

T = TypeVar("T")

ANALYSES: Final[Mapping[str, str]] = {
    "Labels": "estimator.analyses.answers:OneOfLabels",
    "Ordinal": "estimator.analyses.answers:StepOfScale",
    "Subset": "estimator.analyses.answers:MembersOfSet",
    "Thresholds": "estimator.analyses.thresholds:SharesAbove",
    "Grid": "estimator.analyses.grid:PointOfGrid",
    "LogNumber": "estimator.analyses.grid:NumberOfMagnitudes",
    "OrdinalMean": "estimator.analyses.grid:PlaceOnScale",
    "Cross": "estimator.analyses.pairs:PairOfAnswers",
    "MeanByGroup": "estimator.analyses.group_means:MeansByGroup",
    "Ball": "estimator.analyses.vectors:Vectors",
    "Text": "estimator.analyses.texts:UnlistedTexts",
    "Model": "estimator.analyses.models.analysis:ModelOfProducts",
    "CrossedModel": "estimator.analyses.models.analysis:ModelOfCrosses",
}
"""The import path of the analysis for each shape of answers. Keys are the names of the classes of
kinds, or of their base classes.
"""

WITH_SHARES: Final[Mapping[str, str]] = {
    "Count": "estimator.analyses.grid:CountsWithShares",
    "Activity": "estimator.analyses.grid:DaysOfUse",
}
"""The analyses that replace those in `ANALYSES` if each number is a separate channel input."""

BY_MECHANISM: Final[Mapping[str, str]] = {
    "one-of": "estimator.analyses.answers:MembersAsked",
    "pair-geometry": "estimator.analyses.answers:MembersInPairs",
}
"""The analysis for a mechanism that encodes answers in its own way, whatever their shape."""


def of_shape(kind: Kind, table: Mapping[str, T]) -> T:
    """Return the entry for a kind in a table keyed by class names. Base classes are tried last."""
    return next(table[each.__name__] for each in type(kind).__mro__ if each.__name__ in table)


def analysis_of(metric: Metric) -> Analysis[Any]:
    """Return the analysis of a question, by the shape of its answers."""
    has_shares = metric.size is not None and has_inverse(metric.channel)
    tables = {**ANALYSES, **WITH_SHARES} if has_shares else ANALYSES
    module, _, name = (BY_MECHANISM.get(metric.channel.name) or of_shape(metric.kind, tables)).partition(":")
    analysis: type[Analysis[Any]] = getattr(import_module(module), name)
    return analysis(metric)


def estimate(metric: Metric, tally: Tally, request: Request = PLAIN) -> MetricEstimate:
    """Return the estimates of one tally, which must be of the metric's edition.

    Raises:
        UnfitTallyError: if `Analysis.check` refuses the tally.

    """
    analysis = analysis_of(metric)
    analysis.check(tally)
    (estimated,) = analysis.estimates([tally], request)
    return estimated
