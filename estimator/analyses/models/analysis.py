"""What features predict: the model of each tally, by products or by crosses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, cast

import numpy as np

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.crosses import Crosses
from client_sdk.protocol.models.model import CrossedModel, Model
from client_sdk.protocol.window import Window
from estimator.analyses.analysis import Analysis, Draws, InputLaw, K
from estimator.analyses.models.crosses import Fitted, cells_of, fakes_of_crosses, learned_crosses, log_odds
from estimator.analyses.models.poisoning import coefficient_move
from estimator.analyses.models.products import MOST_STEPS, ProductsModel, label_step
from estimator.analyses.vectors.analysis import Vectors
from estimator.decoders.inversions import inverse_of, sampler_of
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.learned import LearnedModel
from estimator.results.metric import MetricEstimate
from estimator.results.poisoning import Fakes, Move
from estimator.results.request import Request
from estimator.statistics.arrays import Counts
from estimator.statistics.confidence import EXACT_BELOW
from estimator.tallies.tally import Tally

LEAST_REPORTS: Final = EXACT_BELOW
"""With fewer, errors are not normal, and nothing is learned."""


class _Models(Analysis[K]):
    """What both forms of a model share.

    Attributes:
        statistic: the figures of what is learned.

    """

    statistic: ClassVar[str]

    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimates of each tally."""
        for tally in tallies:
            self.check(tally)
            coefficients, learned = self.learn(tally, simultaneous=request.simultaneous)
            auc = () if learned is None or learned.auc is None else (learned.auc.labelled(),)
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
            fraction: of its reports that are made up.

        """


class ModelOfProducts(_Models[Model], Vectors[Model]):
    """A model whose features and label are one vector of products."""

    statistic = "coefficient"

    def __init__(self, metric: Metric) -> None:
        """Analyse a model by products."""
        super().__init__(metric)
        self.observation = self.kind.observation

    def learn(self, tally: Tally, *, simultaneous: bool = False) -> tuple[Figures, LearnedModel | None]:
        """Return the coefficients with their intervals, and the model."""
        names = self.kind.observation.coordinates
        if tally.reports < LEAST_REPORTS:
            ends = np.full(len(names), MOST_STEPS * label_step(self.kind))
            return Figures(names, -ends, ends), None
        model = ProductsModel.of(self.kind, self.mean(tally))
        return model.coefficients(len(names) if simultaneous else 1), model.learned()

    def fakes(self, tally: Tally, fraction: float) -> Fakes:
        """Return how far made-up reports could have moved the mean and any coefficient."""
        mean = self.mean(tally)
        length, test = self.length_moved(tally, mean, fraction)
        model = ProductsModel.of(self.kind, mean)
        unit = label_step(self.kind) / model.norm
        most = unit * coefficient_move(model.moments, model.ridge(), model.pair_noise, length)
        moves = (Move("product_mean", length, length), Move("coefficient", most, most))
        return Fakes(fraction=fraction, moves=moves, test=test)


class ModelOfCrosses(_Models[CrossedModel]):
    """A model of which a device reports the cell of one feature, with the label."""

    statistic = "log_odds"

    def __init__(self, metric: Metric) -> None:
        """Analyse a model by crosses."""
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
        fitted = Fitted.of(list(cells_of(features, self.channel, counts)) if tally.reports >= LEAST_REPORTS else [])
        family = sum(feature.cells for feature in features) if simultaneous else 1
        learned = learned_crosses(features, fitted) if fitted.of_features else None
        return log_odds(features, fitted, family), learned

    def fakes(self, tally: Tally, fraction: float) -> Fakes:
        """Return the most by which made-up reports could have moved the share of a cell."""
        return fakes_of_crosses(self.channel, tally, fraction)

    @property
    def ends(self) -> tuple[float, float]:
        """Those of a share."""
        return SHARES

    @property
    def mean_variance(self) -> float | None:
        """The worst variance of the share of a cell with a label.

        One report in ``channel.inputs`` is of its feature.
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
