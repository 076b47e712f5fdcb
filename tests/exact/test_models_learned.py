"""Models learned from tallies: exact without noise; with noise their intervals cover."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from client_sdk.protocol import Metric
from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.model import CrossedModel, Model, ModelFeature
from client_sdk.protocol.vector import UNIT
from client_sdk.protocol.window import Window
from estimator.analyses.metric import analysis_of
from estimator.analyses.models.analysis import ModelOfProducts
from estimator.analyses.models.crosses import CellShares, odds_ends, weights_of
from estimator.analyses.models.prediction import Column, predict
from estimator.analyses.models.products import Covariances, Moments, ProductsModel, Ridge
from estimator.analyses.ratios import Sample
from estimator.analyses.vectors import sampled_tally
from estimator.decoders.inversions import sampler_of
from estimator.results.metric import LearnedModel
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import CROSSED_MODEL, MODEL, Field, Toml, metric_of
from tests.support.laws.coins import ScriptedCoins

WINDOW = "2026-11-23"
PEOPLE = 400
GENERATOR = np.random.default_rng(3)

FEATURES = Toml(
    '[{ name = "age", low = 18, high = 90 }, { name = "sex", values = ["f", "m"] }, '
    '{ name = "health", values = ["good", "fair", "poor"] }, { name = "visits", low = 0, high = 20 }]'
)
POPULATIONS = ("alike", "opposed", "rare", "nothing")
"""How features and label are associated.

All the same way, against each other, with few yes, and not at all.
"""


@cache
def population(name: str) -> tuple[list[dict[str, object]], list[Column], np.ndarray]:
    """Return answers, their columns, and labels."""
    generator = np.random.default_rng(POPULATIONS.index(name))
    base = generator.normal(size=PEOPLE)
    age = np.clip(54 + 15 * base + 8 * generator.normal(size=PEOPLE), 10, 100)
    sign = -1 if name == "opposed" else 1
    visits = np.clip(generator.exponential(3, PEOPLE) + 2 * sign * base, 0, 30)
    sex = np.where(generator.normal(size=PEOPLE) + base > 0, "m", "f")
    health = np.array(["good", "fair", "poor"])[np.clip((generator.normal(size=PEOPLE) + base + 1).astype(int), 0, 2)]
    drive = np.zeros(PEOPLE) if name == "nothing" else base + 0.2 * sign * (health == "poor")
    label = drive + generator.normal(size=PEOPLE) > (1.5 if name == "rare" else 0)
    columns = [age.tolist(), sex.tolist(), health.tolist(), visits.tolist()]
    answers = [
        {"age": a, "sex": s, "health": h, "visits": v, "label": bool(y)}
        for a, s, h, v, y in zip(*columns, label, strict=True)
    ]
    return answers, columns, label


def tally_of(metric: Metric, counts: Counts) -> Tally:
    return Tally(
        metric.name,
        metric.edition,
        Window.parse(WINDOW),
        closed=True,
        reports=int(counts.sum()),
        counts=counts.tolist(),
    )


@cache
def encoded(metric: Metric, name: str) -> np.ndarray:
    return np.array([metric.encode(answer, ScriptedCoins([])) for answer in population(name)[0]])


def products_tally(metric: Metric, name: str, each: int, seed: int) -> Tally:
    channel = metric.channel.in_window(WINDOW)
    assert isinstance(channel, RotatedAxes)
    counts = np.full(PEOPLE, each)
    return tally_of(metric, sampled_tally(channel, encoded(metric, name), counts, np.random.default_rng(seed)))


def crosses_tally(metric: Metric, name: str, each: int, seed: int) -> Tally:
    channel, generator = metric.channel, np.random.default_rng(seed)
    assert isinstance(channel, Crosses)
    devices = np.repeat(encoded(metric, name), each, axis=0)
    drawn = generator.integers(channel.inputs, size=len(devices))
    parts = []
    for feature, own in enumerate(channel.features):
        cells = np.bincount(devices[drawn == feature, feature], minlength=own.inputs)
        parts.append(sampler_of(own)(cells, generator))
    return tally_of(metric, np.concatenate(parts))


def true_moments(metric: Metric, name: str) -> Moments:
    assert isinstance(metric.kind, Model)
    vectors = encoded(metric, name)[:, : metric.kind.length] / UNIT
    return Moments.from_vectors(vectors.mean(axis=0), len(metric.kind.observation.coordinates))


@pytest.mark.parametrize("name", POPULATIONS)
def test_without_noise_products_give_the_least_squares_of_the_rows(name: str) -> None:
    metric = metric_of(MODEL, features=FEATURES)
    assert isinstance(metric.kind, Model)
    truth, norm = true_moments(metric, name), metric.kind.radius / UNIT
    inputs = len(metric.kind.observation.coordinates)
    rows = encoded(metric, name)[:, -metric.channel.inputs :][:, : metric.kind.length] / UNIT
    z = Moments.from_vectors(rows, inputs).features
    label = np.where(population(name)[2], 1.0, -1.0)
    expected, *_ = np.linalg.lstsq(np.column_stack([z, np.ones(PEOPLE)]), label, rcond=None)
    fitted = Ridge.from_covariances(Covariances.from_moments(truth), 1e-12)
    assert fitted.coefficients == pytest.approx(expected[:-1], abs=1e-3)
    assert fitted.penalty < 1e-10
    assert norm == pytest.approx(math.sqrt(2.5), abs=1e-5)


BLOCKS = 128


def noisy(metric: Metric, name: str, noise: float, generator: np.random.Generator) -> ProductsModel:
    """Return the model of a tally whose blocks of rotations have normal noise of a known size."""
    assert isinstance(metric.kind, Model)
    inputs = len(metric.kind.observation.coordinates)
    mean = encoded(metric, name)[:, : metric.kind.length].mean(axis=0) / UNIT
    blocks = generator.normal(scale=noise / math.sqrt(BLOCKS), size=(BLOCKS, len(mean)))
    deviations = Moments.from_vectors(blocks - blocks.mean(axis=0), inputs)
    return ProductsModel(metric.kind, Moments.from_vectors(mean + blocks.sum(axis=0), inputs), deviations, noise)


def covered(metric: Metric, name: str, model: ProductsModel) -> tuple[np.ndarray, bool]:
    """Return which intervals of coefficients hold the ridge regression of the rows.

    Return also whether the interval of skill holds.
    """
    truth, moments = Covariances.from_moments(true_moments(metric, name)), true_moments(metric, name)
    ridge, shares = model.ridge(), model.coefficients()
    penalized = truth.features + ridge.penalty * np.eye(len(ridge.coefficients))
    expected = np.linalg.solve(penalized, truth.with_label) / 2 / model.norm
    score = ridge.coefficients
    spread = score @ truth.features @ score * (1 - moments.label**2)
    said = model.skill().correlation
    return (shares.lows <= expected) & (expected <= shares.highs), bool(
        said.low <= score @ truth.with_label / math.sqrt(spread) <= said.high
    )


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.03, 0.01, 0.003, 0.0005])
def test_intervals_of_coefficients_and_of_skill_cover(noise: float) -> None:
    metric, generator, rounds = metric_of(MODEL, features=FEATURES), np.random.default_rng(1), 40
    outcomes = [
        covered(metric, name, noisy(metric, name, noise, generator)) for name in POPULATIONS for _ in range(rounds)
    ]
    coefficients, skill = np.mean([held for held, _ in outcomes]), np.mean([held for _, held in outcomes])
    trials = rounds * len(POPULATIONS)
    least = 0.93 - 3 * math.sqrt(0.93 * 0.07 / trials)  # a true .93 is below it once in a thousand
    assert coefficients >= least
    assert skill >= least


@cache
def learned(name: str, seed: int = 1) -> tuple[Metric, LearnedModel]:
    """Return the model of 16,000 real reports."""
    metric = metric_of(MODEL, features=FEATURES, epsilon=6)
    _, model = analysis_of(metric).learn(products_tally(metric, name, 40, seed))
    assert model is not None
    return metric, model


def test_real_reports_cover_and_tell_a_model_of_nothing_from_one_of_much() -> None:
    metric = metric_of(MODEL, features=FEATURES, epsilon=6)
    analysis = ModelOfProducts(metric)
    model = ProductsModel.from_mean(analysis.kind, analysis.mean(products_tally(metric, "alike", 40, 1)))
    held, _ = covered(metric, "alike", model)
    assert held.sum() >= len(held) - 1
    nothing, much = learned("nothing")[1].auc, learned("alike")[1].auc
    assert nothing is not None
    assert much is not None
    assert nothing.low < 0.56
    assert much.low > 0.6
    _, columns, label = population("alike")
    assert ranked(predict(learned("alike")[1], columns), label) == pytest.approx(much.estimate, abs=0.05)


def ranked(scores: Floats, label: np.ndarray) -> float:
    """Return the AUC by its definition."""
    above = scores[label][:, np.newaxis] - scores[~label]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def test_log_odds_of_products_are_calibrated() -> None:
    model = learned("alike")[1]
    _, columns, label = population("alike")
    shares = 1 / (1 + np.exp(-predict(model, columns)))
    assert shares.mean() == pytest.approx(label.mean(), abs=0.05)
    upper = shares > np.median(shares)
    assert shares[upper].mean() == pytest.approx(label[upper].mean(), abs=0.1)


def test_a_number_as_label_is_predicted_in_its_units() -> None:
    metric = metric_of(MODEL, features=FEATURES, epsilon=6, label=Toml("{ low = 0, high = 100 }"))
    answers, columns, _ = population("alike")
    numbers = 10 + 0.8 * np.clip(np.array(columns[0], dtype=float), 18, 90)
    rows = [answer | {"label": number} for answer, number in zip(answers, numbers.tolist(), strict=True)]
    vectors = np.array([metric.encode(row, ScriptedCoins([])) for row in rows])
    channel = metric.channel.in_window(WINDOW)
    assert isinstance(channel, RotatedAxes)
    _, model = analysis_of(metric).learn(
        tally_of(metric, sampled_tally(channel, vectors, np.full(PEOPLE, 100), GENERATOR))
    )
    assert model is not None
    assert model.auc is None
    predicted = predict(model, columns)
    assert np.corrcoef(predicted, numbers)[0, 1] > 0.9
    assert predicted.mean() == pytest.approx(numbers.mean(), abs=4)


def tally_of_nothing(metric: Metric, reports: int, seed: int) -> Tally:
    """Return a tally in which every symbol is as likely: nothing is known of anybody."""
    symbols = metric.channel.symbols
    drawn = np.random.default_rng(seed).integers(symbols, size=reports)
    return tally_of(metric, np.bincount(drawn, minlength=symbols))


@pytest.mark.parametrize("mechanism", ["rotated-axes", "crosses"])
@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_reports_that_tell_nothing_make_no_model_that_is_sure(mechanism: str, epsilon: float) -> None:
    metric = metric_of(MODEL, features=FEATURES, mechanism=mechanism, epsilon=epsilon)
    _, columns, _ = population("nothing")
    for seed, reports in enumerate([50, 120, 500, 5000] * 2):
        _, model = analysis_of(metric).learn(tally_of_nothing(metric, reports, seed))
        assert model is not None
        assert abs(predict(model, columns)).max() < math.log(99)


def true_odds(metric: Metric, name: str) -> np.ndarray:
    """Log-odds of yes in each cell; NaN where nobody is, infinite where only one label is there."""
    assert isinstance(metric.kind, CrossedModel)
    vectors, odds = encoded(metric, name), []
    for feature, pairs in enumerate(metric.kind.pairs):
        counts = np.bincount(vectors[:, feature], minlength=pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds.append(np.log(counts[1::2] / counts[::2]))
    return np.concatenate(odds)


@pytest.mark.parametrize(("epsilon", "each", "devices"), [(1, 100, 10**5), (4, 30, 10**4), (8, 300, 10**5), (1, 20, 1)])
def test_intervals_of_log_odds_cover(epsilon: int, each: int, devices: int) -> None:
    metric = metric_of(CROSSED_MODEL, features=FEATURES, epsilon=epsilon, population=devices)
    held, trials = 0, 0
    for name in POPULATIONS:
        truth = true_odds(metric, name)
        known = np.isfinite(truth)
        for seed in range(3):
            shares, _ = analysis_of(metric).learn(crosses_tally(metric, name, each, seed))
            inside = (shares.lows <= truth) & (truth <= shares.highs)
            held, trials = held + int(inside[known].sum()), trials + int(known.sum())
    assert held / trials >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / trials)


RARE = {
    "few yes": np.outer(np.full(6, 1 / 6), [0.98, 0.02]).ravel(),
    "few in a cell": np.outer([0.7, 0.2, 0.06, 0.02, 0.015, 0.005], [0.9, 0.1]).ravel(),
}
"""Shares of cells and labels of a number that few people have."""


@pytest.mark.long
@pytest.mark.parametrize("people", RARE)
@pytest.mark.parametrize(("epsilon", "reports"), [(4, 50), (8, 50), (8, 200), (20, 50), (20, 200), (20, 1000)])
def test_each_interval_of_log_odds_covers_where_few_people_decide(people: str, epsilon: int, reports: int) -> None:
    metric = metric_of(CROSSED_MODEL, features=Toml('[{ name = "age", low = 18, high = 90 }]'), epsilon=epsilon)
    assert isinstance(metric.channel, Crosses)
    shares, generator, rounds = RARE[people], np.random.default_rng(reports), 150
    draw, truth = sampler_of(metric.channel.features[0]), np.log(shares[1::2] / shares[::2])
    held = np.zeros(len(truth))
    for _ in range(rounds):
        drawn, _ = analysis_of(metric).learn(tally_of(metric, draw(generator.multinomial(reports, shares), generator)))
        held += (drawn.lows - 1e-9 <= truth) & (truth <= drawn.highs + 1e-9)
    least = 0.93 - 3.5 * math.sqrt(0.93 * 0.07 / rounds)  # a true .93 of 72 intervals is seldom below it
    assert held.min() / rounds >= least


def test_crosses_predict_and_what_tells_nothing_weighs_little() -> None:
    metric = metric_of(CROSSED_MODEL, features=FEATURES)
    _, columns, label = population("alike")
    _, model = analysis_of(metric).learn(crosses_tally(metric, "alike", 400, 1))
    assert model is not None
    assert model.auc is None
    assert ranked(predict(model, columns), label) > 0.75
    _, nothing = analysis_of(metric).learn(crosses_tally(metric, "nothing", 5, 1))
    assert nothing is not None
    assert max(abs(weight) for each in nothing.inputs for weight in each.weights) < 1.5


@pytest.mark.long
def test_cells_that_lack_a_yes_by_chance_make_no_model_sure() -> None:
    """With hardly any noise, and 100 reports of a feature, 10 of them yes, some cells have none."""
    ranges = [f'{{ name = "f{place}", low = 0, high = 1 }}' for place in range(20)]
    metric = metric_of(CROSSED_MODEL, features=Toml(f"[{', '.join(ranges)}]"), epsilon=8)
    channel, spreads = metric.channel, []
    assert isinstance(channel, Crosses)
    for seed in range(10):
        generator = np.random.default_rng(seed)
        parts = []
        for own in channel.features:
            likely = np.tile([0.9, 0.1], own.inputs // 2) / (own.inputs // 2)
            parts.append(sampler_of(own)(generator.multinomial(100, likely), generator))
        _, model = analysis_of(metric).learn(tally_of(metric, np.concatenate(parts)))
        assert model is not None
        spreads.append(math.sqrt(sum(np.var(each.weights) for each in model.inputs)))
    assert np.mean(spreads) < 2


@pytest.mark.long
def test_few_reports_rank_better_by_three_parts_of_a_range_than_by_six() -> None:
    _, columns, label = population("alike")
    rounds, of_parts = 60, []
    for devices in (10, 10**6):
        metric = metric_of(CROSSED_MODEL, features=FEATURES, epsilon=1, population=devices)
        models = [analysis_of(metric).learn(crosses_tally(metric, "alike", 2, seed))[1] for seed in range(rounds)]
        of_parts.append([ranked(predict(model, columns), label) for model in models if model is not None])
    three, six = of_parts
    error = math.sqrt((np.var(three) + np.var(six)) / rounds)
    assert np.mean(three) > np.mean(six) + 2 * error


SAMPLE = Sample(np.eye(6), np.full(6, 10**6))
"""So many reports of a feature that few people do not decide."""


def test_without_noise_weights_are_the_log_odds_of_cells() -> None:
    feature = next(iter(_features()))
    yes, no = np.array([0.05, 0.1, 0.05]), np.array([0.4, 0.3, 0.1])
    weights = weights_of(CellShares(feature, no, yes, 1e-14 * np.eye(6), SAMPLE), 0.2)
    assert weights == pytest.approx(np.log(yes / no) - math.log(0.25), abs=1e-4)


def test_odds_that_chance_allows_are_within_and_others_are_not() -> None:
    feature = next(iter(_features()))
    cells = CellShares(feature, np.full(3, 0.3), np.array([0.03, 0.0, -0.1]), 1e-6 * np.eye(6), SAMPLE)
    lows, highs = odds_ends(cells, 1)
    assert lows[0] < math.log(0.1) < highs[0]
    assert highs[0] - lows[0] == pytest.approx(2 * 1.96e-3 / 0.03, abs=0.03)
    assert lows[1] < -13
    assert highs[1] < -4
    assert (lows[2], highs[2]) == pytest.approx((-math.log(1e6), math.log(1e6)))  # no odds explain it: everything


def _features() -> tuple[ModelFeature, ...]:
    domain = metric_of(CROSSED_MODEL).kind
    assert isinstance(domain, CrossedModel)
    return tuple(feature for feature in domain.observation.features if feature.cells == 3)


@pytest.mark.parametrize("definition", [MODEL, CROSSED_MODEL], ids=["products", "crosses"])
def test_of_few_reports_nothing_is_learned(definition: dict[str, Field]) -> None:
    metric = metric_of(definition)
    counts = np.zeros(metric.channel.symbols, dtype=int)
    counts[3] = 9
    shares, model = analysis_of(metric).learn(tally_of(metric, counts))
    assert model is None
    assert not shares.unbiased.size
    assert (shares.lows < -10).all()
    assert (shares.highs > 10).all()
