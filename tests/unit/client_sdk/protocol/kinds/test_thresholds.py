"""Thresholds of a number: which are taken, what is refused, and what users read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from client_sdk.protocol.kinds.kind import AskedMetric
from client_sdk.protocol.kinds.number import Thresholds
from client_sdk.protocol.sentences import shipped
from tests.support.devices.definitions import THRESHOLDS, Field, Toml, metric_of, mistakes

RISE = "must be in ascending order, above low and at most high"
LISTED = "must be a list of 1 to 10 numbers"


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    [
        ({"statistic": "mean"}, "thresholds", 'is only for statistic = "quantiles"; use that, or remove thresholds'),
        *(({"thresholds": Toml("[]")}, "thresholds", LISTED), ({"thresholds": 3}, "thresholds", LISTED)),
        ({"thresholds": Toml('["3"]')}, "thresholds", LISTED),
        ({"thresholds": Toml("[true]")}, "thresholds", LISTED),
        ({"thresholds": Toml("[nan]")}, "thresholds", LISTED),
        ({"thresholds": Toml(str(list(range(1, 12))))}, "thresholds", LISTED),
        *(({"thresholds": Toml("[0, 3]")}, "thresholds", RISE), ({"thresholds": Toml("[3, 3]")}, "thresholds", RISE)),
        *(({"thresholds": Toml("[3, 2]")}, "thresholds", RISE), ({"thresholds": Toml("[3, 9.1]")}, "thresholds", RISE)),
        ({"permanent_epsilon": 2}, "permanent_epsilon", "does not apply to thresholds; remove it"),
        ({"fill_in": Toml("true")}, "fill_in", "does not apply to this number; record an answer in every window"),
        ({"mechanism": "hierarchical"}, "mechanism", "'hierarchical' does not support a number; use one that does"),
    ],
)
def test_what_is_wrong_with_thresholds_is_said(changes: dict[str, Field], key: str, problem: str) -> None:
    assert mistakes(m=THRESHOLDS | changes)[f"metric.m.{key}"].startswith(problem)


@pytest.mark.parametrize("mistaken", ["low", "high", "statistic"])
def test_thresholds_without_a_range_or_a_statistic_are_no_second_mistake(mistaken: str) -> None:
    assert set(mistakes(m=THRESHOLDS | {mistaken: Toml("[]")})) == {f"metric.m.{mistaken}"}


def test_a_number_is_in_the_cell_of_the_last_threshold_that_it_reaches() -> None:
    kind = metric_of(THRESHOLDS).kind
    assert isinstance(kind, Thresholds)
    assert [kind.symbol(answer) for answer in (-1, 0, 1.99, 2, 4.5, 5.99, 6, 9, 10**9)] == [0, 0, 0, 1, 2, 2, 3, 3, 3]
    assert [kind.symbol(answer) for answer in kind.answers] == list(range(4))
    assert kind.thresholds == (Fraction(2), Fraction(9, 2), Fraction(6))


def test_the_statement_and_a_report_name_the_cells() -> None:
    metric, say = metric_of(THRESHOLDS | {"unit": "s"}), shipped()
    (told,) = metric.kind.statement(AskedMetric("s", "day", 4), say)
    assert "the range that contains a number. Ranges begin and end at 0, 2, 4.5, 6 and 9 s. The number itself" in told
    assert metric.kind.reported(metric.channel, 1, metric.labels, say) == "2 to 4.5"
    assert metric.kind.reported(metric_of(THRESHOLDS, epsilon=Toml("0.5")).channel, 1, metric.labels, say)
