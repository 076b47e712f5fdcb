"""What features predict: the model of each tally, by products or by crosses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.model import CrossedModel, Model
from estimator.estimates.learned.crosses import Fitted, cells_of, fakes_of_crosses, learned_crosses, log_odds
from estimator.estimates.learned.poisoning import fakes_of_products
from estimator.estimates.learned.products import MOST_STEPS, ProductsModel, label_step
from estimator.estimates.question_fields import question_fields
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.learned import LearnedModel
from estimator.results.metric import MetricEstimate
from estimator.results.poisoning import Fakes
from estimator.results.request import Request
from estimator.statistics.confidence import EXACT_BELOW
from estimator.tallies.tally import Tally

LEAST_REPORTS = EXACT_BELOW
"""With fewer, errors are not normal, and nothing is learned."""


def model_estimates(metric: Metric, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
    """Yield the estimates of each tally of a model."""
    for tally in tallies:
        tally.check(metric.channel.symbols)
        coefficients, learned = learn(metric, tally, simultaneous=request.simultaneous)
        statistic = "coefficient" if isinstance(metric.kind, Model) else "log_odds"
        auc = () if learned is None or learned.auc is None else (learned.auc.labelled(),)
        yield MetricEstimate(
            **question_fields(metric),
            window=tally.window.text,
            closed=tally.closed,
            reports=tally.reports,
            groups=(
                FigureGroup(statistic, coefficients),
                *(FigureGroup("auc", Figures.from_rows([each]), "", SHARES) for each in auc),
            ),
            learned=learned,
            fakes=None if request.fakes is None else _fakes(metric, tally, request.fakes),
        )


def learn(metric: Metric, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:
    """Return the coefficients or log-odds of a tally with their intervals, and the model.

    Args:
        metric: of kind model.
        tally: of its edition.
        simultaneous: whether all intervals are to hold together.

    Returns:
        The figures and the model, which is None with too few reports.

    """
    if isinstance(metric.kind, Model):
        names = metric.kind.observation.coordinates
        if tally.reports < LEAST_REPORTS:
            ends = np.full(len(names), MOST_STEPS * label_step(metric.kind))
            return Figures(names, -ends, ends), None
        model = ProductsModel.of(metric, tally)
        return model.coefficients(len(names) if simultaneous else 1), model.learned()
    assert isinstance(metric.kind, CrossedModel)  # noqa: S101 whoever asks knows the kind
    fitted = Fitted.of(list(cells_of(metric, tally)) if tally.reports >= LEAST_REPORTS else [])
    family = sum(feature.cells for feature in metric.kind.observation.features) if simultaneous else 1
    return log_odds(metric, fitted, family), learned_crosses(metric, fitted) if fitted.of_features else None


def _fakes(metric: Metric, tally: Tally, fraction: float) -> Fakes | None:
    """Return how far made-up reports could have moved the mean and coefficients, or a share."""
    if not tally.reports:
        return None
    if isinstance(metric.kind, Model):
        return fakes_of_products(metric, tally, fraction)
    return fakes_of_crosses(metric, tally, fraction)
