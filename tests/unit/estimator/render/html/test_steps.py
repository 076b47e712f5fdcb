"""Steps of a scale that name a range of per cents are read; others are not guessed."""

from __future__ import annotations

import pytest

from estimator.render.html.chart_data import ranges_of


def test_the_steps_of_a_probability_are_ranges() -> None:
    steps = ["below 10 %", "10 to 30 %", "30\N{EN DASH}60\N{NO-BREAK SPACE}%", "60 % or more"]  # codespell:ignore
    assert ranges_of(steps) == [(0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1)]
    shares = ["< 2.5%", "2.5% to 50%", "at least 50 %"]  # codespell:ignore
    assert ranges_of(shares) == [(0, 0.025), (0.025, 0.5), (0.5, 1)]


@pytest.mark.parametrize("steps", [["low", "high"], ["below 10%", "the rest"], ["30 to 10%"], ["below 200%"], [""]])
def test_other_steps_have_no_ranges(steps: list[str]) -> None:
    assert ranges_of(steps) == []
