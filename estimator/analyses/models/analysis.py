"""Models that predict a label from features, learned from each tally by products or by crosses.

For a model *by products*, each device reports a vector of products of its features and its label. A
linear model is learned from the mean vector. For a model *by crosses*, each device draws one
feature, and reports its cell of this feature together with its label. A cell is a value of the
feature, or a part of the feature's range.

The following bounds limit the effect of fabricated reports on a model by products. Fabricated
reports move the mean vector by at most a length r (`Vectors.length_moved`). The mean vector has
four parts (see the module `products`), and each part is divided by its weight w:

* p: the mean products of features and label
* S: the mean products of two features
* z: the mean features
* y: the mean label

The covariances are k = p - z y and C = S - z z'. Let A be the inverse of C + lambda I. The
coefficients before a correction for bias are b = A k. The correction is s^2 M b with the noise s
and M = A^2 + tr(A) A. A star marks a quantity after the move, dk = k* - k is a difference, and D =
A* - A. There are d features, and |x| is the length of a vector or the norm of a matrix. These
bounds apply, with the Frobenius norm for dC and D::

    |dk| <= r root(1/w_p^2 + |z|^2/w_y^2 + y^2/w_z^2) + r^2 / (2 w_z w_y)
    |dC| <= r root(1/w_S^2 + 4 |z|^2/w_z^2) + r^2 / w_z^2
    |A*| <= 2 / lambda
    |A*| <= 1 / (1 / |A| - |dC|), if this is above 0
    |db| <= |A*| (|dk| + |dC| |b|)
    |D| <= |A*| |dC| |A|
    tr(D) <= root(d) |A*| |dC| |A|
    |M*| <= (1 + d) |A*|^2

The reasons:

* dk and dC: the Cauchy-Schwarz inequality. The regression also raises small eigenvalues of C. This
  projection onto a convex set increases no distance.
* A*: eigenvalues of C + lambda I are at least lambda / 2, and move by at most |dC| (Weyl 1912).
* db and D: A* - A = -A* dC A.
* The correction changes by s^2 (M* db + (M* - M) b), with M* - M = A* D + D A + tr(D) A* + tr(A) D.

For a large r, another bound is smaller, because |b*| is at most |A*| (|k| + |dk|). The coefficients
then move by at most the sum of |b*|, |b|, and the corrections of b* and of b.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, cast

import numpy as np

from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.model import CrossedModel, Model, weights
from client_sdk.protocol.vector import UNIT
from client_sdk.protocol.window import Window
from estimator.analyses.analysis import Analysis, Draws, InputLaw, K
from estimator.analyses.models.crosses import Fitted, cells_of, fakes_of_crosses, learned_crosses, log_odds
from estimator.analyses.models.products import MOST_STEPS, Covariances, Moments, ProductsModel, Ridge, label_step
from estimator.analyses.vectors import Vectors
from estimator.decoders.inversions import inverse_of, sampler_of
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import Fakes, LearnedModel, MetricEstimate, Move
from estimator.results.report import Request
from estimator.statistics.arrays import Counts
from estimator.statistics.confidence import EXACT_BELOW
from estimator.tallies import Tally


def coefficient_move(moments: Moments, ridge: Ridge, noise: float, length: float) -> float:
    """Return how far the coefficients can move if the mean of the vectors moves by ``length``.

    In the module's bounds, ``length`` is r and ``noise`` is s.
    """
    of_k, of_c = covariance_moves(moments, length)
    with_label = Covariances.from_moments(moments).with_label
    inverse, plain = ridge.inverse, ridge.inverse @ with_label
    size, inputs = float(np.linalg.norm(inverse, 2)), len(plain)
    other = 2 / ridge.penalty
    if 1 / size > of_c:
        other = min(other, 1 / (1 / size - of_c))
    own, products = float(np.linalg.norm(plain)), float(np.linalg.norm(with_label))
    of_correction = noise**2 * (1 + inputs) * other**2
    anything = own + float(np.linalg.norm(plain - ridge.coefficients)) + (1 + of_correction) * other * (products + of_k)
    of_plain, of_inverse = other * (of_k + of_c * own), other * of_c * size
    through_inverse = (other * (1 + math.sqrt(inputs)) + float(np.trace(inverse))) * own
    through_inverse += float(np.linalg.norm(inverse @ plain))
    return min(anything, (1 + of_correction) * of_plain + noise**2 * of_inverse * through_inverse)


def covariance_moves(moments: Moments, length: float) -> tuple[float, float]:
    """Return the module's bounds on |dk| and |dC| if the mean vector moves by ``length``."""
    of_label, of_square, _, of_feature, of_itself = (each / UNIT for each in weights())
    z, y = float(np.linalg.norm(moments.features)), abs(float(moments.label))
    with_label = length * math.hypot(1 / of_label, z / of_itself, y / of_feature)
    of_features = length * math.hypot(1 / of_square, 2 * z / of_feature)
    return with_label + length**2 / (2 * of_feature * of_itself), of_features + length**2 / of_feature**2


LEAST_REPORTS: Final = EXACT_BELOW
"""The minimum number of reports to learn a model.

With fewer reports, the errors of the coefficients or log-odds are not nearly normal.
"""


class _Models(Analysis[K]):
    """The base class of models by products and by crosses.

    Attributes:
        statistic: the name of the learned statistic, such as ``coefficient``.
    """

    statistic: ClassVar[str]

    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimates of each tally."""
        for tally in tallies:
            self.check(tally)
            coefficients, learned = self.learn(tally, simultaneous=request.simultaneous)
            of_skill = None if learned is None else learned.auc
            auc = () if of_skill is None or of_skill.estimate is None else (of_skill.labeled(),)
            yield self._estimated(
                tally,
                groups=(
                    FigureGroup(self.statistic, coefficients),
                    *(FigureGroup("auc", Figures.from_rows([each]), "", SHARES) for each in auc),
                ),
                learned=learned,
                fakes=None if request.fakes is None or not tally.reports else self.fakes(tally, request.fakes),
            )

    @abstractmethod
    def fakes(self, tally: Tally, fraction: float) -> Fakes:
        """Return how far fabricated reports could have moved the estimates.

        The tally must have at least one report. ``fraction`` is the assumed fraction of fabricated
        reports.
        """


class ModelOfProducts(_Models[Model], Vectors[Model]):
    """A model by products: each device reports a vector of products of its features and label."""

    statistic = "coefficient"
    mean_name = "product mean"

    def __init__(self, metric: Metric) -> None:
        """Prepare the analysis of a model by products."""
        super().__init__(metric)
        self.observation = self.kind.observation

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:
        """Return the coefficients with their intervals, and the learned model."""
        names = self.kind.observation.coordinates
        if tally.reports < LEAST_REPORTS:
            ends = np.full(len(names), MOST_STEPS * label_step(self.kind))
            return Figures(names, -ends, ends), None
        model = ProductsModel.from_mean(self.kind, self.mean(tally))
        return model.coefficients(len(names) if simultaneous else 1), model.learned()

    def fakes(self, tally: Tally, fraction: float) -> Fakes:
        """Return how far fabricated reports could have moved the mean vector and coefficients."""
        mean = self.mean(tally)
        length, test = self.length_moved(tally, mean, fraction)
        model = ProductsModel.from_mean(self.kind, mean)
        unit = label_step(self.kind) / model.norm
        most = unit * coefficient_move(model.moments, model.ridge(), model.pair_noise, length)
        moves = (Move("product_mean", length, length), Move("coefficient", most, most))
        return Fakes(fraction=fraction, moves=moves, test=test)


class ModelOfCrosses(_Models[CrossedModel]):
    """A model by crosses: each device reports its cell of one feature together with its label."""

    statistic = "log_odds"
    mean_name = "cell share"

    def __init__(self, metric: Metric) -> None:
        """Prepare the analysis of a model by crosses."""
        super().__init__(metric)
        self.observation = self.kind.observation

    @property
    def channel(self) -> Crosses:
        """The metric's channel. Each report combines one feature with the label."""
        return cast("Crosses", self.metric.channel)

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:
        """Return the log-odds with their intervals, and the learned model."""
        features = self.kind.observation.features
        counts = tally.dense(self.channel.symbols)
        fitted = Fitted.from_cells(
            list(cells_of(features, self.channel, counts)) if tally.reports >= LEAST_REPORTS else []
        )
        family = sum(feature.cells for feature in features) if simultaneous else 1
        learned = learned_crosses(features, fitted) if fitted.of_features else None
        return log_odds(features, fitted, family), learned

    def fakes(self, tally: Tally, fraction: float) -> Fakes:
        """Return how far fabricated reports could have moved the share of any cell-label pair."""
        return fakes_of_crosses(self.channel, tally, fraction)

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest possible share of a cell, 0 and 1."""
        return SHARES

    @property
    def mean_variance(self) -> float | None:
        """The largest variance of the share of a cell-label pair, estimated from one report.

        With d features, only one in d reports is about the feature to which a given cell belongs.
        """
        of_features = (inverse_of(feature).squares(feature.inputs) for feature in self.channel.features)
        return self.channel.inputs * max(squares.worst for squares in of_features)

    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies. Each device draws one of the features uniformly."""
        encoded = np.array([law[0][0] for law in laws])
        features = [(own, sampler_of(own)) for own in self.channel.features]

        def drawn(counts: Counts, _: Window, generator: np.random.Generator) -> Counts:
            left, tallies = counts, []
            for place, (own, draw) in enumerate(features):
                chosen = generator.binomial(left, 1 / (len(features) - place))
                left = left - chosen
                cells = np.bincount(encoded[:, place], weights=chosen, minlength=own.inputs).astype(np.int64)
                tallies.append(draw(cells, generator))
            return np.concatenate(tallies)

        return drawn
