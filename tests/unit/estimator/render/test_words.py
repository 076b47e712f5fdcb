"""A privacy loss is never shown smaller than it is, and a requested delta as it was requested."""

from __future__ import annotations

import pytest

from estimator.render.html.wording import found_words
from estimator.render.words import change_words, compared_words, exact_loss, outcome_words, short_loss
from estimator.results.estimate import Figure, Figures
from estimator.results.group import FigureGroup
from estimator.results.report import Change, Changes, ChangeVerdict


@pytest.mark.parametrize(
    ("loss", "shown"),
    [(1e-5, "1e-05"), (1e-9, "1e-09"), (0.001, "0.001"), (1e-6, "1e-06"), (0.5461, "0.547"), (28.04, "28.1"), (7, "7")],
)
def test_a_loss_has_three_digits_and_is_rounded_up(loss: float, shown: str) -> None:
    assert short_loss(loss) == shown


@pytest.mark.parametrize(("epsilon", "shown"), [(1.0, "1"), (0.75, "0.75"), (1.098612289, "1.098612289"), (10.0, "10")])
def test_an_epsilon_has_the_decimals_that_it_needs(epsilon: float, shown: str) -> None:
    assert exact_loss(epsilon) == shown


def changes(verdict: ChangeVerdict, estimate: float, since: str | None = None, asked: str | None = None) -> Changes:
    shares = FigureGroup(
        "share", Figures.from_rows([Figure(estimate, 0.01, estimate - 0.03125, estimate + 0.03125, value="a")])
    )
    found = Change(
        estimate=estimate,
        standard_error=0.01,
        low=estimate - 0.03125,
        high=estimate + 0.03125,
        value="a",
        statistic="share",
        verdict=verdict,
        since=since,
    )
    return Changes(
        metric="m",
        edition="0" * 12,
        first="2026-W01",
        last="2026-W09",
        windows=9,
        since=asked,
        groups=(shares,),
        found=(found,),
        tests=1,
    )


@pytest.mark.parametrize(
    ("verdict", "since", "asked", "said"),
    [
        (ChangeVerdict.LOWER_SINCE, "2026-W05", None, "6 points lower than before 2026-W05"),
        (ChangeVerdict.HIGHER_SINCE, "2026-W05", "2026-W05", "6 points higher than before 2026-W05"),
        (ChangeVerdict.FALLING, None, None, "falling, by 6 points between 2026-W01 and 2026-W09"),
        (ChangeVerdict.CHANGED, None, None, "6 points lower in 2026-W09 than in 2026-W01"),
        (ChangeVerdict.PERHAPS_CHANGED, None, "2026-W05", "perhaps 6 points higher than before 2026-W05"),
    ],
)
def test_a_change_is_told_by_its_size_its_direction_and_its_time(
    verdict: ChangeVerdict, since: str | None, asked: str | None, said: str
) -> None:
    told = changes(verdict, 0.06 if "higher" in said else -0.06, since, asked)
    plain = change_words(told.found[0], told).replace("\N{NO-BREAK SPACE}", " ")
    assert plain.replace(".0", "") == f"“a” is {said} (2 to 10)"
    assert f"since {asked}" in found_words(told.found[0], told) if asked else True


def test_a_comparison_since_a_window_has_one_wording() -> None:
    told = changes(ChangeVerdict.HIGHER_SINCE, 0.06, "2026-W05", "2026-W05")
    assert compared_words(told) == "since 2026-W05, compared with before"
    assert "than before 2026-W05" in outcome_words(told)
