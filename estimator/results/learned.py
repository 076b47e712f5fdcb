"""A model that was learned from reports, complete enough for an app to ship it."""

from __future__ import annotations

from typing import Final

from estimator.results.estimate import Estimate
from estimator.results.record import Record


class ModelInput(Record, frozen=True, kw_only=True):
    """One feature, and what it adds to a prediction.

    Attributes:
        name: its key in an answer.
        low: of a number, the end of its range that is scaled to -1. None for values.
        high: of a number, the end that is scaled to 1. None for values.
        values: of a category, its values. Empty for a number.
        weights: by products, one for a number or for two values, which are -1 and 1; otherwise one
            for each value but the first, which has none. By crosses, one for each value or each
            even part of the range.

    """

    name: str
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()


class LearnedModel(Record, frozen=True, kw_only=True):
    """What predicts the label: the intercept, and the weights of all features.

    For a label of yes or no the sum is the log-odds of yes. For a number it is the prediction.

    Attributes:
        mechanism: ``rotated-axes``: weights of scaled features; ``crosses``: weights of cells.
        norm: of scaled features, the length to which longer ones are shortened. None for crosses.
        penalty: lambda of the ridge regression, from the noise that is known. None for crosses.
        intercept: of the sum; 0 without reports.
        inputs: the features, in the registry's order.
        auc: of yes and no, how often the model ranks a yes above a no, if scores are normal. None
            where it cannot be known: for a number, and for crosses, which do not tell how features
            go together.
        correlation: of the prediction and the label. None for crosses.

    """

    mechanism: str
    norm: float | None
    penalty: float | None
    intercept: float
    inputs: tuple[ModelInput, ...]
    auc: Estimate | None = None
    correlation: Estimate | None = None


MODEL_SCHEMA: Final = 1
"""Of the file of a model."""


class ModelFile(Record, frozen=True, kw_only=True):
    """A model as a file that an app ships.

    Attributes:
        schema: of this file.
        model: the name of the metric.
        edition: of the question, as hexadecimal digits.
        window: of the reports.
        reports: how many it was learned from.
        label: its kind: ``boolean``, or ``number`` with its ends ``low`` and ``high``.
        learned: what is needed to predict.

    """

    schema: int
    model: str
    edition: str
    window: str
    reports: int
    label: dict[str, str]
    learned: LearnedModel
