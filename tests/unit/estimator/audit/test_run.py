"""What an audit plays, what it sees of it, and what that can prove.

`tests/exact/test_audit_of_devices.py` says whom it accuses.
"""

from __future__ import annotations

import numpy as np
import pytest

from client_sdk import Registry
from client_sdk.protocol.wire.reading import read_upload
from estimator.audit.attack import FALSE_ACCUSATION, LEAST_OBSERVATIONS, PrivacyClaim, attack, level_of
from estimator.audit.black_box import Life, play, without_ceilings
from estimator.audit.distinguishers import Feature, observe, tabulate
from estimator.audit.run import (
    LEAST_REPORTS,
    MONTH,
    audit,
    chosen,
    default_reports,
    extremes,
    game_groups,
    observations,
    windows_played,
)
from tests.support.devices.audit_registries import BOOLEAN_ONLY, KINDS, TWO
from tests.support.devices.definitions import BOOLEAN, NUMBER, registry_text
from tests.support.mutants.audits import SeededCoins, table_of

SEED = 3


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
    uploads = [read_upload(body) for (body,) in windows]
    assert [{report.metric for report in upload.reports} for upload in uploads] == [{"load", "dark_mode"}] * MONTH
    assert len({report.window for upload in uploads for report in upload.reports}) == 2 * MONTH


def test_an_expired_metric_is_still_played_and_means_the_same() -> None:
    text = registry_text(dark_mode=BOOLEAN) + "expires = 2020-01-01\n"
    old = Registry.parse(text)
    registry = without_ceilings(chosen(old, ()))
    assert registry.metric("dark_mode").edition == old.metric("dark_mode").edition
    ((body,),) = play(registry, Life(({"dark_mode": True},), registry.budget.window))
    assert len(read_upload(body).reports) == 1


def test_what_is_in_the_bytes_is_observed() -> None:
    registry = without_ceilings(KINDS)
    ((body,),) = play(registry, Life(({"dark_mode": True, "os": "a"},), registry.budget.window))
    seen = {feature.name: value for feature, value in observe([[body, b"not JSON"]]).items()}
    assert seen["uploads"] == 2
    assert seen["bytes of upload 0"] == len(body)
    assert seen["id of upload 0"] == read_upload(body).id
    assert seen["order of upload 0"] in (("dark_mode", "os"), ("os", "dark_mode"))
    assert {"symbol 1 of os", "place of os in upload 0"} < set(seen)
    assert seen["all of upload 1"] == b"not JSON"
    assert "all of upload 0" not in seen


def test_no_claim_is_above_what_a_device_may_ever_spend() -> None:
    metric = BOOLEAN | {"epsilon": 0.75}
    text = registry_text(a=metric, b=metric, c=metric).replace("400", "2.5").replace("20", "1.5")
    games = [game for game_group in game_groups(Registry.parse(text), LEAST_REPORTS) for game in game_group.games]
    claims = {game.horizon: game.claim.epsilon for game in games}
    assert claims == {
        "one report": 0.75,
        "3 windows, all answers differ": 2.25,
        "30 windows, one answer differs": 0.75,
        "a window, answers to 2 of 3 metrics differ": 1.5,
        "a window, one answer differs": 0.75,
    }


def test_a_claim_on_some_windows_is_tried_on_these_alone() -> None:
    text = registry_text(a=BOOLEAN | {"epsilon": 0.75}).replace("400", "2.5")
    (game_group,) = game_groups(Registry.parse(text), LEAST_REPORTS)
    (few,) = [game for game in game_group.games if game.horizon == "3 windows, all answers differ"]
    observed = observations(few, [[{Feature("symbol 0 of a", 0): at} for at in range(MONTH)]])
    assert observed == [{Feature("symbol 0 of a", at): at for at in range(3)}]


@pytest.mark.slow
def test_what_was_played_is_what_was_planned() -> None:
    steps: list[int] = []
    outcome = audit(TWO, LEAST_REPORTS, after_life=steps.append)
    assert sum(steps) == windows_played(TWO, LEAST_REPORTS)
    assert len(outcome.findings) == sum(len(game_group.games) for game_group in game_groups(TWO, LEAST_REPORTS))
    assert all(finding.observations >= LEAST_OBSERVATIONS for finding in outcome.findings)


@pytest.mark.slow
def test_the_default_takes_about_as_long_for_many_metrics_as_for_few() -> None:
    few, many = default_reports(BOOLEAN_ONLY), default_reports(without_ceilings(KINDS))
    assert LEAST_REPORTS < many < few
    assert windows_played(without_ceilings(KINDS), many) < 2 * windows_played(BOOLEAN_ONLY, few) * 10
    thousand = Registry.parse(registry_text(**{f"m{number}": BOOLEAN for number in range(1000)}))
    assert default_reports(chosen(thousand, ())) == LEAST_REPORTS


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
