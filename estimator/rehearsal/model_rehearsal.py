"""How well a model would predict, before anything ships: learned from people, tried on others.

A row of the table is a person. Some rows are held back, in each round others; devices are drawn
from the rest with replacement. So what is measured is the noise of privacy, and not the value of
more people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from client_sdk.protocol.kinds.kind import NO_COINS
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.model import LABEL
from client_sdk.protocol.window import Window
from estimator.analyses.metric import analysis_of
from estimator.analyses.models.prediction import predict
from estimator.results.record import Record, says
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies.tally import Tally

HELD_BACK: Final = 4
"""One person in this many is not learned from."""

FEWEST_HELD_BACK: Final = 2
"""Persons, if there are more: one with yes, and one with no."""

UNIX_EPOCH_S: Final = 0.0
"""A tally must have a window, and a rehearsal has none."""


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """True answers to a model with a label of yes or no, of two persons or more with each label.

    Attributes:
        answers: as an app would record them.
        groups: which rows are of one person, and held back together, shape (rows,).

    """

    answers: Sequence[dict[str, object]]
    groups: Counts

    @property
    def labels(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether the label is yes, shape (rows,)."""
        return np.array([answer[LABEL] is True for answer in self.answers])

    def held_back(self, generator: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which rows are not learned from, shape (rows,).

        Persons are drawn anew until both sides have both labels: without a yes and a no there is no
        AUC.
        """
        labels, persons = self.labels, np.unique(self.groups)
        number = min(max(FEWEST_HELD_BACK, len(persons) // HELD_BACK), len(persons) - 1)
        while True:
            held = np.isin(self.groups, generator.permutation(persons)[:number])
            if all(labels[side].any() and not labels[side].all() for side in (held, ~held)):
                return held

    def columns(self, names: Sequence[str], rows: Counts) -> list[list[object]]:
        """Return the values of features on some rows."""
        return [[self.answers[row][name] for row in rows] for name in names]


@dataclass(frozen=True, slots=True)
class ModelRehearsal:
    """How well models predict people that they were not learned from.

    Attributes:
        devices: how many reported.
        aucs: of each round.

    """

    devices: int
    aucs: tuple[float, ...]

    @property
    def auc(self) -> float:
        """The mean AUC over the rounds."""
        return float(np.mean(self.aucs))

    @property
    def spread(self) -> float:
        """The standard deviation of the AUC over the rounds."""
        return float(np.std(self.aucs))


class TriedModel(Record, frozen=True):
    """How well the models of one epsilon and number of devices predict."""

    epsilon: Annotated[float, says("of one report.")]
    devices: Annotated[int, says("how many report: of a search, the fewest that lose no more AUC than is allowed.")]
    auc: Annotated[float | None, says("the mean over the rounds. None if even so many devices lose more.")]
    spread: Annotated[float | None, says("its standard deviation over the rounds.")]
    loss: Annotated[float | None, says("of a search, how much AUC privacy costs, over the rounds.")] = None
    loss_error: Annotated[float | None, says("the standard error of that.")] = None


class RehearsedModel(Record, frozen=True, kw_only=True):
    """How well the models of a metric predict people that they were not learned from."""

    metric: Annotated[str, says("its name.")]
    mechanism: Annotated[str, says("its name.")]
    rounds: Annotated[int, says("how often people were held back, and devices drawn, anew.")]
    rows: Annotated[int, says("how many true answers there are.")]
    seed: Annotated[int, says("of all randomness.")]
    auc_without_privacy: Annotated[float, says("the mean over the rounds.")]
    most_loss: Annotated[float | None, says("how much AUC may be lost. None without a search.")] = None
    tried: Annotated[tuple[TriedModel, ...], says("by epsilon, then by devices.")]


def rehearse_model(metric: Metric, people: People, devices: int, rounds: int, seed: int) -> ModelRehearsal:
    """Return how well the model of a metric predicts, learned from a number of devices.

    Args:
        metric: a model with a label of yes or no.
        people: true answers; none is held back in every round.
        devices: how many report.
        rounds: how often people are held back, and devices drawn, anew; at least 1.
        seed: of all randomness.

    """
    encoded = np.array([metric.encode(answer, NO_COINS) for answer in people.answers])
    generators = (np.random.default_rng([seed, number]) for number in range(rounds))
    return ModelRehearsal(devices, tuple(_round(metric, people, encoded, devices, each) for each in generators))


def _round(metric: Metric, people: People, encoded: Counts, devices: int, generator: np.random.Generator) -> float:
    held = people.held_back(generator)
    kept, tried = np.flatnonzero(~held), np.flatnonzero(held)
    counts = generator.multinomial(devices, np.full(len(kept), 1 / len(kept)))
    _, model = analysis_of(metric).learn(drawn_tally(metric, encoded[kept], counts, generator))
    if model is None:
        return 0.5
    names = [each.name for each in model.inputs]
    scores = predict(model, people.columns(names, tried))  # type: ignore[arg-type] # the domain has taken them
    return auc_of(scores, people.labels[tried])


def drawn_tally(metric: Metric, encoded: Counts, counts: Counts, generator: np.random.Generator) -> Tally:
    """Return a tally of devices by the exact law of a model's mechanism.

    Args:
        metric: of kind model.
        encoded: what the domain makes of each row, shape (rows, inputs).
        counts: how many devices have each row, shape (rows,).
        generator: of the chances.

    """
    window = Window.of(metric.window, UNIX_EPOCH_S)
    draw = analysis_of(metric).draws([((tuple(row), 1.0),) for row in encoded.tolist()])
    tally = draw(counts, window, generator)
    return Tally(metric.name, metric.edition, window, closed=True, reports=int(tally.sum()), counts=tally.tolist())


def auc_of(scores: Floats, labels: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Return how often a yes has a higher score than a no; equal scores count half.

    Both must occur.
    """
    yes, no = np.sort(scores[labels]), np.sort(scores[~labels])
    below = np.searchsorted(no, yes, side="left") + np.searchsorted(no, yes, side="right")
    return float(below.sum() / (2 * yes.size * no.size))


def auc_without_privacy(people: People, metric: Metric, rounds: int, seed: int) -> float:
    """Return the mean AUC of a linear regression on the true answers of people not held back."""
    return float(np.mean(aucs_without_privacy(people, metric, rounds, seed)))


def aucs_without_privacy(people: People, metric: Metric, rounds: int, seed: int) -> tuple[float, ...]:
    """Return the AUC of each round, which holds back the same people as in `rehearse_model`."""
    vectors = np.array([_features(metric, answer) for answer in people.answers])
    labels, aucs = people.labels, []
    for number in range(rounds):
        held = people.held_back(np.random.default_rng([seed, number]))
        rows = np.column_stack([vectors, np.ones(len(vectors))])
        fitted, *_ = np.linalg.lstsq(rows[~held], np.where(labels[~held], 1.0, -1.0), rcond=None)
        aucs.append(auc_of(rows[held] @ fitted, labels[held]))
    return tuple(aucs)


def _features(metric: Metric, answer: dict[str, object]) -> list[float]:
    observation = analysis_of(metric).observation
    assert observation is not None  # noqa: S101 whoever asks knows the kind
    places, _ = observation.read(answer)
    features = zip(observation.features, places, strict=True)
    return [float(each) for feature, place in features for each in feature.scaled(place)]
