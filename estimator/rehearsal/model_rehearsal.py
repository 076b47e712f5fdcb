"""The expected quality of a model, measured on people who were not used for training.

The AUC (area under the ROC curve) measures the quality. The AUC is the probability that the model
gives a higher score to a random person with the label "yes" than to a random person with the label
"no". A model that predicts nothing has an AUC of 0.5, and a perfect model has an AUC of 1.

A table contains the true answers of some people. The table has one column per feature, and one
column, named after the metric, for the label. Each row is a different person, unless a column
``person`` identifies the people.

Each round of a rehearsal holds back different people for the test. The round draws the answers of
devices, with replacement, from the rows of all other people. With more devices, the noise is
smaller, but the answers come from the same people. A rehearsal therefore measures the effect of
noise, but not the benefit of data from more people.

`devices_for` finds the smallest number of devices at which privacy lowers the AUC by an acceptable
amount.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.boolean import TRUTH_VALUES
from client_sdk.protocol.kinds.kind import NO_COINS, Kind
from client_sdk.protocol.kinds.number import decimal_in
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.model import LABEL
from client_sdk.protocol.window import Window
from estimator.analyses.metric import analysis_of
from estimator.analyses.models.prediction import predict
from estimator.errors import AnswersError
from estimator.results.estimate import Record, says
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally

HELD_BACK: Final = 4
"""Each round holds back one of every `HELD_BACK` people for the test."""

FEWEST_HELD_BACK: Final = 2
"""The minimum number of people held back for the test, because both labels must occur."""

UNIX_EPOCH_S: Final = 0.0
"""An arbitrary Unix time that determines the window of a tally.

A rehearsal itself has no windows.
"""


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """True answers for a model with a yes/no label. Each label must occur for at least two people.

    ``groups`` contains, for each row, the index of the person, shape (rows,). All rows of a person
    are held back together.
    """

    answers: Sequence[dict[str, object]]
    groups: Counts

    @property
    def labels(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether the label of each row is "yes", shape (rows,)."""
        return np.array([answer[LABEL] is True for answer in self.answers])

    def held_back(self, generator: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return whether each row is held back from training, shape (rows,).

        The AUC is defined only if both labels occur. People are therefore redrawn until both labels
        occur among the people held back and among all others.
        """
        labels, persons = self.labels, np.unique(self.groups)
        number = min(max(FEWEST_HELD_BACK, len(persons) // HELD_BACK), len(persons) - 1)
        while True:
            held = np.isin(self.groups, generator.permutation(persons)[:number])
            if all(labels[side].any() and not labels[side].all() for side in (held, ~held)):
                return held

    def columns(self, names: Sequence[str], rows: Counts) -> list[list[object]]:
        """Return the values of each feature in the given rows."""
        return [[self.answers[row][name] for row in rows] for name in names]


@dataclass(frozen=True, slots=True)
class ModelRehearsal:
    """The number of devices in each round, and the AUC of each round's model."""

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
    """The quality of models trained with a given epsilon and number of devices."""

    epsilon: Annotated[float, says("the epsilon of one report.")]
    devices: Annotated[
        int,
        says(
            "the number of reporting devices. In a search, the smallest number tried that was enough, or the "
            "maximum if none was."
        ),
    ]
    auc: Annotated[
        float | None,
        says("the mean AUC over the rounds. None in a search if even this number was not enough."),
    ]
    spread: Annotated[float | None, says("the standard deviation of the AUC over the rounds.")]
    loss: Annotated[
        float | None, says("the mean loss of AUC due to privacy over the rounds. None without a successful search.")
    ] = None
    loss_error: Annotated[
        float | None, says("the standard error of the mean loss. None without a successful search.")
    ] = None


class RehearsedModel(Record, frozen=True, kw_only=True):
    """The quality of a metric's models, for each tried epsilon and number of devices."""

    metric: Annotated[str, says("the name of the metric.")]
    mechanism: Annotated[str, says("the name of the mechanism.")]
    rounds: Annotated[
        int, says("the number of rounds. Each round holds back other people for the test, and draws new devices.")
    ]
    rows: Annotated[int, says("the number of rows with true answers.")]
    seed: Annotated[int, says("the seed of all randomness.")]
    auc_without_privacy: Annotated[float, says("the mean AUC over the rounds without privacy.")]
    most_loss: Annotated[float | None, says("the maximum allowed loss of AUC. None without a search.")] = None
    tried: Annotated[
        tuple[TriedModel, ...],
        says("the settings that were tried, sorted by epsilon and then by the number of devices."),
    ]


def rehearse_model(  # noqa: PLR0913, PLR0917 the inputs of a rehearsal
    metric: Metric,
    people: People,
    devices: int,
    rounds: int,
    seed: int,
    after_round: Callable[[int], object] = lambda _: None,
) -> ModelRehearsal:
    """Train models on randomized reports, and return how well the models predict a yes/no label.

    Each round holds back different people and redraws the devices. ``rounds`` is at least 1.
    ``after_round`` is called with the argument 1 after each round.
    """
    encoded = np.array([metric.encode(answer, NO_COINS) for answer in people.answers])
    aucs = []
    for number in range(rounds):
        aucs.append(_round(metric, people, encoded, devices, np.random.default_rng([seed, number])))
        after_round(1)
    return ModelRehearsal(devices, tuple(aucs))


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
    """Draw the tally of many devices from the exact distribution of a model's mechanism.

    ``encoded`` contains the encoded answer of each row, shape (rows, inputs). ``counts`` contains
    the number of devices with each row's answer, shape (rows,).
    """
    window = Window.at(metric.window, UNIX_EPOCH_S)
    draw = analysis_of(metric).draws([((tuple(row), 1.0),) for row in encoded.tolist()])
    tally = draw(counts, window, generator)
    return Tally(metric.name, metric.edition, window, closed=True, reports=int(tally.sum()), counts=tally.tolist())


def auc_of(scores: Floats, labels: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Return the AUC of the scores of several people.

    ``labels`` states whether each person's label is "yes". The AUC is the probability that a random
    person with the label "yes" has a higher score than a random person with the label "no". A pair
    of equal scores counts as one half. Both labels must occur.
    """
    yes, no = np.sort(scores[labels]), np.sort(scores[~labels])
    below = np.searchsorted(no, yes, side="left") + np.searchsorted(no, yes, side="right")
    return float(below.sum() / (2 * yes.size * no.size))


def auc_without_privacy(people: People, metric: Metric, rounds: int, seed: int) -> float:
    """Return the mean AUC, over all rounds, of linear regressions on answers without noise."""
    return float(np.mean(aucs_without_privacy(people, metric, rounds, seed)))


def aucs_without_privacy(people: People, metric: Metric, rounds: int, seed: int) -> tuple[float, ...]:
    """Return, for each round, the AUC of a linear regression on answers that are not randomized.

    Each round holds back the same people as in `rehearse_model`.
    """
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
    assert observation is not None  # noqa: S101 callers know the kind
    places, _ = observation.read(answer)
    features = zip(observation.features, places, strict=True)
    return [float(each) for feature, place in features for each in feature.scaled(place)]


FEWEST_DEVICES: Final = 1000
"""The first number of devices that a search tries."""

MOST_DEVICES: Final = 10**7
"""The maximum number of devices in a search.

Simulating the reports of so many devices takes minutes.
"""

DOUBLINGS: Final = math.ceil(math.log2(MOST_DEVICES / FEWEST_DEVICES))

HALVINGS: Final = 3
"""The number of bisection steps. Bisection begins when doubling has found a sufficient number of
devices. Three steps determine the smallest sufficient number to within 9%.
"""

MOST_REHEARSALS: Final = 1 + DOUBLINGS + HALVINGS
"""The maximum number of rehearsals in a search, each with a different number of devices."""

DIGITS: Final = 2
"""The bisection rounds each number of devices up to a number with this many significant digits."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The amount by which privacy lowers the AUC, for a given number of devices.

    ``losses`` contains, for each round, the AUC of the linear regression on answers that are not
    randomized, minus the AUC of the model that is trained on reports.
    """

    rehearsal: ModelRehearsal
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean loss over the rounds."""
        return float(np.mean(self.losses))

    @property
    def error(self) -> float:
        """The standard error of the mean loss."""
        return float(np.std(self.losses, ddof=1)) / math.sqrt(len(self.losses))

    def is_within(self, most_loss: float) -> bool:
        """Whether the mean loss plus its standard error is at most ``most_loss``."""
        return self.mean + self.error <= most_loss


def devices_for(  # noqa: PLR0913 the inputs of a rehearsal
    metric: Metric, people: People, most_loss: float, *, rounds: int, seed: int, advance: Callable[[int], None]
) -> Loss | None:
    """Find the smallest number of devices at which the loss of AUC is at most ``most_loss``.

    The loss is relative to a linear regression on answers that are not randomized. The search
    doubles the number of devices until the loss is small enough. Bisection then searches between
    the last two numbers. The mean loss over the rounds may be small by chance. The search therefore
    compares the mean loss plus its standard error with ``most_loss``.

    ``rounds`` is the number of rounds for each number of devices, at least 2. For every number of
    devices, the rounds hold back the same people. ``advance`` is called with the argument 1 after
    the rounds for each number of devices. The result is None if `MOST_DEVICES` devices are not
    enough.
    """
    plain = aucs_without_privacy(people, metric, rounds, seed)

    def tried(devices: int) -> Loss:
        rehearsal = rehearse_model(metric, people, devices, rounds, seed)
        advance(1)
        return Loss(rehearsal, tuple(alone - auc for alone, auc in zip(plain, rehearsal.aucs, strict=True)))

    enough, too_few = tried(FEWEST_DEVICES), 0
    while not enough.is_within(most_loss):
        too_few = enough.rehearsal.devices
        if too_few >= MOST_DEVICES:
            return None
        enough = tried(min(2 * too_few, MOST_DEVICES))
    for _ in range(HALVINGS if too_few else 0):
        middle = tried(_rounded(math.sqrt(too_few * enough.rehearsal.devices)))
        if middle.is_within(most_loss):
            enough = middle
        else:
            too_few = middle.rehearsal.devices
    return enough


def _rounded(devices: float) -> int:
    unit = 10 ** (math.floor(math.log10(devices)) + 1 - DIGITS)
    return int(math.ceil(devices / unit) * unit)


LEAST_ROWS: Final = 20
"""The minimum number of rows without an empty cell. Fewer rows leave too few people for the
test.
"""

LEAST_PERSONS: Final = 2
"""The minimum number of people with each label: one for training, and one for the test."""


def read_people(path: Path, metric: Metric) -> People:
    """Read a table of true answers for a model with a yes/no label.

    The file is CSV (RFC 4180) in UTF-8, and begins with a heading. A column ``person`` may identify
    the person of each row. Rows with an empty cell are left out. Raise `AnswersError` if the table
    is invalid. The message names the column or the row, but never contains the content of a cell.
    """
    observation = analysis_of(metric).observation
    if observation is None or not observation.is_of_yes_and_no:
        raise AnswersError(f"{metric.name} is not a model with a yes-or-no label; name such a model")
    features = {feature.name: feature.kind for feature in observation.features}
    answers, persons = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file, strict=True)
            _check_heading(path, list(rows.fieldnames or ()), (*features, metric.name))
            for row in rows:
                if None in row or None in row.values():  # the csv module marks missing or surplus cells with None
                    raise AnswersError(
                        f"line {rows.line_num} does not have as many cells as the heading; correct this line"
                    )
                if all(row[name] for name in (*features, metric.name)):
                    answer = {name: _read(row[name], kind) for name, kind in features.items()}
                    answers.append(answer | {LABEL: TRUTH_VALUES.get(row[metric.name].strip().lower())})
                    _check(metric, answers[-1], rows.line_num)
                    persons.append(row.get("person") or f"row {rows.line_num}")
    except OSError as error:
        raise AnswersError(f"{path} cannot be read: {error.strerror}; name a readable CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise AnswersError(f"{path} is not a CSV file in UTF-8; save it in this format") from None
    if len(answers) < LEAST_ROWS:
        raise AnswersError(f"{path} has {len(answers)} complete rows; at least {LEAST_ROWS} are needed")
    people = People(answers, np.unique(persons, return_inverse=True)[1])
    if min(len(np.unique(people.groups[people.labels == is_yes])) for is_yes in (True, False)) < LEAST_PERSONS:
        raise AnswersError(f"{path} must contain at least {LEAST_PERSONS} people with yes and {LEAST_PERSONS} with no")
    return people


def _check_heading(path: Path, heading: Sequence[str], names: Sequence[str]) -> None:
    if lacking := [name for name in names if name not in heading]:
        raise AnswersError(
            f"{path} has no column {', '.join(lacking)}; add a column for each feature and for the label"
        )
    if twice := [name for name in names if heading.count(name) > 1]:
        raise AnswersError(f"{path} has the column {', '.join(twice)} twice; name each column once")


def _read(cell: str, kind: Kind) -> object:
    return cell if kind.labels else decimal_in(cell)


def _check(metric: Metric, answer: dict[str, object], line: int) -> None:
    try:
        metric.kind.encode(answer, metric.channel.inputs, NO_COINS)
    except DomainError as error:
        raise AnswersError(f"line {line}: must have {error}") from None
