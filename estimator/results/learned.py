"""A model that was learned from reports, complete enough for an app to ship it."""

from __future__ import annotations

from typing import Annotated, Final

from estimator.results.estimate import Estimate
from estimator.results.record import Record, says


class ModelInput(Record, frozen=True, kw_only=True):
    """One feature, and what it adds to a prediction."""

    name: Annotated[str, says("its key in an answer.")]
    low: Annotated[float | None, says("of a number, the end of its range that is scaled to -1. None for values.")] = (
        None
    )
    high: Annotated[float | None, says("of a number, the end that is scaled to 1. None for values.")] = None
    values: Annotated[tuple[str, ...], says("of a category, its values. Empty for a number.")] = ()
    weights: Annotated[
        tuple[float, ...],
        says(
            "by products, one for a number or for two values, which are -1 and 1; otherwise one for "
            "each value but the first, which has none. By crosses, one for each value or each even "
            "part of the range."
        ),
    ] = ()


class LearnedModel(Record, frozen=True, kw_only=True):
    """What predicts the label: the intercept, and the weights of all features.

    For a label of yes or no the sum is the log-odds of yes. For a number it is the prediction.
    """

    mechanism: Annotated[str, says("``rotated-axes``: weights of scaled features; ``crosses``: weights of cells.")]
    norm: Annotated[
        float | None, says("of scaled features, the length to which longer ones are shortened. None for crosses.")
    ]
    penalty: Annotated[
        float | None, says("lambda of the ridge regression, from the noise that is known. None for crosses.")
    ]
    intercept: Annotated[float, says("of the sum; 0 without reports.")]
    inputs: Annotated[tuple[ModelInput, ...], says("the features, in the registry's order.")]
    auc: Annotated[
        Estimate | None,
        says(
            "of yes and no, how often the model ranks a yes above a no, if scores are normal. None "
            "where it cannot be known: for a number, and for crosses, which do not tell how "
            "features go together."
        ),
    ] = None
    correlation: Annotated[Estimate | None, says("of the prediction and the label. None for crosses.")] = None


MODEL_SCHEMA: Final = 1
"""Of the file of a model."""


class ModelFile(Record, frozen=True, kw_only=True):
    """A model as a file that an app ships."""

    schema: Annotated[int, says("of this file.")]
    model: Annotated[str, says("the name of the metric.")]
    edition: Annotated[str, says("of the question, as hexadecimal digits.")]
    window: Annotated[str, says("of the reports.")]
    reports: Annotated[int, says("how many it was learned from.")]
    label: Annotated[dict[str, str], says("its kind: ``boolean``, or ``number`` with its ends ``low`` and ``high``.")]
    learned: Annotated[LearnedModel, says("what is needed to predict.")]
