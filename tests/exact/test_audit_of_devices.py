"""The audit plays the real SDK: it accuses no right one, and any that leaks on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from client_sdk import Registry
from client_sdk.answers import prf_coins
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol import Coins
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from estimator.audit import run
from estimator.audit.attack import level_of, provable
from estimator.audit.black_box import INSTALLED, MakeDevice, without_ceilings
from estimator.audit.distinguishers import LEAST_FOR_PAIRS
from estimator.audit.run import (
    LEAST_REPORTS,
    MONTH,
    REPORTS_A_WINDOW,
    Audit,
    Game,
    GameGroup,
    audit,
    chosen,
    game_groups,
)
from tests.support.devices.audit_registries import BOOLEAN_ONLY, KINDS, PERMANENT, TWO
from tests.support.devices.definitions import BOOLEAN, TEXT, metric_of, registry_text
from tests.support.mutants.audits import LEAKS, NeverNoised, RepeatedCoins, SeededCoins, seeded
from tests.support.mutants.permanent_answers import PERMANENT_MUTANTS

SEED = 3

LITTLE = chosen(Registry.parse(registry_text(dark_mode=BOOLEAN | {"epsilon": 0.4})), ())
"""The less is claimed, the fewer months refute it. With this epsilon they are just enough to teach
the audit pairs of windows."""

ENOUGH_OF_A_LIE = 300
"""Reports of each answer. Of a no that is never noised no report is a yes, of a yes 73% are. Of
the 150 that prove, 73 refute the claim; fewer are seen with a chance of 10**-10."""


def games_of(planned: Sequence[GameGroup]) -> list[Game]:
    return [game for game_group in planned for game in game_group.games]


def enough(games: Sequence[Game]) -> int:
    """Return the fewest observations of each answer that refute the least of some claims.

    They refute it by an event that is certain after one answer and never seen after the other.

    The second half of them proves. Such an event shows whatever the other coins do.
    """
    claim, level, proving = min(game.claim.epsilon for game in games), level_of(len(games)), 1
    while provable(proving, 0, proving, level) <= claim:
        proving += 1
    return 2 * proving


def horizons_of(outcome: Audit) -> set[str]:
    return {finding.horizon for finding in outcome.findings if finding.accused}


@pytest.mark.long
def test_a_right_sdk_is_not_accused_at_any_horizon_of_any_kind() -> None:
    outcome = audit(without_ceilings(KINDS), LEAST_REPORTS, make_device=seeded(SEED))
    assert not outcome.accused
    assert len({finding.horizon for finding in outcome.findings}) == 5
    assert {finding.metric for finding in outcome.findings} == {None, *KINDS.metrics}
    (load,) = [each for each in outcome.findings if (each.metric, each.horizon) == ("load", "one report")]
    assert load.claimed_delta == pytest.approx(float(KINDS.metric("load").delta))
    assert load.claimed_delta > 0


@pytest.mark.parametrize("name", LEAKS)
def test_an_sdk_that_leaks_beside_its_channels_is_accused(name: str) -> None:
    assert enough(games_of(game_groups(BOOLEAN_ONLY, LEAST_REPORTS))) <= LEAST_REPORTS
    outcome = audit(BOOLEAN_ONLY, LEAST_REPORTS, make_device=partial(LEAKS[name], coins=SeededCoins(SEED)))
    assert "one report" in horizons_of(outcome)


@pytest.mark.long
def test_coins_that_two_reports_of_a_window_share_are_seen_in_both_together(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, windows = game_groups(TWO, LEAST_REPORTS)
    reports = REPORTS_A_WINDOW * enough(windows.games)
    *_, windows = game_groups(TWO, reports)
    assert {game.horizon for game in windows.games} == {"a window, all answers differ", "a window, one answer differs"}
    monkeypatch.setattr(run, "game_groups", lambda *_: [windows])  # in the others a device reports one metric
    device: MakeDevice = partial(INSTALLED, coins=RepeatedCoins(SEED, 2 * 2))
    outcome = audit(TWO, reports, make_device=device)
    assert "a window, one answer differs" in horizons_of(outcome)


@pytest.mark.long
def test_coins_that_repeat_from_window_to_window_are_seen_only_in_a_month() -> None:
    device: MakeDevice = partial(INSTALLED, coins=RepeatedCoins(SEED, 2 * MONTH))
    months = enough(games_of(game_groups(LITTLE, LEAST_REPORTS)))
    assert months // 4 >= LEAST_FOR_PAIRS
    outcome = audit(LITTLE, MONTH * months, make_device=device)
    assert horizons_of(outcome) == {f"{MONTH} windows, one answer differs"}


@pytest.mark.long
def test_a_wrong_channel_within_the_sdk_is_accused() -> None:
    metric = BOOLEAN_ONLY.metric("dark_mode")
    assert isinstance(metric.channel, RandomizedResponse)
    wrong = replace(metric, channel=NeverNoised(metric.channel.keep_numerator))
    outcome = audit(replace(BOOLEAN_ONLY, metrics={"dark_mode": wrong}), ENOUGH_OF_A_LIE, make_device=seeded(SEED))
    assert "one report" in horizons_of(outcome)


class OneGroupForShortTexts(GroupedGeometry):
    """A channel that puts a text of one letter into the first group."""

    __slots__ = ()

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        symbol = super().perturb(value, coins)
        return symbol % self.inputs if value in SHORT else symbol


WORDS = chosen(Registry.parse(registry_text(word=TEXT | {"epsilon": 1})), ())
WORD = WORDS.metric("word")
SHORT = [WORD.encode(letter, SeededCoins(SEED)) for letter in TEXT["letters"]]  # type: ignore[union-attr]


def audit_of_words(channel: GroupedGeometry, monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Tell single reports of texts apart."""
    words = replace(WORDS, metrics={"word": replace(WORD, channel=channel)})
    (game_group,) = game_groups(words, 480)
    single = replace(game_group, games=tuple(game for game in game_group.games if game.by_window))
    monkeypatch.setattr(run, "game_groups", lambda *_: [single])
    return audit(words, 480, make_device=seeded(SEED))


@pytest.mark.long
def test_texts_that_differ_in_length_and_first_letter_are_told_apart_no_further_than_epsilon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(WORD.channel, GroupedGeometry)
    outcome = audit_of_words(WORD.channel, monkeypatch)
    assert not outcome.accused
    pairs = [finding.answers for finding in outcome.findings]
    assert any(len(first) != len(second) and first[0] != second[0] for first, second in pairs)


@pytest.mark.long
def test_a_group_that_depends_on_the_length_of_a_text_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(WORD.channel, GroupedGeometry)
    outcome = audit_of_words(OneGroupForShortTexts(WORD.channel.geometry, WORD.channel.weights), monkeypatch)
    assert horizons_of(outcome) == {"one report"}
    assert all(min(map(len, finding.answers)) == 1 for finding in outcome.findings if finding.accused)


@pytest.mark.long
def test_a_right_sdk_is_not_accused_of_its_permanent_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "draw_secret", partial(np.random.default_rng(SEED).bytes, 32))
    outcome = audit(PERMANENT, LEAST_REPORTS, make_device=seeded(SEED))
    assert not outcome.accused
    claims = {
        (finding.metric, finding.horizon): finding.claimed_epsilon
        for finding in outcome.findings
        if finding.horizon.startswith(f"{MONTH} windows")
    }
    theme = PERMANENT.metric("theme")
    each, permanent = theme.epsilon_nanos / 1e9, theme.channel.permanent_nanos / 1e9
    horizons = ("all answers differ", "one answer differs")
    assert claims.keys() == {
        *((metric, f"{MONTH} windows, {horizon}") for metric in ("theme", "load") for horizon in horizons),
        ("load", f"{MONTH} windows, intermediate answers"),
    }
    assert claims["theme", f"{MONTH} windows, all answers differ"] == pytest.approx(permanent)
    assert claims["theme", f"{MONTH} windows, one answer differs"] == pytest.approx(each)
    assert claims["load", f"{MONTH} windows, intermediate answers"] == pytest.approx(permanent)


@pytest.mark.long
def test_an_sdk_whose_permanent_answers_never_lie_is_accused_by_a_month(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = PERMANENT_MUTANTS["a permanent answer that never lies"](SeededCoins(SEED))
    monkeypatch.setattr(prf_coins, "PrfCoins", wrong)
    metric = metric_of(BOOLEAN | {"permanent_epsilon": 1})
    registry = replace(PERMANENT, metrics={"m": metric})
    _, month = game_groups(registry, 4000)
    # the others take long
    monkeypatch.setattr(run, "game_groups", lambda *_: [replace(month, games=month.games[:1])])
    outcome = audit(registry, 4000, make_device=seeded(SEED))
    assert horizons_of(outcome) == {f"{MONTH} windows, all answers differ"}
