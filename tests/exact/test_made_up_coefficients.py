"""Made-up reports of products: no liars move a coefficient further than is said."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from client_sdk.protocol import Window
from client_sdk.protocol.kinds.kind import NO_COINS
from client_sdk.protocol.mechanisms.rotated_axes import ROUNDS, RotatedAxes
from client_sdk.protocol.model import Model
from estimator.analyses.metric import analysis_of
from estimator.analyses.models.analysis import ModelOfProducts, coefficient_move, covariance_moves
from estimator.analyses.models.products import Covariances, Moments, ProductsModel, Ridge
from estimator.analyses.vectors import sampled_tally
from estimator.decoders.rotated_axes import hadamard, signs_of, turned_back
from estimator.results.report import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import MODEL, metric_of

METRIC = metric_of(MODEL, epsilon=8)
ANALYSIS = ModelOfProducts(METRIC)
WINDOW = "2026-11-23"
HONEST = 60_000
INPUTS = 4
ROTATIONS = 64
"""Of this many the liars choose the best."""

PEOPLE = [
    {"age": age, "sex": sex, "health": health, "label": (age > 50) != (health == "poor" and sex == "f")}
    for age in (20, 40, 60, 90)
    for sex in ("f", "m")
    for health in ("good", "fair", "poor")
]


def tally_of(counts: Counts) -> Tally:
    window, reports = Window.parse(WINDOW), int(counts.sum())
    return Tally(METRIC.name, METRIC.edition, window, closed=True, reports=reports, counts=counts.tolist())


def channel() -> RotatedAxes:
    of_window = METRIC.channel.in_window(WINDOW)
    assert isinstance(of_window, RotatedAxes)
    return of_window


@cache
def honest() -> Counts:
    encoded = np.array([METRIC.encode(person, NO_COINS) for person in PEOPLE], dtype=float)
    each = np.full(len(PEOPLE), HONEST // len(PEOPLE))
    return sampled_tally(channel(), encoded, each, np.random.default_rng(1))


@cache
def signs() -> list[Floats]:
    """Return the signs of each round of some rotations, each of shape (rotations, dimension)."""
    return [signs_of(channel(), np.arange(ROTATIONS), step) for step in range(ROUNDS)]


def along_axes(vector: Floats) -> Floats:
    """Return the vector's part along each axis of some rotations, shape (rotations, dimension).

    That is the vector under each rotation, which `turned_back` undoes: rotations keep all angles.
    """
    turned = np.tile(vector, (ROTATIONS, 1))
    for of_round in signs():
        turned = hadamard(turned * of_round)
    turned /= math.sqrt(len(vector) ** ROUNDS)
    assert np.allclose(turned_back(channel(), turned, np.arange(ROTATIONS)), vector)
    return turned


def liars(vector: Floats, number: int) -> Counts:
    """Return reports of the one symbol of some rotations whose direction is nearest to a vector."""
    along = along_axes(vector)
    rotation, axis = np.unravel_index(np.abs(along).argmax(), along.shape)
    counts = np.zeros(channel().symbols, dtype=np.int64)
    counts[2 * channel().dimension * rotation + 2 * axis + (along[rotation, axis] < 0)] = number
    return counts


@cache
def honest_model() -> ProductsModel:
    return model_of(honest())


def model_of(counts: Counts) -> ProductsModel:
    return ProductsModel.from_mean(ANALYSIS.kind, ANALYSIS.mean(tally_of(counts)))


def coefficients(model: ProductsModel, noise: float) -> Floats:
    return Ridge.from_covariances(Covariances.from_moments(model.moments), noise).coefficients


@cache
def honest_mean() -> Floats:
    return ANALYSIS.mean(tally_of(honest())).coordinates


@cache
def slopes() -> Floats:
    """Return the direction of the vectors that raises each coefficient of the honest tally most.

    Its shape is (coefficients, dimension).
    """
    assert isinstance(METRIC.kind, Model)
    steps, noise = 1e-4 * np.eye(METRIC.kind.length), honest_model().pair_noise
    below, above = ([coefficients_at(honest_mean() + side * step, noise) for step in steps] for side in (-1, 1))
    beyond = np.zeros((INPUTS, channel().dimension - len(steps)))
    return np.concatenate([(np.array(above) - np.array(below)).T, beyond], axis=1)


def coefficients_at(mean: Floats, noise: float) -> Floats:
    return Ridge.from_covariances(Covariances.from_moments(Moments.from_vectors(mean, INPUTS)), noise).coefficients


@pytest.mark.long
@pytest.mark.parametrize("fraction", [0.001, 0.05])
def test_no_lie_moves_a_coefficient_further_than_is_said(fraction: float) -> None:
    number, reached, generator = round(HONEST * fraction / (1 - fraction)), 0.0, np.random.default_rng(3)
    directions = [slopes()[0], -slopes()[0], slopes()[3], generator.normal(size=channel().dimension)]
    for direction in directions:
        counts = honest() + liars(direction, number)
        model, said = model_of(counts), ANALYSIS.fakes(tally_of(counts), number / counts.sum())
        mean, coefficient = said.moves
        assert (mean.statistic, coefficient.statistic) == ("product_mean", "coefficient")
        ridge, noise = model.ridge(), model.pair_noise
        length = float(np.linalg.norm(coefficients(model, noise) - coefficients(honest_model(), noise)))
        assert length <= coefficient_move(model.moments, ridge, noise, mean.up)
        reached = max(reached, 0.5 / model.norm * length / coefficient.up)
    assert reached > 0.01  # the bound is far from what these liars reach, and says something


@pytest.mark.long
def test_the_covariances_of_every_mean_within_a_length_lie_within_what_is_said() -> None:
    generator, model = np.random.default_rng(4), honest_model()
    whole, mean = Covariances.from_moments(model.moments), honest_mean()
    reached = np.zeros(2)
    for length in (0.001, 0.1, 2):
        for spread in generator.dirichlet(np.full(len(mean), 0.1), size=300):
            moved = mean + length * np.sqrt(spread) * generator.choice([-1, 1], len(mean))
            other = Covariances.from_moments(Moments.from_vectors(moved, INPUTS))
            moves = [
                np.linalg.norm(other.with_label - whole.with_label),
                np.linalg.norm(other.features - whole.features),
            ]
            said = covariance_moves(model.moments, length)
            assert (moves <= np.array(said) + 1e-12).all()
            reached = np.maximum(reached, moves / np.array(said))
    assert (reached > 0.6).all()


@pytest.mark.parametrize("length", [1e-5, 1e-3, 0.03, 1.0])
def test_the_coefficients_of_every_mean_within_a_length_lie_within_what_is_said(length: float) -> None:
    generator, model = np.random.default_rng(5), honest_model()
    mean, noise, reached = honest_mean(), model.pair_noise, 0.0
    said = coefficient_move(model.moments, model.ridge(), noise, length)
    before = coefficients(model, noise)
    steps = [sign * slope[: len(mean)] for slope in slopes() for sign in (-1, 1)]
    steps += list(generator.normal(size=(200, len(mean))))
    for step in steps:
        after = coefficients_at(mean + length * step / np.linalg.norm(step), noise)
        reached = max(reached, float(np.linalg.norm(after - before)) / said)
    assert reached <= 1
    if length < 0.01:
        assert reached > 0.2


def test_a_report_says_how_far_a_coefficient_could_have_moved() -> None:
    (estimated,) = analysis_of(METRIC).estimates([tally_of(honest())], Request(fakes=0.001))
    assert estimated.fakes is not None
    assert estimated.fakes == ANALYSIS.fakes(tally_of(honest()), 0.001)
