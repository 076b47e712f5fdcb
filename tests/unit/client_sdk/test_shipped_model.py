"""A shipped model scores as the estimator does, and says what is wrong without a user's value."""

from __future__ import annotations

import copy
import json
import math
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client_sdk import OutsideDomainError, ShippedModel, ShippedModelError
from estimator.analyses.models.prediction import Column, predict
from estimator.results.metric import LearnedModel, ModelInput
from tests.support.core.tables import for_each

INPUTS: list[dict[str, Any]] = [
    {"name": "age", "low": 0.1, "high": 90.7},
    {"name": "sex", "values": ["f", "m"]},
    {"name": "health", "values": ["good", "fair", "poor"]},
]
PRODUCTS, CROSSES = ((0.5,), (-0.7,), (0.2, 1.1)), ((-1, -0.5, 0, 0.4, 1, 2), (0.1, -0.1), (-0.3, 0, 0.6))
FEW_CROSSES = ((-1.3, 0.2, 1.7), *CROSSES[1:])
MARK = 0.31415926
"""A number whose digits must occur in no error."""


def document(weights: tuple[tuple[float, ...], ...] = PRODUCTS, norm: float | None = 1.2) -> dict[str, Any]:
    inputs = [each | {"weights": list(own)} for each, own in zip(INPUTS, weights, strict=True)]
    learned = {"mechanism": "m", "norm": norm, "penalty": None, "intercept": -0.4, "inputs": inputs}
    about = {"schema": 1, "model": "m", "edition": "e", "window": "2026-11", "reports": 9}
    return about | {"label": {"kind": "boolean"}, "learned": learned}


def people() -> tuple[list[dict[str, object]], list[Column]]:
    generator = np.random.default_rng(5)
    ages = [0.1, 90.7, -3.0, 200.0, 15.2, *generator.uniform(-5, 100, 60).tolist()]
    sexes = generator.choice(["f", "m"], len(ages)).tolist()
    healths = generator.choice(["good", "fair", "poor"], len(ages)).tolist()
    rows = [{"age": a, "sex": s, "health": h} for a, s, h in zip(ages, sexes, healths, strict=True)]
    return [dict(row) for row in rows], [ages, sexes, healths]


@pytest.mark.parametrize(("weights", "norm"), [(PRODUCTS, 1.2), (PRODUCTS, 50.0), (CROSSES, None), (FEW_CROSSES, None)])
def test_scores_match_the_estimator(tmp_path: Path, weights: tuple[tuple[float, ...], ...], norm: float | None) -> None:
    file = tmp_path / "model.json"
    file.write_text(json.dumps(document(weights, norm)), encoding="utf-8")
    model, (answers, columns) = ShippedModel.read(file), people()
    inputs = tuple(ModelInput(**each, weights=own) for each, own in zip(INPUTS, weights, strict=True))
    predictions = predict(LearnedModel(mechanism="m", norm=norm, penalty=None, intercept=-0.4, inputs=inputs), columns)
    scores = [model.score(answer) for answer in answers]
    assert scores == pytest.approx(predictions.tolist(), abs=1e-5)
    assert len({round(score, 3) for score in scores}) > 10
    shares = [model.probability(answer) for answer in answers]
    assert shares == pytest.approx([1 / (1 + math.exp(-score)) for score in scores])


def test_a_number_is_predicted_and_has_no_probability() -> None:
    model = ShippedModel.from_document(document() | {"label": {"kind": "number", "low": "0", "high": "9"}})
    assert math.isfinite(model.score(people()[0][0]))
    with pytest.raises(ShippedModelError, match="has no probability"):
        model.probability(people()[0][0])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({"age": "x"}, "as age a number"), ({"sex": str(MARK)}, "as sex one of"), ({"health": MARK}, "as health")],
)
def test_a_value_outside_is_refused_by_its_name_alone(changes: dict[str, object], expected: str) -> None:
    with pytest.raises(OutsideDomainError, match=expected) as caught:
        ShippedModel.from_document(document()).score({"age": MARK, "sex": "f", "health": "fair"} | changes)
    assert str(MARK) not in "".join(traceback.format_exception(caught.value))


def test_a_missing_feature_is_named_and_other_keys_are_ignored() -> None:
    model, answer = ShippedModel.from_document(document()), {"age": 5, "sex": "f", "health": "fair"}
    assert model.score(answer | {"label": True}) == model.score(answer)
    with pytest.raises(OutsideDomainError, match="a value for each of age, sex, health"):
        model.score({"age": 5})


def broken(*path: str | int, value: object) -> dict[str, Any]:
    changed: Any = copy.deepcopy(document())
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    whole: dict[str, Any] = changed
    return whole


@for_each(
    "changed",
    [
        *(broken("schema", value=2), broken("learned", value=None), broken("learned", "inputs", value=[])),
        *(broken("learned", "inputs", 0, "low", value=90.7), broken("learned", "inputs", 0, "weights", value=[1, 2])),
        *(broken("learned", "inputs", 1, "values", value=7), broken("learned", "norm", value=None)),
        *(broken("learned", "norm", value=0), broken("learned", "intercept", value="x"), broken("label", value=None)),
        *(broken("label", "kind", value="vector"), broken("learned", "intercept", value=math.inf)),
        *(broken("learned", "norm", value=math.nan), broken("learned", "norm", value=math.inf)),
        broken("learned", "inputs", 0, "weights", value=[math.nan]),
        broken("learned", "inputs", 0, "weights", value=["1e400"]),
        broken("learned", "inputs", 1, "values", value=["f", "f"]),
    ],
)
def test_a_file_that_is_no_model_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ShippedModelError, match=r"hearsay-estimator|estimator of this version"):
        ShippedModel.from_document(changed)


def test_a_range_in_other_parts_than_the_estimator_cuts_is_refused() -> None:
    with pytest.raises(ShippedModelError, match="lacks weights"):
        ShippedModel.from_document(document(((-1, 0, 1, 2), *CROSSES[1:]), None))


def test_a_feature_of_one_value_is_refused() -> None:
    with pytest.raises(ShippedModelError, match="is not a model"):
        ShippedModel.from_document(
            broken("learned", "inputs", 1, value={"name": "sex", "values": ["f"], "weights": []})
        )


def test_a_probability_is_one_whatever_the_score() -> None:
    for intercept in (-1e6, -40.0, 40.0, 1e6):
        probability = ShippedModel.from_document(broken("learned", "intercept", value=intercept)).probability(
            people()[0][0]
        )
        assert probability == (intercept > 0)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ShippedModelError, match=r"none.json cannot be read"):
        ShippedModel.read(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ShippedModelError, match=r"bad.json is not JSON"):
        ShippedModel.read(tmp_path / "bad.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ShippedModelError, match="is not a model"):
        ShippedModel.read(tmp_path / "list.json")
