"""Models of a label by features, learned from each tally by products or by crosses.

Made-up reports move the mean of the vectors of products by a length r at most
(`Vectors.length_moved`), and so the coefficients. The bounds below apply to every mean within r,
so also to that of the honest reports; the penalty lambda and the noise s are those of the tally.

* A mean of parts p, S, z and y, each divided by its weight, gives k = p - z y and C = S - z z'.
  By the inequality of Cauchy and Schwarz over the four parts of r,
  |dk| <= r root(1/w_p^2 + |z|^2/w_y^2 + y^2/w_z^2) + r^2 / (2 w_z w_y) and, in Frobenius' norm,
  |dC| <= r root(1/w_S^2 + 4 |z|^2/w_z^2) + r^2/w_z^2. Raising small eigenvalues is a projection
  onto a convex set, which lengthens no distance.
* With A the inverse of the penalized covariance, A* that of the other mean, and b = A k:
  A* - A = -A* dC A, so that |db| <= |A*| (|dk| + |dC| |b|). Raised eigenvalues are at least
  lambda / 2, and move by |dC| at most (Weyl 1912): |A*| <= 2 / lambda, and
  |A*| <= 1 / (1 / |A| - |dC|) if that is above 0.
* The correction for the bias is s^2 M b with M = A^2 + tr(A) A. Its change is
  s^2 (M* db + (M* - M) b), where |M*| <= (1 + d) |A*|^2, and
  M* - M = A* D + D A + tr(D) A* + tr(A) D for D = A* - A, whose Frobenius norm is at most
  |A*| |dC| |A|, and whose trace at most root(d) times that.
* Whatever the mean, b* is |A*| (|k| + |dk|) at most. The distance between the coefficients is
  therefore at most that bound and its correction, plus those of the tally.
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
    """Return the maximum distance of the coefficients from those of any mean within a length.

    Args:
        moments: the moments of the tally.
        ridge: the regression fitted to them.
        noise: s, with which it was fitted.
        length: r, of the vectors with their weights.

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
    """Return |dk| and |dC|: the maximum move of covariances as the mean moves by a length."""
    of_label, of_square, _, of_feature, of_itself = (each / UNIT for each in weights())
    z, y = float(np.linalg.norm(moments.features)), abs(float(moments.label))
    with_label = length * math.hypot(1 / of_label, z / of_itself, y / of_feature)
    of_features = length * math.hypot(1 / of_square, 2 * z / of_feature)
    return with_label + length**2 / (2 * of_feature * of_itself), of_features + length**2 / of_feature**2


LEAST_REPORTS: Final = EXACT_BELOW
"""With fewer reports, errors are not normal, and no model is learned."""


class _Models(Analysis[K]):
    """The common part of both forms of a model.

    Attributes:
        statistic: the name of the learned figures.

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
        """Return how far made-up reports could have moved the mean and coefficients, or a share.

        Args:
            tally: with at least one report.
            fraction: the fraction of its reports that are made up.

        """


class ModelOfProducts(_Models[Model], Vectors[Model]):
    """A model whose features and label are one vector of products."""

    statistic = "coefficient"
    mean_name = "product mean"

    def __init__(self, metric: Metric) -> None:
        """Analyze a model by products."""
        super().__init__(metric)
        self.observation = self.kind.observation

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:
        """Return the coefficients with their intervals, and the model."""
        names = self.kind.observation.coordinates
        if tally.reports < LEAST_REPORTS:
            ends = np.full(len(names), MOST_STEPS * label_step(self.kind))
            return Figures(names, -ends, ends), None
        model = ProductsModel.from_mean(self.kind, self.mean(tally))
        return model.coefficients(len(names) if simultaneous else 1), model.learned()

    def fakes(self, tally: Tally, fraction: float) -> Fakes:
        """Return how far made-up reports could have moved the mean and any coefficient."""
        mean = self.mean(tally)
        length, test = self.length_moved(tally, mean, fraction)
        model = ProductsModel.from_mean(self.kind, mean)
        unit = label_step(self.kind) / model.norm
        most = unit * coefficient_move(model.moments, model.ridge(), model.pair_noise, length)
        moves = (Move("product_mean", length, length), Move("coefficient", most, most))
        return Fakes(fraction=fraction, moves=moves, test=test)


class ModelOfCrosses(_Models[CrossedModel]):
    """A model for which a device reports the cell of one feature, with the label."""

    statistic = "log_odds"
    mean_name = "cell share"

    def __init__(self, metric: Metric) -> None:
        """Analyze a model by crosses."""
        super().__init__(metric)
        self.observation = self.kind.observation

    @property
    def channel(self) -> Crosses:
        """The only channel of crosses."""
        return cast("Crosses", self.metric.channel)

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:
        """Return the log-odds with their intervals, and the model."""
        features = self.kind.observation.features
        counts = tally.dense(self.channel.symbols)
        fitted = Fitted.from_cells(
            list(cells_of(features, self.channel, counts)) if tally.reports >= LEAST_REPORTS else []
        )
        family = sum(feature.cells for feature in features) if simultaneous else 1
        learned = learned_crosses(features, fitted) if fitted.of_features else None
        return log_odds(features, fitted, family), learned

    def fakes(self, tally: Tally, fraction: float) -> Fakes:
        """Return the most by which made-up reports could have moved the share of a cell."""
        return fakes_of_crosses(self.channel, tally, fraction)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of a share."""
        return SHARES

    @property
    def mean_variance(self) -> float | None:
        """The worst variance of the share of a cell with a label.

        One report in ``channel.inputs`` is about its feature.
        """
        of_features = (inverse_of(feature).squares(feature.inputs) for feature in self.channel.features)
        return self.channel.inputs * max(squares.worst for squares in of_features)

    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies: each device draws a feature, evenly."""
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
