"""A linear model learned from mean products, with a penalty computed from the known noise.

Each device has a label y and d features z, scaled to -1..1, and reports a vector of their products.
The mean vector consists of four moments: E[y z], E[z z'], E[z] and E[y]. The moments yield the
covariances for a ridge regression.

The noise in the features' covariance matrix is a symmetric random matrix of known variance. The
largest eigenvalue of this noise is about two standard errors times the square root of d (Wigner
1955). The penalty is a multiple of this eigenvalue. The penalty thus depends only on the channel
and the number of reports, but not on the answers. The coefficients therefore estimate a fixed
property of the population.

Cross-validation measures the quality of a model. With the mechanism `rotated-axes`, each device
uses one of many public random rotations. The folds of the cross-validation are blocks of these
rotations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.model import Model, ModelFeature, weights
from client_sdk.protocol.vector import UNIT
from estimator.analyses.models.skill import Skill, Skilled
from estimator.analyses.vectors import VectorMean
from estimator.results.estimate import Figures
from estimator.results.metric import LearnedModel, ModelInput
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import student_of

EDGES: Final = 2.0
"""The penalty, as a multiple of the largest eigenvalue of the noise.

With half of this penalty, the intervals of coefficients contained the true value too rarely; see
docs/research/models.md.
"""

FOLDS: Final = 32
"""The number of folds of cross-validation."""

MOST_MEAN: Final = 0.98
"""The maximum absolute mean label, if "yes" is 1 and "no" is -1. Larger estimates are clipped."""

LEAST_SPREAD: Final = 1e-9
"""The minimum variance of the model's scores. Noise can make the estimated variance negative."""

MOST_STEPS: Final = 1000.0
"""The largest coefficient, as a multiple of half the label's range.

An unbounded interval ends at plus or minus this number.
"""


class Moments(NamedTuple):
    """The four parts of the mean vector, or of each block's deviation from this mean.

    Attributes:
        products: E[y z], shape (..., d).
        squares: E[z z'], shape (..., d, d).
        features: E[z], shape (..., d).
        label: E[y], shape (...).

    """

    products: Floats
    squares: Floats
    features: Floats
    label: Floats

    @classmethod
    def from_vectors(cls, vectors: Floats, inputs: int) -> Moments:
        """Split vectors of shape (..., length) into four parts, and divide each part by its weight.

        Devices multiply the parts by these weights (`client_sdk.protocol.model.weights`).
        """
        of_label, of_square, of_pair, of_feature, of_itself = (each / UNIT for each in weights())
        ends = np.cumsum([inputs, inputs * (inputs + 1) // 2, inputs])
        products, upper, features, label = np.split(vectors, ends, axis=-1)
        rows, columns = np.triu_indices(inputs)
        squares = np.zeros((*vectors.shape[:-1], inputs, inputs))
        squares[..., rows, columns] = upper / np.where(rows == columns, of_square, of_pair)
        squares[..., columns, rows] = squares[..., rows, columns]
        return cls(products / of_label, squares, features / of_feature, label[..., 0] / of_itself)


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """The covariances for fitting a linear model.

    Attributes:
        with_label: the covariance of each feature with the label, shape (..., d).
        features: the covariance matrix of the features, shape (..., d, d).
    """

    with_label: Floats
    features: Floats

    @classmethod
    def from_moments(cls, moments: Moments) -> Covariances:
        """Return the covariances of one tally."""
        mean = moments.features
        return cls(moments.products - mean * moments.label, moments.squares - np.outer(mean, mean))

    @classmethod
    def from_deviations(cls, deviations: Moments, moments: Moments) -> Covariances:
        """Return, to first order, how much each block of rotations changes the covariances.

        Arrays have the additional first dimension (blocks,).
        """
        mean = moments.features
        crossed = deviations.features[:, :, np.newaxis] * mean
        return cls(
            deviations.products - deviations.features * moments.label - mean * deviations.label[:, np.newaxis],
            deviations.squares - crossed - crossed.swapaxes(1, 2),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """A ridge regression of the label on the features.

    Attributes:
        penalty: lambda, which is added to the eigenvalues of the features' covariance.
        coefficients: the coefficient of each scaled feature, shape (d,).
        inverse: the inverse of the features' covariance matrix plus the penalty, shape (d, d).
    """

    penalty: float
    coefficients: Floats
    inverse: Floats

    @classmethod
    def from_covariances(cls, covariances: Covariances, noise: float) -> Ridge:
        """Fit the coefficients, and subtract the bias caused by noise in the features' covariance.

        The second-order bias follows from this identity. Let N be a symmetric matrix of independent
        normal entries, with variance s**2 off the diagonal and 2 s**2 on the diagonal. Then, for
        every symmetric M, the expectation of N M N is s**2 (M + trace(M) I).

        Args:
            covariances: the covariances of the features, and of the features with the label.
            noise: s, the standard error of an off-diagonal entry of the features' covariance
                matrix.
        """
        inputs = len(covariances.with_label)
        penalty = EDGES * 2 * noise * math.sqrt(inputs)
        sizes, directions = np.linalg.eigh(covariances.features)
        inverse = (directions / (np.maximum(sizes, -penalty / 2) + penalty)) @ directions.T
        plain = inverse @ covariances.with_label
        bias = noise**2 * inverse @ (inverse @ plain + np.trace(inverse) * plain)
        return cls(penalty, plain - bias, inverse)


@dataclass(frozen=True, slots=True, eq=False)
class ProductsModel:
    """A linear model learned from one tally, with intervals for its coefficients.

    Attributes:
        kind: the kind of the metric.
        moments: the moments of the tally.
        deviations: how much each block of rotations changes the moments.
        noise: the standard error of a coordinate of the vector.
    """

    kind: Model
    moments: Moments
    deviations: Moments
    noise: float

    @classmethod
    def from_mean(cls, kind: Model, mean: VectorMean) -> ProductsModel:
        """Return the model for the mean of a tally's vectors."""
        inputs = len(kind.observation.coordinates)
        return cls(
            kind,
            Moments.from_vectors(mean.coordinates, inputs),
            Moments.from_vectors(mean.deviations, inputs),
            mean.noise,
        )

    def ridge(self) -> Ridge:
        """Return the ridge regression fitted to all reports."""
        return Ridge.from_covariances(Covariances.from_moments(self.moments), self.pair_noise)

    def coefficients(self, family: int = 1) -> Figures:
        """Return, for each feature, the change of the expected label if the feature rises by 1.

        Features are scaled to -1..1, so a rise by 1 is half of the range. The unit is the label's
        unit. For a boolean label, the change is in the share of "yes".
        """
        ridge, deviating = self.ridge(), Covariances.from_deviations(self.deviations, self.moments)
        influence = (deviating.with_label - deviating.features @ ridge.coefficients) @ ridge.inverse
        blocks = len(influence)
        least = self.noise * UNIT / weights()[0] * np.linalg.norm(ridge.inverse, axis=1)
        errors = np.sqrt(np.maximum((influence**2).sum(axis=0) * blocks / (blocks - 1), least**2))
        unit = label_step(self.kind) / self.norm
        estimates, errors = unit * ridge.coefficients, unit * errors
        reach, most = student_of(family, blocks - 1) * errors, MOST_STEPS * label_step(self.kind)
        lows, highs = (np.clip(estimates + side * reach, -most, most) for side in (-1, 1))
        names = self.kind.observation.coordinates
        return Figures(names, lows, highs, estimates, errors)

    def learned(self) -> LearnedModel:
        """Return the learned model: its weights and, for a boolean label, its quality."""
        ridge = self.ridge()
        label, per_unit = self.kind.observation.label, ridge.coefficients / self.norm
        if isinstance(label, Boolean):
            skill = self.skill()
            slope, intercept = skill.log_odds
            auc, correlation = skill.auc, skill.correlation
        else:
            slope, auc, correlation = label_step(self.kind), None, None
            intercept = float(label.low) + slope * (1 + float(self.moments.label - self._score_mean(ridge)))
        parts = np.split(slope * per_unit, np.cumsum([len(each.coordinates) for each in self._features])[:-1])
        return LearnedModel(
            mechanism=RotatedAxes.name,
            norm=self.norm,
            penalty=ridge.penalty,
            intercept=intercept,
            inputs=tuple(input_of(*each) for each in zip(self._features, parts, strict=True)),
            auc=auc,
            correlation=correlation,
        )

    def skill(self) -> Skill:
        """Return how well the model's scores predict the label, measured by cross-validation."""
        whole, deviating = (
            Covariances.from_moments(self.moments),
            Covariances.from_deviations(self.deviations, self.moments),
        )
        folds = np.arange(len(self.deviations.label)) % FOLDS
        of_folds = [self._of_fold(whole, deviating, folds == fold) for fold in range(FOLDS)]
        along, spread, label = np.array(of_folds).T
        return Skill(
            label=float(np.clip(self.moments.label, -MOST_MEAN, MOST_MEAN)),
            mean=self._score_mean(self.ridge()),
            along=float(along.mean()),
            spread=max(float(spread.mean()), LEAST_SPREAD),
            deviations_along=along - along.mean(),
            deviations_spread=spread - spread.mean(),
            deviations_label=label,
        )

    def _of_fold(self, whole: Covariances, deviating: Covariances, is_out: Counts) -> Skilled:
        """Return how well a score, fitted to all other folds, predicts the label in one fold."""
        with_label, features = deviating.with_label[is_out].sum(axis=0), deviating.features[is_out].sum(axis=0)
        kept = FOLDS / (FOLDS - 1)
        others = Covariances(whole.with_label - kept * with_label, whole.features - kept * features)
        score = Ridge.from_covariances(others, self.pair_noise * math.sqrt(kept)).coefficients
        along, spread = whole.with_label + FOLDS * with_label, whole.features + FOLDS * features
        label = FOLDS * self.deviations.label[is_out].sum()
        return Skilled(float(score @ along), float(score @ spread @ score), float(label))

    @property
    def norm(self) -> float:
        """The maximum length of the vector of scaled features. A device shortens longer vectors."""
        return self.kind.radius / UNIT

    @property
    def _features(self) -> tuple[ModelFeature, ...]:
        return self.kind.observation.features

    @property
    def pair_noise(self) -> float:
        """The standard error of the mean product of two different features."""
        return self.noise * UNIT / weights()[2]

    def _score_mean(self, ridge: Ridge) -> float:
        return float(ridge.coefficients @ self.moments.features)


def label_step(domain: Model) -> float:
    """Return half of the label's range."""
    label = domain.observation.label
    return 0.5 if isinstance(label, Boolean) else float(label.high - label.low) / 2


def input_of(feature: ModelFeature, its_weights: Floats) -> ModelInput:
    """Return a feature with its weights, as an input of a reported model."""
    own = tuple(its_weights.tolist())
    if isinstance(feature.kind, Category):
        return ModelInput(name=feature.name, values=feature.kind.values, weights=own)
    return ModelInput(name=feature.name, low=float(feature.kind.low), high=float(feature.kind.high), weights=own)
