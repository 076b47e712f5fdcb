"""The audit plays the real SDK: a right one is not accused, and one that leaks anywhere on its way
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from client_sdk import Registry
from client_sdk.answers import coins
from client_sdk.ledger import create
from client_sdk.protocol import Coins, Metric, Upload
from client_sdk.protocol.mechanisms.grouped.geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from estimator.audit import run
from estimator.audit.answers import extremes
from estimator.audit.attack import FALSE_ACCUSATION, LEAST_OBSERVATIONS, PrivacyClaim, attack, level_of
from estimator.audit.black_box import INSTALLED, Life, MakeDevice, play, without_ceilings
from estimator.audit.bounds import provable
from estimator.audit.features import observe, tabulate
from estimator.audit.games import APART, LEAST_REPORTS, MONTH, Contest, scenes
from estimator.audit.run import Audit, audit, chosen, default_reports, windows_played
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    NEAREST,
    NUMBER,
    TEXT,
    metric_of,
    registry_text,
)
from tests.support.laws.histories import changes, places
from tests.support.mutants.audits import LEAKS, NeverNoised, RepeatedCoins, SeededCoins, seeded, table_of
from tests.support.mutants.permanent_answers import PERMANENT_MUTANTS

SEED = 3

KINDS = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY,
        size=NUMBER,
        mood=CATEGORY | {"kind": "ordinal"},
        languages=CATEGORY | {"kind": "set", "max_items": 2},
        crashes={"purpose": "Why?", "kind": "count", "max": 9, "statistic": "mean", "epsilon": 1},
        used=ACTIVITY,
        topic=NEAREST,
        both={"purpose": "Why?", "cross": ["dark_mode", "os"], "epsilon": 1},
        load=NUMBER | {"mechanism": "gaussian", "delta": 1e-3, "epsilon": 2, "window": "week"},
    )
)
BOOLEAN_ONLY = chosen(KINDS, ("dark_mode",))
TWO = chosen(Registry.parse(registry_text(dark_mode=BOOLEAN, sound=BOOLEAN)), ())


def enough(registry: Registry) -> int:
    """Return the reports of an answer of which the months prove a certain event that is never seen otherwise.

    The second half of the months proves. Any number of reports makes the same contests.
    """
    (claim,) = {contest.claim for contest in contests(registry) if contest.by_window}
    level, proving = level_of(len(contests(registry))), 1
    while provable(proving, 0, proving, level) <= claim.epsilon:
        proving += 1
    return 2 * MONTH * proving


def contests(registry: Registry) -> list[Contest]:
    return [contest for scene in scenes(registry, LEAST_REPORTS) for contest in scene.contests]


def horizons_of(outcome: Audit) -> set[str]:
    return {finding.contest.horizon for finding in outcome.accused}


def test_the_extremes_of_every_kind_are_answers_of_its_domain() -> None:
    names = {name: [answer.name for answer in extremes(metric)] for name, metric in KINDS.metrics.items()}
    assert names == {
        "dark_mode": ["false", "true"],
        "os": ["a", "c", "b"],
        "size": ["0", "9"],
        "mood": ["a", "c", "b"],
        "languages": ["{}", "{a, b}", "{b, c}"],
        "crashes": ["0", "9"],
        "used": ["0", "7"],
        "topic": ["near", "up", "right"],
        "both": ["false, a", "true, c", "false, b", "false, c"],
        "load": ["0", "9"],
    }
    for metric in KINDS.metrics.values():
        for answer in extremes(metric):
            metric.perturb(answer.value, SeededCoins(SEED))


def test_the_search_for_the_nearest_prototype_is_audited_by_vectors() -> None:
    answers = extremes(KINDS.metric("topic"))
    assert [answer.value for answer in answers] == [[0, 0], [-1, 2], [1, 0.5]]


def test_a_device_sends_one_report_a_metric_and_window_however_small_its_budget() -> None:
    poor = Registry.parse(
        registry_text(load=NUMBER | {"window": "month"}, dark_mode=BOOLEAN).replace("400", "1").replace("20", "1")
    )
    metric = poor.metric("load")
    life = Life(tuple({"load": 9, "dark_mode": True} for _ in range(MONTH)), metric.window)
    windows = play(without_ceilings(poor), life)
    assert [len(bodies) for bodies in windows] == [1] * MONTH
    uploads = [Upload.decode(body) for (body,) in windows]
    assert [{report.metric for report in upload.reports} for upload in uploads] == [{"load", "dark_mode"}] * MONTH
    assert len({report.window for upload in uploads for report in upload.reports}) == 2 * MONTH


def test_an_expired_metric_is_still_played_and_means_the_same() -> None:
    text = registry_text(dark_mode=BOOLEAN) + "expires = 2020-01-01\n"
    old = Registry.parse(text)
    registry = chosen(old, ())
    assert registry.metric("dark_mode").edition == old.metric("dark_mode").edition
    ((body,),) = play(registry, Life(({"dark_mode": True},), registry.budget.window))
    assert len(Upload.decode(body).reports) == 1


def test_what_is_in_the_bytes_is_observed() -> None:
    registry = without_ceilings(KINDS)
    ((body,),) = play(registry, Life(({"dark_mode": True, "os": "a"},), registry.budget.window))
    seen = {feature.name: value for feature, value in observe([[body, b"not JSON"]]).items()}
    assert seen["uploads"] == 2
    assert seen["bytes of upload 0"] == len(body)
    assert seen["id of upload 0"] == Upload.decode(body).id
    assert seen["order of upload 0"] in (("dark_mode", "os"), ("os", "dark_mode"))
    assert {"symbol 1 of os", "place of os in upload 0"} < set(seen)
    assert seen["all of upload 1"] == b"not JSON"
    assert "all of upload 0" not in seen


def test_a_right_sdk_is_not_accused_at_any_horizon_of_any_kind() -> None:
    outcome = audit(without_ceilings(KINDS), LEAST_REPORTS, make_device=seeded(SEED))
    assert not outcome.accused
    assert len({finding.contest.horizon for finding in outcome.results}) == 5
    assert {finding.contest.metric for finding in outcome.results} == {None, *KINDS.metrics}
    (load,) = [each for each in outcome.results if (each.contest.metric, each.contest.by_window) == ("load", True)]
    assert load.bound.claim.delta == pytest.approx(float(KINDS.metric("load").delta))
    assert load.bound.claim.delta > 0


def test_what_was_played_is_what_was_planned() -> None:
    steps: list[int] = []
    outcome = audit(TWO, LEAST_REPORTS, after_life=steps.append)
    assert sum(steps) == windows_played(TWO, LEAST_REPORTS)
    assert len(outcome.results) == sum(len(scene.contests) for scene in scenes(TWO, LEAST_REPORTS))
    assert all(finding.bound.observations >= LEAST_OBSERVATIONS for finding in outcome.results)


def test_the_default_takes_about_as_long_for_many_questions_as_for_few() -> None:
    few, many = default_reports(BOOLEAN_ONLY), default_reports(without_ceilings(KINDS))
    assert LEAST_REPORTS < many < few
    assert windows_played(without_ceilings(KINDS), many) < 2 * windows_played(BOOLEAN_ONLY, few) * 10
    crowd = Registry.parse(registry_text(**{f"m{number}": BOOLEAN for number in range(1000)}))
    assert default_reports(chosen(crowd, ())) == LEAST_REPORTS


@pytest.mark.parametrize("name", LEAKS)
def test_an_sdk_that_leaks_beside_its_channels_is_accused(name: str) -> None:
    outcome = audit(BOOLEAN_ONLY, 480, make_device=partial(LEAKS[name], coins=SeededCoins(SEED)))
    assert "one report" in horizons_of(outcome)


def test_coins_that_two_reports_of_a_window_share_are_seen_in_both_together(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, windows = scenes(TWO, 2400)
    assert {contest.horizon for contest in windows.contests} == {"a window, all differ", "a window, one differs"}
    monkeypatch.setattr(run, "scenes", lambda *_: [windows])  # in the others a device reports one metric
    device: MakeDevice = partial(INSTALLED, coins=RepeatedCoins(SEED, 2 * 2))
    outcome = audit(TWO, 2400, make_device=device)
    assert "a window, one differs" in horizons_of(outcome)


def test_coins_that_repeat_from_window_to_window_are_seen_only_in_a_month() -> None:
    device: MakeDevice = partial(INSTALLED, coins=RepeatedCoins(SEED, 2 * MONTH))
    outcome = audit(BOOLEAN_ONLY, enough(BOOLEAN_ONLY), make_device=device)
    assert horizons_of(outcome) == {f"{MONTH} windows, one differs"}


def test_a_wrong_channel_within_the_sdk_is_accused() -> None:
    metric = BOOLEAN_ONLY.metric("dark_mode")
    assert isinstance(metric.channel, RandomizedResponse)
    wrong = replace(metric, channel=NeverNoised(metric.channel.keep_numerator))
    outcome = audit(replace(BOOLEAN_ONLY, metrics={"dark_mode": wrong}), 480, make_device=seeded(SEED))
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
    (scene,) = scenes(words, 480)
    single = replace(scene, contests=tuple(contest for contest in scene.contests if contest.by_window))
    monkeypatch.setattr(run, "scenes", lambda *_: [single])
    return audit(words, 480, make_device=seeded(SEED))


def test_texts_that_differ_in_length_and_first_letter_are_told_apart_no_further_than_epsilon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(WORD.channel, GroupedGeometry)
    outcome = audit_of_words(WORD.channel, monkeypatch)
    assert not outcome.accused
    pairs = [finding.contest.names for finding in outcome.results]
    assert any(len(first) != len(second) and first[0] != second[0] for first, second in pairs)


def test_a_group_that_depends_on_the_length_of_a_text_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(WORD.channel, GroupedGeometry)
    outcome = audit_of_words(OneGroupForShortTexts(WORD.channel.geometry, WORD.channel.weights), monkeypatch)
    assert horizons_of(outcome) == {"one report"}
    assert all(min(map(len, finding.contest.names)) == 1 for finding in outcome.accused)


def test_an_attack_that_sees_nothing_proves_nothing() -> None:
    silent = tabulate([observe([[]])] * 100, [observe([[]])] * 100)
    proof = attack(silent, PrivacyClaim(1.0), level_of(1))
    assert (proof.epsilon, proof.excess) == (0.0, 0.0)


def test_the_level_is_shared_by_all_bounds() -> None:
    assert level_of(25) * 25 * 4 == pytest.approx(FALSE_ACCUSATION)


def test_the_halves_are_not_mixed_up() -> None:
    """An event that occurs only in the first half must prove nothing."""
    half = 2000
    generator = np.random.default_rng(SEED)
    same = {0: 1, 1: 1}
    table = table_of(same, same, 2 * half, generator)  # type: ignore[arg-type] # shares need not be fractions
    table.first[:half], table.second[:half] = 0, 1
    assert attack(table, PrivacyClaim(1.0), level_of(1)).epsilon < 1.0


PERMANENT = chosen(
    Registry.parse(
        registry_text(
            theme=CATEGORY | {"permanent_epsilon": 1, "protects": "pattern", "max_values": 2},
            load=NUMBER | {"permanent_epsilon": 1, "protects": "history"},
        )
    ),
    (),
)


def test_a_right_sdk_is_not_accused_of_its_permanent_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create, "draw_secret", partial(np.random.default_rng(SEED).bytes, 32))
    outcome = audit(PERMANENT, LEAST_REPORTS, make_device=seeded(SEED))
    assert not outcome.accused
    claims = {
        (finding.contest.metric, finding.contest.horizon): finding.bound.claim.epsilon
        for finding in outcome.results
        if finding.contest.horizon.startswith(f"{MONTH} windows")
    }
    each, permanent = PERMANENT.metric("theme").epsilon_nanos / 1e9, PERMANENT.metric("theme").permanent_nanos / 1e9
    horizons = ("all differ", "one differs", "not kept together")
    assert claims.keys() == {
        *((metric, f"{MONTH} windows, {horizon}") for metric in ("theme", "load") for horizon in horizons),
        ("theme", f"{MONTH} windows, one pattern"),
        ("load", f"{MONTH} windows, all between"),
    }
    assert claims["theme", f"{MONTH} windows, all differ"] == pytest.approx(permanent)
    assert claims["theme", f"{MONTH} windows, one pattern"] == pytest.approx(2 * permanent)
    assert claims["theme", f"{MONTH} windows, one differs"] == pytest.approx(each)
    assert claims["theme", APART] == pytest.approx(7 * each)
    assert claims["load", APART] == pytest.approx(MONTH * PERMANENT.metric("load").epsilon_nanos / 1e9)


def contests_of(metric: Metric) -> dict[str, Contest]:
    registry = replace(PERMANENT, metrics={"m": metric})
    return {contest.horizon: contest for scene in scenes(registry, LEAST_REPORTS) for contest in scene.contests}


def answers_of(life: Life) -> list[object]:
    return [answers["m"] for answers in life.answers]


def test_what_is_not_kept_together_changes_at_the_same_times_and_has_no_one_pattern() -> None:
    theme = metric_of(CATEGORY | {"permanent_epsilon": 1, "protects": "pattern", "max_values": 3})
    contest = contests_of(theme)[APART]
    assert contest.names == ("a, b, a, b", "a, b, c, b")
    first, second = ([theme.domain.labels.index(answer) for answer in answers_of(life)] for life in contest.lives)
    assert changes(first) == changes(second)
    assert places(first, 3) != places(second, 3)


def test_numbers_that_are_nearly_equal_are_not_kept_together_with_the_ends() -> None:
    size = metric_of(NUMBER | {"high": 1, "permanent_epsilon": 1, "protects": "pattern", "max_values": 2})
    contest = contests_of(size)[APART]
    assert contest.names == ("0.5, 0.5000001", "0, 1")
    assert [set(answers_of(life)) for life in contest.lives] == [{Fraction(1, 2), Fraction(5000001, 10**7)}, {0, 1}]
    clicks = metric_of(COUNT | {"statistic": "mean", "permanent_epsilon": 1, "protects": "history"})
    assert contests_of(clicks)[APART].names == ("4, 5", "0, 9")


def test_histories_of_two_values_that_change_at_the_same_times_are_kept_together() -> None:
    assert APART not in contests_of(metric_of(BOOLEAN | {"permanent_epsilon": 1, "protects": "history"}))


def test_where_one_permanent_answer_speaks_for_all_every_month_is_within_its_epsilon() -> None:
    once = metric_of(CATEGORY | {"permanent_epsilon": 1, "protects": "pattern", "max_values": 1})
    claims = {horizon: contest.claim.epsilon for horizon, contest in contests_of(once).items()}
    assert claims[APART] == claims[f"{MONTH} windows, one pattern"] == pytest.approx(1)


def test_an_sdk_whose_permanent_answers_never_lie_is_accused_by_a_month(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = PERMANENT_MUTANTS["a permanent answer that never lies"](SeededCoins(SEED))
    monkeypatch.setattr(coins, "PrfCoins", wrong)
    metric = metric_of(BOOLEAN | {"permanent_epsilon": 1, "protects": "history"})
    registry = replace(PERMANENT, metrics={"m": metric})
    _, month = scenes(registry, 4000)
    # the others take long
    monkeypatch.setattr(run, "scenes", lambda *_: [replace(month, contests=month.contests[:1])])
    outcome = audit(registry, 4000, make_device=seeded(SEED))
    assert horizons_of(outcome) == {f"{MONTH} windows, all differ"}
