"""Reads a model that ships with an app, and predicts with the model on the device.

The device encodes and scales features exactly like the estimator. Nothing is recorded or sent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Final

from client_sdk.protocol.errors import DomainError, HearsayError, OutsideDomainError
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.grid import exact
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.crosses import BINS, FEW_BINS
from client_sdk.protocol.model import ModelFeature
from client_sdk.protocol.vector import UNIT

SCHEMA: Final = 1
"""The version of the format of a model's file. docs/reference/reports.md describes the format."""

LABELS: Final = {"boolean": True, "number": False}
"""Maps each kind of label to whether such a label is a yes-or-no answer. The *label* is the value
that a model predicts."""


class ShippedModelError(HearsayError):
    """The model file cannot be used. The message contains the reason and advice."""


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """The data that an app needs to predict: the intercept, and each feature's weights.

    Attributes:
        name: the name of the metric whose reports trained the model.
        intercept: the constant term of the weighted sum.
        norm: the maximum norm of the vector of scaled features. Longer vectors are shortened to
            this norm. It is None if the values of each feature are grouped into ranges or
            categories, called *cells*.
        features: the features, in the registry's order.
        weights: for each feature, one weight per coordinate of the scaled feature or, if ``norm``
            is None, one weight per cell.
        is_of_yes_and_no: whether the label, which the model predicts, is a yes-or-no answer. If so,
            the weighted sum is the log-odds of "yes". Otherwise, the sum is the predicted number.
    """

    name: str
    intercept: float
    norm: float | None
    features: tuple[ModelFeature, ...]
    weights: tuple[tuple[float, ...], ...]
    is_of_yes_and_no: bool

    @classmethod
    def read(cls, path: str | Path) -> ShippedModel:
        """Read the file that ``hearsay-estimator report --format model`` wrote.

        Raises:
            ShippedModelError: if the file cannot be read or is not a model.
        """
        try:
            return cls.from_document(json.loads(Path(path).read_bytes(), parse_float=Decimal))
        except OSError as error:
            raise ShippedModelError(f"{path} cannot be read: {error.strerror}; ship the file with the app") from error
        except (ValueError, RecursionError):
            raise ShippedModelError(
                f"{path} is not JSON; write it with hearsay-estimator report --format model"
            ) from None

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ShippedModel:
        """Return the model in a JSON document."""
        try:
            if document["schema"] != SCHEMA:
                raise ShippedModelError(
                    f"the model must have schema {SCHEMA}; write the file with this version of hearsay-estimator"
                )
            learned = document["learned"]
            features = tuple(map(_feature, learned["inputs"]))
            norm = None if learned["norm"] is None else float(learned["norm"])
            weights = tuple(tuple(map(float, each["weights"])) for each in learned["inputs"])
            model = cls(
                str(document["model"]),
                float(learned["intercept"]),
                norm,
                features,
                weights,
                LABELS[document["label"]["kind"]],
            )
        except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError, DomainError):
            raise ShippedModelError(
                "the file is not a model; write it with hearsay-estimator report --format model"
            ) from None
        if norm is not None and norm <= 0:
            raise ShippedModelError("the model's norm must be above 0; use the file that hearsay-estimator wrote")
        numbers = (model.intercept, 1.0 if norm is None else norm, *chain.from_iterable(weights))
        if not all(map(math.isfinite, numbers)):
            raise ShippedModelError(
                "the model contains a number that is not finite; write it with hearsay-estimator report --format model"
            )
        lengths = [each.cells if norm is None else len(each.coordinates) for each in features]
        bins = {each.bins for each in features if norm is None and isinstance(each.kind, Number)}
        if not features or list(map(len, weights)) != lengths or not bins <= {FEW_BINS, BINS}:
            raise ShippedModelError("the model lacks weights; write it with hearsay-estimator report --format model")
        return model

    def score(self, features: Mapping[str, object]) -> float:
        """Return the log-odds of "yes" or, if the label is a number, the predicted number.

        Args:
            features: a mapping from feature name to value, as in an answer to the metric. Other
                keys, such as the label, are ignored.

        Raises:
            OutsideDomainError: if a feature is missing or is outside its domain. The error contains
                no value.
        """
        try:
            places = [each.place(features[each.name]) for each in self.features]
        except KeyError:
            raise OutsideDomainError(
                self.name, f"a value for each of {', '.join(each.name for each in self.features)}"
            ) from None
        except DomainError as error:
            raise OutsideDomainError(self.name, str(error)) from None
        of_features = list(zip(self.features, self.weights, places, strict=True))
        if self.norm is None:
            return self.intercept + sum(weights[feature.cell(place)] for feature, weights, place in of_features)
        scaled = [value / UNIT for feature, _, place in of_features for value in feature.scaled(place)]
        flat = [weight for weights in self.weights for weight in weights]
        too_long = max(1.0, math.hypot(*scaled) / self.norm)
        return self.intercept + sum(weight * value for weight, value in zip(flat, scaled, strict=True)) / too_long

    def probability(self, features: Mapping[str, object]) -> float:
        """Return the probability of "yes", from 0 to 1.

        Args:
            features: the same as for `score`.

        Raises:
            OutsideDomainError: for the same reasons as `score`.
            ShippedModelError: if the label is a number.

        """
        if not self.is_of_yes_and_no:
            raise ShippedModelError(f"{self.name} predicts a number, which has no probability; use its score")
        return (1 + math.tanh(self.score(features) / 2)) / 2


def _feature(listed: Mapping[str, Any]) -> ModelFeature:
    if "values" in listed:
        values = tuple(map(str, listed["values"]))
        if not 1 < len(values) == len(set(values)):
            raise ValueError
        return ModelFeature(str(listed["name"]), Category(values))
    low, high = exact(listed["low"]), exact(listed["high"])
    if low >= high:
        raise ValueError
    return ModelFeature(str(listed["name"]), Number(low, high, "mean"), bins=len(listed["weights"]))
