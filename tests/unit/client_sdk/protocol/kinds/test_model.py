"""Features and a label become integers, products of norm 1 or cells; others are refused by name."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import OutsideDomainError
from client_sdk.protocol.model import MAX_INPUTS, CrossedModel, Model, length_for
from client_sdk.protocol.vector import MAX_LENGTH, UNIT
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CROSSED_MODEL, MODEL, Field, Toml, metric_of, mistakes, without
from tests.support.laws.coins import ScriptedCoins

ANSWER = {"age": 63, "sex": "f", "health": "poor", "label": True}
NUMBER_LABEL = {"label": Toml("{ low = 0, high = 10 }")}
WEIGHTS = (10, 5, 10, 3)
MARK = 0.31415926
"""A number whose digits must occur in no error."""


def encoded(answer: Mapping[str, object], **changes: Field) -> np.ndarray:
    vector = metric_of(MODEL, **changes).encode(answer, ScriptedCoins([]))
    assert abs(sum(value * value for value in vector) - UNIT**2) <= 2 * UNIT  # on the sphere, up to rounding
    return np.array(vector) / UNIT


def by_definition(features: list[float], label: float, norm: float) -> np.ndarray:
    """The vector as the documents define it, in floats."""
    length = math.sqrt(sum(each * each for each in features))
    z = [each / norm * min(1.0, norm / length if length else 1.0) for each in features]
    pairs = combinations_with_replacement(range(len(z)), 2)
    of_label, of_square, of_feature, of_itself = WEIGHTS
    parts = [
        *(of_label * label * each for each in z),
        *(of_square * z[i] * z[j] * (1 if i == j else math.sqrt(2)) for i, j in pairs),
        *(of_feature * each for each in z),
        of_itself * label,
    ]
    return np.array(parts) / math.sqrt(sum(weight**2 for weight in WEIGHTS))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    age=st.floats(-1e3, 1e3),
    sex=st.sampled_from(["f", "m"]),
    health=st.sampled_from(["good", "fair", "poor"]),
    label=st.booleans(),
    norm=st.sampled_from([None, 0.7, 3]),
)
def test_an_answer_becomes_the_products_of_its_scaled_features(
    *, age: float, sex: str, health: str, label: bool, norm: float | None
) -> None:
    vector = encoded(
        {"age": age, "sex": sex, "health": health, "label": label}, **({} if norm is None else {"norm": norm})
    )
    scaled = [min(max((age - 18) / 72, 0), 1) * 2 - 1, 1.0 if sex == "m" else -1.0, health == "fair", health == "poor"]
    products = by_definition([float(each) for each in scaled], 1.0 if label else -1.0, norm or math.sqrt(2))
    assert vector[: len(products)] == pytest.approx(products, abs=8 / UNIT)
    assert not vector[len(products) + 1 :].any()


def test_a_number_as_label_is_scaled_and_clipped_to_its_ends() -> None:
    labels = [encoded(ANSWER | {"label": label}, **NUMBER_LABEL)[18] for label in (-5, 0, 2.5, 10, 11)]
    weight = 3 / math.sqrt(234)
    assert labels == pytest.approx([-weight, -weight, -weight / 2, weight, weight], abs=2 / UNIT)


@pytest.mark.parametrize(
    ("answer", "cells"),
    [
        (ANSWER, (2 * 3 + 1, 1, 5)),
        ({"age": 18, "sex": "m", "health": "good", "label": False}, (0, 2, 0)),
        ({"age": 90, "sex": "m", "health": "fair", "label": False}, (10, 2, 2)),
        ({"age": -1e9, "sex": "f", "health": "fair", "label": True}, (1, 1, 3)),
    ],
)
def test_each_feature_has_a_cell_with_the_label(answer: Mapping[str, object], cells: tuple[int, ...]) -> None:
    assert metric_of(CROSSED_MODEL).encode(answer, ScriptedCoins([])) == cells


@pytest.mark.parametrize(("age", "cell"), [(18, 0), (41.9, 0), (42, 1), (66, 2), (90, 2)])
def test_a_number_has_three_parts_where_few_reports_are_expected(age: float, cell: int) -> None:
    metric = metric_of(CROSSED_MODEL, epsilon=1, population=1000)
    assert metric.encode(ANSWER | {"age": age}, ScriptedCoins([])) == (2 * cell + 1, 1, 5)


@pytest.mark.parametrize(
    ("epsilon", "population", "bins"),
    [(1, 11_999, 3), (1, 12_001, 6), (4, 749, 3), (4, 751, 6), (0.5, 47_999, 3), (0.5, 48_001, 6), (4, None, 6)],
)
def test_reports_of_a_feature_times_epsilon_squared_choose_parts(
    epsilon: float, population: int | None, bins: int
) -> None:
    known = {} if population is None else {"population": population}
    metric = metric_of(CROSSED_MODEL, epsilon=epsilon, **known)
    assert metric.kind.definition["bins"] == bins
    assert isinstance(metric.kind, CrossedModel)
    assert metric.kind.pairs == (2 * bins, 4, 6)
    assert (metric.edition == metric_of(CROSSED_MODEL, epsilon=epsilon).edition) is (bins == 6)


def test_numbers_of_other_types_are_numbers() -> None:
    of_types = [encoded(ANSWER | {"age": age}) for age in (63.0, Fraction(63), Decimal(63), np.float32(63))]
    assert all((vector == of_types[0]).all() for vector in of_types)


@pytest.mark.parametrize("definition", [MODEL, CROSSED_MODEL], ids=["vector", "crosses"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(({"age": f"{MARK}"}, "as age a number"), ({"age": float("nan")}, "as age a number")),
        *(({"age": True}, "as age a number"), ({"sex": f"{MARK}"}, "as sex one of 'f', 'm'")),
        *(({"health": 31415926}, "as health one of 'good', 'fair', 'poor'"), ({"label": 1}, "as label True or False")),
        ({"31415926": 1}, "a mapping with the keys age, sex, health, label and no other"),
    ],
)
def test_a_wrong_value_is_named_by_feature(definition: dict[str, Field], changes: dict[str, object], said: str) -> None:
    with pytest.raises(OutsideDomainError, match=f"'m' expects {said};") as caught:
        metric_of(definition).encode(ANSWER | changes, ScriptedCoins([]))
    assert "31415926" not in "".join(traceback.format_exception(caught.value))


@for_each("answer", [None, 5, [63, "f", "poor", True], {"age": 63}, {}, "age"])
def test_what_is_no_mapping_of_all_keys_is_refused(answer: object) -> None:
    with pytest.raises(OutsideDomainError, match="keys age, sex, health, label"):
        metric_of(MODEL).encode(answer, ScriptedCoins([]))


def listed(coordinates: int) -> Field:
    return Toml("[" + ", ".join(f"{{ name = 'f{i}', low = 0, high = 1 }}" for i in range(coordinates)) + "]")


def test_the_most_features_fill_the_longest_vector() -> None:
    assert length_for(MAX_INPUTS) <= MAX_LENGTH < length_for(MAX_INPUTS + 1)
    domain = metric_of(MODEL, features=listed(MAX_INPUTS)).kind
    assert isinstance(domain, Model)
    assert domain.length == length_for(MAX_INPUTS)
    said = mistakes(m=MODEL | {"features": listed(MAX_INPUTS + 1)})["metric.m.features"]
    assert said.startswith("have 89 coordinates")


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"mechanism": "auto"}, "population", "is missing"),
        ({"mechanism": "one-bit"}, "mechanism", "must be a mechanism for models: auto, rotated-axes or crosses"),
        (NUMBER_LABEL | {"mechanism": "crosses"}, "mechanism", "'crosses' is for a label of yes or no"),
        ({"label": "yes"}, "label", 'must be "boolean", or the range of a number'),
        ({"label": Toml("{ low = 1, high = 1 }")}, "label", 'must be "boolean", or the range of a number'),
        ({"label": Toml("{ low = '0', high = 1 }")}, "label", 'must be "boolean", or the range of a number'),
        ({"label": Toml("{ low = 0, high = inf }")}, "label", 'must be "boolean", or the range of a number'),
        ({"features": Toml("[]")}, "features", "must list features"),
        ({"features": Toml('[{ name = "a", low = 0, high = 1 }, { name = "b" }]')}, "features", "must list features"),
        ({"features": Toml('[{ name = "label", low = 0, high = 1 }]')}, "features", "must have different names"),
        ({"features": Toml('[{ name = "a", values = ["x", "x"] }]')}, "features", "must list features"),
        ({"norm": 0}, "norm", "must be from 1e-06 to 1e+06"),
        ({"permanent_epsilon": 5}, "permanent_epsilon", "does not apply to a model"),
        ({"fill_in": True}, "fill_in", "does not apply to a model"),
        ({"unit": "ms"}, "unit", "is only for a number or a count"),
    ],
)
def test_a_mistake_of_the_registry_is_told_at_its_place(changes: dict[str, Field], place: str, said: str) -> None:
    sentences = mistakes(m=MODEL | changes)
    assert list(sentences) == [f"metric.m.{place}"]
    assert sentences[f"metric.m.{place}"].startswith(said)


@for_each("key", ["features", "label"])
def test_a_missing_key_is_named(key: str) -> None:
    assert mistakes(m=without(MODEL, key)) == {f"metric.m.{key}": "is missing"}


def test_only_a_model_has_a_population() -> None:
    sentences = mistakes(m={"purpose": "Why?", "kind": "boolean", "epsilon": 1, "population": 5})
    said = 'belongs to kind = "model"; this question is of kind "boolean": remove it'
    assert sentences == {"metric.m.population": said}


@pytest.mark.parametrize(
    ("epsilon", "population", "chosen"),
    [(1, 10**4, CrossedModel), (1, 10**6, Model), (4, 10**3, CrossedModel), (4, 10**5, Model)],
)
def test_auto_draws_features_of_few_devices_and_products_of_many(epsilon: int, population: int, chosen: type) -> None:
    metric = metric_of(MODEL, mechanism="auto", epsilon=epsilon, population=population)
    assert type(metric.kind) is chosen
    named = metric_of(MODEL, mechanism=metric.channel.name, epsilon=epsilon, population=population)
    assert metric.edition == named.edition


def test_auto_takes_the_products_of_many_features_and_of_a_number_as_label() -> None:
    many = metric_of(MODEL, features=listed(11), mechanism="auto", population=1000)
    assert type(many.kind) is Model
    assert type(metric_of(MODEL, mechanism="auto", **NUMBER_LABEL).kind) is Model


def test_the_edition_holds_features_ends_values_label_and_norm() -> None:
    first = str(MODEL["features"])
    others = [Toml(first.replace(old, new)) for old, new in (("18", "19"), ("age", "years"), ('"m"', '"x"'))]
    changed = [metric_of(MODEL, features=features) for features in others]
    changed += [metric_of(MODEL), metric_of(MODEL, norm=2), metric_of(MODEL, **NUMBER_LABEL), metric_of(CROSSED_MODEL)]
    assert len({metric.edition for metric in changed}) == len(changed)


def test_an_answer_in_a_cell_is_in_its_middle_and_belongs_to_it() -> None:
    kind = metric_of(CROSSED_MODEL).kind
    assert isinstance(kind, CrossedModel)
    for feature in kind.observation.features:
        for cell in range(feature.cells):
            answer = feature.answer_in(cell)
            assert feature.cell(feature.place(answer)) == cell
            if isinstance(answer, Fraction):
                assert feature.place(answer) == Fraction(2 * cell + 1, 2 * feature.cells)
