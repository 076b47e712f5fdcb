"""Predictions by a learned model for many devices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.results.metric import LearnedModel, ModelInput
from estimator.statistics.arrays import Counts, Floats

Column = Sequence[float] | Sequence[str]
"""The values of one feature, one for each device."""


def predict(model: LearnedModel, columns: Sequence[Column]) -> Floats:
    """Return the model's prediction for each device, shape (devices,).

    For a yes-or-no label, the prediction is the log-odds of "yes". For a numeric label, the
    prediction is the expected number.

    Args:
        model: the learned model from a report.
        columns: the values of each feature on all devices, in the model's order of features.

    Raises:
        ValueError: if a value is not possible for its feature. The message does not contain the
            value.
    """
    of_inputs = list(zip(model.inputs, columns, strict=True))
    if model.norm is None:
        parts = [np.array(each.weights)[cells(each, column)] for each, column in of_inputs]
        log_odds: Floats = model.intercept + np.sum(parts, axis=0)
        return log_odds
    scaled = np.column_stack([coordinates(each, column) for each, column in of_inputs])
    too_long = np.maximum(np.linalg.norm(scaled, axis=1) / model.norm, 1.0)
    weights = np.concatenate([each.weights for each in model.inputs])
    scores: Floats = model.intercept + (scaled @ weights) / too_long
    return scores


def coordinates(feature: ModelInput, column: Column) -> Floats:
    """Return the numbers by which a feature's weights are multiplied, shape (devices, weights).

    * A number is scaled to -1..1.
    * If a feature has two values, they become -1 and 1.
    * With more than two values, each value except the first has a coordinate. The coordinate is 1
      for devices with this value and 0 for all other devices.
    """
    scaled: Floats
    if not feature.values:
        scaled = 2 * positions(feature, column)[:, np.newaxis] - 1
    elif len(feature.values) == 2:  # noqa: PLR2004 two values
        scaled = (2 * cells(feature, column)[:, np.newaxis] - 1).astype(np.float64)
    else:
        scaled = (cells(feature, column)[:, np.newaxis] == np.arange(1, len(feature.values))).astype(np.float64)
    return scaled


def cells(feature: ModelInput, column: Column) -> Counts:
    """Return the index of each device's cell of a feature, shape (devices,).

    A cell is a value of a category, or one of the equal parts of a number's range.
    """
    if not feature.values:
        bins = len(feature.weights)
        return np.minimum((positions(feature, column) * bins).astype(np.int64), bins - 1)
    index = {value: place for place, value in enumerate(feature.values)}
    if not index.keys() >= set(map(str, column)):
        raise ValueError(f"{feature.name} must be one of: {', '.join(feature.values)}")
    return np.array([index[str(value)] for value in column], dtype=np.int64)


def positions(feature: ModelInput, column: Column) -> Floats:
    """Return the position of each device's number in the feature's range, shape (devices,).

    The low end of the range is 0, and the high end is 1. Numbers outside the range count as the
    nearer end.
    """
    low, high, numbers = feature.low or 0.0, feature.high or 0.0, np.array(column, dtype=np.float64)
    if np.isnan(numbers).any():
        raise ValueError(f"{feature.name} must be a number on each row; leave out rows that have none")
    places: Floats = np.clip((numbers - low) / (high - low), 0, 1)
    return places
