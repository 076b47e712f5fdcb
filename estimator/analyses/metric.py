"""The analysis of each metric, and the estimates of one tally.

Standard errors and intervals describe a population. The devices that report are assumed to be a
random sample of this population. If you are interested only in these devices, the intervals are
slightly too wide.
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
"""A mapping from the name of a kind's class to the import path of the analysis class."""

WITH_SHARES: Final[Mapping[str, str]] = {
    "Count": "estimator.analyses.grid:CountsWithShares",
    "Activity": "estimator.analyses.grid:DaysOfUse",
}
"""Entries that replace those of `ANALYSES` if the channel has an input for each count."""

BY_MECHANISM: Final[Mapping[str, str]] = {
    "one-of": "estimator.analyses.answers:MembersAsked",
    "pair-geometry": "estimator.analyses.answers:MembersInPairs",
}
"""A mapping from mechanism to import path, for mechanisms with one analysis for all kinds."""


def of_shape(kind: Kind, table: Mapping[str, T]) -> T:
    """Return a kind's entry in a table keyed by the names of the kind's class and base classes."""
    return next(table[each.__name__] for each in type(kind).__mro__ if each.__name__ in table)


def analysis_of(metric: Metric) -> Analysis[Any]:
    """Return the analysis of a metric."""
    has_shares = metric.size is not None and has_inverse(metric.channel)
    tables = {**ANALYSES, **WITH_SHARES} if has_shares else ANALYSES
    module, _, name = (BY_MECHANISM.get(metric.channel.name) or of_shape(metric.kind, tables)).partition(":")
    analysis: type[Analysis[Any]] = getattr(import_module(module), name)
    return analysis(metric)


def estimate(metric: Metric, tally: Tally, request: Request = PLAIN) -> MetricEstimate:
    """Return the estimates of one tally, which must have the metric's edition.

    Raises:
        UnfitTallyError: if `Analysis.check` refuses the tally.

    """
    analysis = analysis_of(metric)
    analysis.check(tally)
    (estimated,) = analysis.estimates([tally], request)
    return estimated
