"""The quality of models that are learned from randomized reports, on public data.

Each of several splits holds back a different quarter of all people for the test. Devices are drawn
from the other three quarters with replacement. More devices therefore only reduce the noise. The
range of a feature goes from the 2nd to the 98th percentile of the data set.

The simulation does not draw single reports:

* For products (the mechanism ``rotated-axes``), normal noise with the mechanism's variance is added
  to 128 blocks of reports.
* For crosses (the mechanism ``crosses``), tallies are drawn from their exact distribution.

One measurement of products is repeated with real reports.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.results import table
from client_sdk.protocol import Metric
from client_sdk.protocol.model import Model
from client_sdk.protocol.vector import UNIT
from estimator.analyses.metric import analysis_of
from estimator.analyses.models.prediction import predict
from estimator.analyses.models.products import Moments, ProductsModel
from estimator.analyses.vectors import Vectors
from estimator.rehearsal.model_rehearsal import People, auc_of, auc_without_privacy, drawn_tally, rehearse_model
from estimator.results.metric import LearnedModel
from estimator.statistics.arrays import Counts, Floats
from tests.support.devices.definitions import MODEL, Field, Toml, metric_of
from tests.support.laws.coins import ScriptedCoins

HEALTH = Path(__file__).parents[1] / "examples" / "health" / "health.csv"
NUMBERS = ("age", "doctor_visits", "chronic_disease_index")
VALUES = {"sex": ("female", "male"), "self_rated_health": ("excellent", "good", "fair", "poor")}
SPLITS = {"health": 400, "breast cancer": 10, "digits": 10}
"""The number of splits, by data set.

For the health data, the AUC has a standard deviation between splits of 0.017 without privacy, and
of 0.07 with few reports. With only 100 splits, the mean would have a standard error of 0.007.
"""

BLOCKS = 128
EPSILONS = (1, 2, 4)
PERCENTILES = (2, 98)
CELLS = (
    ("health", 10**4, "rotated-axes", (0.626, 0.687, 0.754)),
    ("health", 10**4, "crosses", (0.727, 0.765, 0.781)),
    ("health", 10**5, "rotated-axes", (0.732, 0.775, 0.786)),
    ("health", 10**5, "crosses", (0.766, 0.780, 0.787)),
    ("breast cancer", 10**4, "rotated-axes", (0.984, 0.987, 0.987)),
    ("digits", 10**5, "rotated-axes", (0.839, 0.891, 0.914)),
    ("digits", 10**6, "rotated-axes", (0.905, 0.920, 0.930)),
)
"""The measured cells: data set, devices, mechanism, and the target AUC at each of ``EPSILONS``."""


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """A data set: people's answers, and the definition of the features in a registry."""

    people: People
    features: Toml


def measure_models() -> str:
    sets = {name: load() for name, load in SETS.items()}
    rows = [_row(sets[name], name, devices, mechanism, targets) for name, devices, mechanism, targets in CELLS]
    head = ("data", "without privacy", "devices", "mechanism", *(f"epsilon {epsilon}" for epsilon in EPSILONS))
    real = metric_of(MODEL, features=sets["health"].features, mechanism="rotated-axes", epsilon=4)
    repeated = rehearse_model(real, sets["health"].people, 10**4, SPLITS["health"], 1)
    by_row = replace(sets["health"].people, groups=np.arange(len(sets["health"].people.answers)))
    plain = auc_without_privacy(by_row, real, SPLITS["health"], 1)
    return (
        "## Models\n\n"
        f"Each cell is the mean AUC of models over {SPLITS['digits']} random splits of the people\n"
        f"({SPLITS['health']} for the health data). The wanted AUC is in parentheses. The labels are a physical\n"
        "limitation (`examples/health/health.csv`), benign tumors, and digits of 5 or more (both from\n"
        "scikit-learn). For `rotated-axes`, normal noise with the mechanism's variance replaces the reports. With\n"
        f"real reports, the AUC for health, 10,000 devices and epsilon 4 is {repeated.auc:.3f}. If the health data\n"
        f"are split by row, so that a person can be in both parts, the AUC without privacy is {plain:.3f}.\n\n"
        + table(head, rows)
    )


def _row(data: Data, name: str, devices: int, mechanism: str, targets: tuple[float, ...]) -> list[str]:
    fields: dict[str, Field] = MODEL | {"features": data.features, "mechanism": mechanism, "population": devices}
    metrics = [metric_of(fields, epsilon=epsilon) for epsilon in EPSILONS]
    plain = auc_without_privacy(data.people, metrics[0], SPLITS[name], 1)
    aucs = [_mean_auc(metric, data.people, devices, SPLITS[name]) for metric in metrics]
    cells = [f"{auc:.3f} ({target:.3f})" for auc, target in zip(aucs, targets, strict=True)]
    return [name, f"{plain:.3f}", f"{devices:,}", mechanism, *cells]


def _mean_auc(metric: Metric, people: People, devices: int, splits: int) -> float:
    encoded = np.array([metric.encode(answer, ScriptedCoins([])) for answer in people.answers])
    aucs = []
    for split in range(splits):
        generator = np.random.default_rng([1, split])
        held = people.held_back(generator)
        counts = generator.multinomial(devices, np.full((~held).sum(), 1 / (~held).sum()))
        model = _learned(metric, encoded[~held], counts, generator)
        tried = np.flatnonzero(held)
        columns = people.columns([each.name for each in model.inputs], tried)
        aucs.append(auc_of(predict(model, columns), people.labels[tried]))  # type: ignore[arg-type] # answers of a domain
    return float(np.mean(aucs))


def _learned(metric: Metric, encoded: Counts, counts: Counts, generator: np.random.Generator) -> LearnedModel:
    if not isinstance(metric.kind, Model):
        _, model = analysis_of(metric).learn(drawn_tally(metric, encoded, counts, generator))
        assert model is not None
        return model
    devices, inputs = counts.sum(), len(metric.kind.observation.coordinates)
    mean: Floats = counts @ encoded[:, : metric.kind.length] / (UNIT * devices)
    noise = Vectors[Model](metric).noise / float(np.sqrt(devices))
    blocks = generator.normal(scale=noise / np.sqrt(BLOCKS), size=(BLOCKS, len(mean)))
    deviations = Moments.from_vectors(blocks - blocks.mean(axis=0), inputs)
    return ProductsModel(
        metric.kind, Moments.from_vectors(mean + blocks.sum(axis=0), inputs), deviations, noise
    ).learned()


def _health() -> Data:
    with HEALTH.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["physical_limitation"]]
    numbers = np.array([[float(row[name]) for name in NUMBERS] for row in rows])
    answers: list[dict[str, object]] = [
        dict(zip(NUMBERS, of_row.tolist(), strict=True))
        | {name: row[name] for name in VALUES}
        | {"label": row["physical_limitation"] == "yes"}
        for row, of_row in zip(rows, numbers, strict=True)
    ]
    values = (f"{{ name = '{name}', values = {list(listed)} }}" for name, listed in VALUES.items())
    features = Toml(f"[{', '.join([*_ranges(NUMBERS, numbers), *values])}]")
    return Data(People(answers, np.array([int(row["person"]) for row in rows])), features)


def _of_scikit_learn(name: str, yes_from: int) -> Data:
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError:
        sys.exit("the benchmark of models needs scikit-learn: pip install -e '.[sklearn]'")
    bunch = getattr(datasets, f"load_{name}")()
    numbers, labels = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target) >= yes_from
    names = [f"f{column}" for column in range(numbers.shape[1])]
    answers: list[dict[str, object]] = [
        dict(zip(names, row.tolist(), strict=True)) | {"label": bool(label)}
        for row, label in zip(numbers, labels, strict=True)
    ]
    return Data(People(answers, np.arange(len(answers))), Toml(f"[{', '.join(_ranges(names, numbers))}]"))


def _ranges(names: tuple[str, ...] | list[str], numbers: Floats) -> Iterator[str]:
    lows, highs = np.percentile(numbers, PERCENTILES, axis=0)
    for name, low, high in zip(names, lows, highs, strict=True):
        yield f"{{ name = '{name}', low = {low:.6g}, high = {high if high > low else low + 1:.6g} }}"


SETS: dict[str, Callable[[], Data]] = {
    "health": _health,
    "breast cancer": lambda: _of_scikit_learn("breast_cancer", 1),
    "digits": lambda: _of_scikit_learn("digits", 5),
}
