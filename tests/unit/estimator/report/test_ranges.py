"""Which ranges a report can have the share of, and the sentence that refuses any other."""

from __future__ import annotations

import pytest

from client_sdk.protocol import Registry
from client_sdk.protocol.errors import UnknownMetricError
from estimator.errors import RequestError
from estimator.report.report import check_ranges
from tests.support.devices.definitions import BOOLEAN, COUNT, NUMBER, registry_text

REGISTRY = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        mean_ms=NUMBER,
        startup_ms=NUMBER | {"low": -5, "high": 10, "statistic": "distribution"},
        steps=COUNT | {"max": 40},
        crashes=COUNT,
    )
)


@pytest.mark.parametrize(
    "requested", [("startup_ms", 2.0, 10.0), ("startup_ms", -5.0, -4.5), ("steps", 3.0, 3.0), ("steps", 0.0, 40.0)]
)
def test_a_range_within_the_answers_of_a_distribution_can_be_had(requested: tuple[str, float, float]) -> None:
    check_ranges(REGISTRY, [requested])


UNKNOWN = 'cannot be estimated; only numbers and counts with statistic = "distribution" or "quantiles" can'


@pytest.mark.parametrize(
    ("requested", "problem"),
    [
        (("dark_mode", 0, 1), UNKNOWN),
        (("mean_ms", 2, 3), UNKNOWN),
        (("crashes", 2, 3), "the share of each count, or the share above each threshold"),
        (("startup_ms", 2, 2), "the range of startup_ms from 2 to 2 is a single number"),
        (("startup_ms", 3.5, 2), "the range of startup_ms from 3.5 to 2 ends before it begins; swap its ends"),
        (("steps", 3, 2), "ends before it begins"),
        (("startup_ms", 2, 10.5), "exceeds the possible answers, -5 to 10; choose other ends"),
        (("startup_ms", -6, 2), "exceeds the possible answers"),
        (("steps", 0, 41), "exceeds the possible answers, 0 to 40"),
        (("steps", float("nan"), 2), "exceeds the possible answers"),
        (("steps", 0, float("inf")), "exceeds the possible answers"),
    ],
)
def test_any_other_range_is_refused(requested: tuple[str, float, float], problem: str) -> None:
    with pytest.raises(RequestError) as caught:
        check_ranges(REGISTRY, [("startup_ms", 2, 10), requested])
    assert problem in str(caught.value)


def test_the_range_of_an_unknown_metric_is_refused() -> None:
    with pytest.raises(UnknownMetricError, match="no metric 'x'"):
        check_ranges(REGISTRY, [("x", 2, 10)])
