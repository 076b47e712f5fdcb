"""Which windows are wanted, and what the renderings say of what is unusual."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Registry, Window
from estimator.formats.json_documents import document_of
from estimator.render import FORMATS
from estimator.report.report import make_report
from estimator.results.estimate import Estimate
from estimator.results.report import Request, Selection
from estimator.statistics.confidence import EXACT_BELOW
from estimator.statistics.intervals import binomial_interval
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, NUMBER, registry_text
from tests.support.estimates import every_kind
from tests.support.estimates.inverses import PRECISION
from tests.support.estimates.tallies import REGISTRY, line, tally


@pytest.mark.parametrize(
    ("first", "last", "window", "expected"),
    [
        ("2026-11", "2026-11", "2026-11-01", True),
        ("2026-11", "2026-11", "2026-11-30", True),
        ("2026-11", "2026-11", "2026-12-01", False),
        ("2026-11", "2026-11", "2026-10-31", False),
        ("2026-W48", "2026-W48", "2026-11-29", True),
        ("2026-11-29", "2026-11-29", "2026-W48", True),
        ("2026-11-30", "2026-11-30", "2026-W48", False),
        (None, "2026-11-20", "2026-11-20", True),
        (None, "2026-11-20", "2026-11-21", False),
        ("2026-11-20", None, "2026-11-19", False),
        (None, None, "2026-11-19", True),
    ],
)
def test_a_window_is_wanted_if_it_meets_the_span(
    first: str | None, last: str | None, window: str, *, expected: bool
) -> None:
    selection = Selection(first and Window.parse(first), last and Window.parse(last))  # type: ignore[arg-type] # none stays
    assert selection.spans(Window.parse(window)) is expected


def test_an_interval_of_one_point_is_explained_and_others_are_not() -> None:
    beyond = make_report(REGISTRY, decode([line("startup_ms", [0, 60])]))
    assert "An interval of a single point" in FORMATS["table"](beyond)
    ordinary = make_report(REGISTRY, decode([line("startup_ms", [30, 30])]))
    assert "An interval of a single point" not in FORMATS["table"](ordinary)


@pytest.mark.parametrize("statistic", ["mean", "distribution", "quantiles"])
def test_a_range_that_floats_cannot_hold_is_named_and_other_metrics_are_answered(statistic: str) -> None:
    narrow = NUMBER | {"low": 10**16, "high": 10**16 + 1, "statistic": statistic}
    registry = Registry.parse(registry_text(narrow=narrow, dark_mode=BOOLEAN))
    lines = [tally(metric, [3] * metric.channel.symbols) for metric in registry.metrics.values()]
    report = make_report(registry, decode(lines), request=Request(highlights=True, pool=True))
    assert [metric.metric for metric in report.metrics] == ["dark_mode"]
    assert "its range from 10000000000000000 to 10000000000000000 is too narrow for floats" in report.skipped[0].reason


FRACTIONS = st.fractions(-1000, 1000, max_denominator=997)


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(least=FRACTIONS, width=st.fractions(Fraction(1, 997), 1000, max_denominator=997))
def test_an_interval_of_a_mean_never_leaves_the_domain(least: Fraction, width: Fraction) -> None:
    low, high = float(least), float(least + width)
    everything = Estimate(None, None, 0.0, 1.0, None).between(low, high)
    assert (everything.low, everything.high) == (low, high)


@pytest.mark.parametrize("reports", [10**15, 10**18, 2**63 - 1])
def test_an_interval_is_not_upside_down_however_many_reports_there_are(reports: int) -> None:
    for count in (0, 1, reports // 3, reports - 1, reports):
        low, high = binomial_interval(count, reports)
        assert 0 <= low <= high <= 1


def members_of(document: object, place: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(document, dict | list | tuple):
        members = document.items() if isinstance(document, dict) else enumerate(document)
        for name, member in members:
            yield from members_of(member, f"{place}.{name}")
    else:
        yield place, document


@pytest.mark.long
@pytest.mark.parametrize("reports", [0, 1, 60, 3000])
def test_tallies_side_by_side_tell_what_each_tells_alone(reports: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def members_by_type() -> tuple[dict[str, float], dict[str, object]]:
        request = Request(covariance=True, simultaneous=reports > EXACT_BELOW)
        report = make_report(every_kind.REGISTRY, decode(every_kind.tallies(reports).splitlines()), request=request)
        members = dict(members_of(document_of(report)))
        numbers = {place: value for place, value in members.items() if isinstance(value, float)}
        return numbers, {place: value for place, value in members.items() if place not in numbers}

    numbers, others = members_by_type()
    monkeypatch.setattr("estimator.analyses.answers.AT_ONCE", 1)
    numbers_alone, others_alone = members_by_type()
    assert numbers == pytest.approx(numbers_alone, rel=math.sqrt(PRECISION), abs=math.sqrt(PRECISION))
    assert others == others_alone
