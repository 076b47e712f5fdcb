from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from client_sdk.protocol import CLOCK_SKEW_S, GRACE_S, MAX_REPORTS, Refusal, Registry, Report, Upload, Window
from client_sdk.protocol.registry.history import Release, with_former
from client_sdk.protocol.window_steps import later
from collector.judge import CLOCKS_APART_S, IDS_OUTLIVE_S, Judgement, TallyLabel, judge
from tests.support.core.tables import for_each
from tests.support.services.collecting import NOON, REGISTRY, REGISTRY_TEXT, TODAY, report, upload


def judged(sent: Upload, now_s: float = NOON, grace_s: int = GRACE_S) -> Judgement:
    return judge(sent, REGISTRY, now_s=now_s, grace_s=grace_s, once=ONCE)


ONCE = frozenset({f"dark_mode:{'f' * 12}", f"gone:{'f' * 12}"})

CASES = [
    (report(), NOON, None),
    (report("nothing", edition="0" * 12), NOON, Refusal.UNKNOWN_METRIC),
    (report(edition="0" * 12), NOON, Refusal.UNKNOWN_EDITION),
    (report(edition="f" * 12), NOON, Refusal.FORMER_EDITION),
    (report("gone", edition="f" * 12), NOON, Refusal.FORMER_EDITION),
    (report(window="2026-W47"), NOON, Refusal.WRONG_WINDOW),
    (report("old"), NOON, Refusal.METRIC_EXPIRED),
    (report("old", window="2026-11-10"), Window.parse("2026-11-10").starts_at, None),
    (report(symbol=2), NOON, Refusal.SYMBOL_OUT_OF_RANGE),
    (report(symbol=2, window="2026-10-01"), NOON, Refusal.SYMBOL_OUT_OF_RANGE),
    (report(window="2026-11-21"), NOON, Refusal.WINDOW_IN_FUTURE),
    (report(), Window.parse(TODAY).starts_at - CLOCK_SKEW_S, None),
    (report(), Window.parse(TODAY).starts_at - CLOCK_SKEW_S - 0.5, Refusal.WINDOW_IN_FUTURE),
    (report(), Window.parse(TODAY).ends_at + GRACE_S - 0.5, None),
    (report(), Window.parse(TODAY).ends_at + GRACE_S, Refusal.WINDOW_CLOSED),
]


@pytest.mark.parametrize(("sent", "now_s", "refusal"), CASES)
def test_a_report_is_judged_by_definition_window_and_clock(sent: object, now_s: float, refusal: Refusal | None) -> None:
    judgement = judged(upload(sent), now_s)  # type: ignore[arg-type] # pytest's parameters are untyped
    assert [reason for _, reason in judgement.refused] == ([] if refusal is None else [refusal])
    assert len(judgement.additions) == (refusal is None)


def test_the_cases_cover_every_refusal() -> None:
    assert {refusal for _, _, refusal in CASES} == {None, *Refusal}


def test_a_report_of_a_former_metric_counts_in_a_tally_of_its_own_by_its_own_definition() -> None:
    text = REGISTRY_TEXT.replace('["linux", "macos", "windows", "other"]', '["linux", "macos"]')
    text = text.replace("expires = 2026-11-10", "expires = 2027-01-01")
    now = Registry.parse(text)
    registry = with_former(now, [Release(date(2026, 11, 1), REGISTRY)])
    reports = [report("os", 3), report("os", 1, edition=now.metric("os").edition), report("os", 3, "2026-W47")]
    judgement = judge(upload(*reports, report("os", 4)), registry, now_s=NOON, grace_s=GRACE_S, once=ONCE)
    former, present = REGISTRY.metric("os"), now.metric("os")
    assert judgement.additions == {
        TallyLabel(f"os:{former.edition}:{TODAY}", 4): {0: 3},
        TallyLabel(f"os:{present.edition}:{TODAY}", 2): {1: 1},
    }
    assert judgement.refused == ((2, Refusal.WRONG_WINDOW), (3, Refusal.SYMBOL_OUT_OF_RANGE))


def test_another_history_is_judged_anew() -> None:
    sent = upload(report(edition="e" * 12))
    unknown, former = (
        judge(sent, REGISTRY, now_s=NOON, grace_s=GRACE_S, once=once)
        for once in (frozenset[str](), frozenset({f"dark_mode:{'e' * 12}"}))
    )
    assert [code for _, code in unknown.refused] == [Refusal.UNKNOWN_EDITION]
    assert [code for _, code in former.refused] == [Refusal.FORMER_EDITION]


def test_an_id_is_looked_for_wherever_another_clock_and_registry_may_have_left_it() -> None:
    names = ("2026-11", "2026-W47", "2026-11-27", "2026-11-25", TODAY, "2026-11-10")
    far_off = ("2026-11-29", "2026-11-08", "1970-01-02", "9998-12", "2026-W50")
    sent = upload(*(report("nothing", window=name, edition="0" * 12) for name in (*far_off, *names)))
    ends = sorted((Window.parse(name).ends_at for name in names), reverse=True)
    assert judged(sent).ends == tuple(ends)


def test_what_may_be_counted_at_one_time_is_looked_for_at_all_times_within_a_week_and_while_it_is_remembered() -> None:
    sent = upload(report(), report("plan", 1, "2026-W47"))
    latest_end = judged(sent).latest_end
    until_s = judged(sent).remember_until - 1 - NOON
    for after_s in (-CLOCKS_APART_S, -1, 0, 1, CLOCKS_APART_S, until_s):
        assert latest_end in judged(sent, NOON + after_s).ends


def test_an_upload_of_every_window_there_is_is_looked_for_in_few_places() -> None:
    days = [later(Window.parse("2026-07-15"), after) for after in range(MAX_REPORTS)]
    sent = upload(*(report("nothing", window=day.text, edition="0" * 12) for day in days))
    assert len(judged(sent).ends) <= 1 + (GRACE_S + IDS_OUTLIVE_S + 2 * CLOCKS_APART_S) // 86_400 + 1


@pytest.mark.parametrize(
    "other",
    [
        report(window="2026-11-25"),
        report(window="9998-12-31"),
        report(symbol=2, window="2026-11-21"),
        report("nothing", window="2026-11", edition="0" * 12),
        report("plan", 9, "2026-W47"),
    ],
)
def test_an_id_is_left_until_a_day_after_the_last_window_that_was_counted_can_close(other: Report) -> None:
    """A report that is refused does not lengthen it: the sender chooses its window."""
    judgement = judged(upload(report(), other, report(window="2026-11-19")))
    assert judgement.latest_end == Window.parse(TODAY).ends_at
    assert judgement.remember_until == Window.parse(TODAY).ends_at + GRACE_S + IDS_OUTLIVE_S


@for_each("sent", [sent for sent, now_s, refusal in CASES if refusal is not None and now_s == NOON])
def test_an_upload_without_a_counted_report_leaves_nothing(sent: Report) -> None:
    judgement = judged(upload(sent))
    assert (judgement.latest_end, judgement.remember_until) == (0, 0)


def test_a_window_that_was_closed_early_takes_no_report_and_lengthens_nothing() -> None:
    judgement = judged(upload(report(), report("os", 9), report("plan", 1, "2026-W47"), report("os", 2)))
    assert judgement.without({"2026-W46"}) == judgement
    without_week = judgement.without({"2026-W47"})
    assert without_week.refused == ((1, Refusal.SYMBOL_OUT_OF_RANGE), (2, Refusal.WINDOW_CLOSED))
    assert list(without_week.additions.values()) == [{0: 1}, {3: 2}]
    today = Window.parse(TODAY).ends_at
    assert (without_week.latest_end, without_week.remember_until) == (today, today + GRACE_S + IDS_OUTLIVE_S)
    assert without_week.ends == judgement.ends
    without_all = without_week.without({TODAY})
    assert (without_all.additions, without_all.latest_end, without_all.remember_until) == ({}, 0, 0)
    assert [index for index, _ in without_all.refused] == [0, 1, 2, 3]


def test_what_was_looked_up_of_another_registry_or_grace_in_the_same_second_decides_nothing() -> None:
    sent, late = upload(report()), Window.parse(TODAY).ends_at
    other = replace(REGISTRY, metrics={"os": REGISTRY.metrics["os"]})
    assert not judge(sent, REGISTRY, now_s=NOON, grace_s=GRACE_S).refused
    assert judge(sent, other, now_s=NOON + 0.1, grace_s=GRACE_S).refused == ((0, Refusal.UNKNOWN_METRIC),)
    assert judge(sent, REGISTRY, now_s=late, grace_s=0).refused == ((0, Refusal.WINDOW_CLOSED),)
    assert not judge(sent, REGISTRY, now_s=late, grace_s=GRACE_S).refused
