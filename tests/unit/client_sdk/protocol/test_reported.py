"""What a report says in words: its likeliest answers, by enumeration, for every mechanism."""

from __future__ import annotations

import pytest

from client_sdk.labels import reported
from client_sdk.protocol.channel import MOST_LIKELIEST
from client_sdk.protocol.kinds.words import either
from client_sdk.protocol.sentences import shipped
from tests.support.core.tables import for_each
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSSED_MODEL,
    GAUSSIAN,
    NUMBER,
    SET,
    TEXT,
    VECTOR,
    Field,
    metric_of,
)

NAMES = [f"v{number}" for number in range(13)]
FEW = CATEGORY | {"values": NAMES}
METRICS: dict[str, dict[str, Field]] = {
    "randomized-response": BOOLEAN,
    "k-ary-randomized-response": FEW | {"mechanism": "k-ary-randomized-response"},
    "cyclic-design": FEW | {"mechanism": "cyclic-design", "epsilon": 1},
    "projective-geometry": FEW | {"mechanism": "projective-geometry", "epsilon": 1},
    "balanced-design": FEW | {"mechanism": "balanced-design", "epsilon": 1},
    "part of a balanced design": CATEGORY | {"values": ["a", "b"], "mechanism": "balanced-design", "epsilon": 1},
    "exponential": FEW | {"kind": "ordinal", "mechanism": "exponential"},
    "one-bit": NUMBER | {"mechanism": "one-bit"},
    "laplace": NUMBER | {"mechanism": "laplace", "epsilon": 4},
    "optimal-mean": NUMBER | {"mechanism": "optimal-mean", "epsilon": 4},
    "square-wave": NUMBER | {"statistic": "distribution", "mechanism": "square-wave"},
    "gaussian": GAUSSIAN,
    "hierarchical": COUNT | {"max": 40, "statistic": "quantiles", "epsilon": 4},
    "permanent": FEW | {"permanent_epsilon": 2, "epsilon": 1},
}

FIRST_SYMBOLS = 6
"""Of a fine grid some symbols at each end are enumerated, and some in the middle."""


@pytest.mark.slow
@for_each("name", METRICS)
def test_the_named_inputs_are_those_that_make_a_symbol_likeliest(name: str) -> None:
    channel = metric_of(METRICS[name]).channel
    step = channel.last_step
    middle = step.symbols // 2
    ends = {*range(min(FIRST_SYMBOLS, step.symbols)), *range(max(0, step.symbols - FIRST_SYMBOLS), step.symbols)}
    for symbol in ends | {middle}:
        chances = [step.probability(symbol, given) for given in range(step.inputs)]
        greatest = max(chances)
        best = [given for given, chance in enumerate(chances) if chance == greatest]
        said = list(step.likeliest(symbol))
        assert said == (best[:MOST_LIKELIEST] if name == "projective-geometry" else best), symbol


def test_every_mechanism_of_the_catalogue_is_named() -> None:
    from client_sdk.protocol.mechanisms.catalogue import NAMES as MECHANISMS  # noqa: PLC0415 beside its use

    played = {metric_of(fields).channel.name for fields in METRICS.values()}
    assert {name for name in MECHANISMS if name not in played} == {
        "auto",
        "rotated-axes",
        "grouped-geometry",
        "crosses",
        "one-of",
        "pair-geometry",
    }


@pytest.mark.parametrize(
    ("fields", "symbol", "words"),
    [
        *((BOOLEAN, 1, "true"), (BOOLEAN | {"fill_in": True}, 2, "nothing recorded")),
        (CATEGORY | {"values": ["dark", "light", "auto"], "mechanism": "k-ary-randomized-response"}, 1, "light"),
        (SET | {"mechanism": "k-ary-randomized-response"}, 3, "nothing more"),
        *((SET | {"mechanism": "one-of"}, 4, "c: false"), (SET | {"mechanism": "one-of"}, 3, "b: true")),
        (SET | {"mechanism": "pair-geometry"}, 12, "a, b, c or others"),
        (SET | {"mechanism": "pair-geometry"}, 0, "a"),
        (NUMBER | {"mechanism": "one-bit", "low": 0, "high": 5000}, 1, "5,000"),
        (NUMBER | {"mechanism": "one-bit", "low": 0, "high": 5000}, 0, "0"),
        (TEXT, 3541 * 2 + 5, "texts in 60 of 3,541 cells, those of point 5 in group 2"),
        *((CROSSED_MODEL, 0, "age: 18 to 30 with label false"), (CROSSED_MODEL, 12 + 3, "sex: m with label true")),
        (VECTOR, 0, "along axis 0 of random rotation 0"),
        (VECTOR, 2 * 128 * 17 + 2 * 5 + 1, "against axis 5 of random rotation 17"),
    ],
)
def test_a_report_is_named_by_answers(fields: dict[str, Field], symbol: int, words: str) -> None:
    assert reported(metric_of(fields), symbol, shipped()) == words


def test_of_many_answers_only_some_are_named() -> None:
    words = reported(metric_of(METRICS["cyclic-design"]), 0, shipped())
    assert words.endswith(" or others") or words.count(" or ") == 1
    assert reported(metric_of(METRICS["projective-geometry"]), 0, shipped()).endswith(" or others")


def test_a_range_is_named_by_its_ends() -> None:
    metric = metric_of(NUMBER | {"mechanism": "optimal-mean", "low": 0, "high": 5000, "epsilon": 4})
    low, _, high = reported(metric, metric.channel.symbols // 2, shipped()).partition(" to ")
    assert 0 < float(low.replace(",", "")) < float(high.replace(",", "")) < 5000


@pytest.mark.parametrize(
    ("answers", "words"), [("a", "a"), ("ab", "a or b"), ("abc", "a, b or c"), ("abcd", "a, b, c or others")]
)
def test_three_answers_are_named_and_more_are_not(answers: str, words: str) -> None:
    assert either(answers, shipped()) == words
