"""A plan promises no report that devices of the SDK do not send, under any strategy and ceiling."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction

import pytest

from client_sdk import Recorded, Registry, Telemetry
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from client_sdk.protocol.window_steps import later, windows_until
from client_sdk.testing import FakeClock, KeptUploads
from estimator.plan.paid_windows import PaidWindows, ceiling_notes, exhaustions
from estimator.plan.plan import Plan, PlanRequest, make_plan

pytestmark = pytest.mark.usefixtures("errors_alone")

TODAY = date(2026, 12, 1)
DEVICES = 24
SEED = 20261201

BUDGET = """
schema = 1
[app]
name = "acme"
[budget]
"""

Played = dict[str, Counter[Window]]
"""How many devices answered a metric in a window."""


def _metric(name: str, epsilon: float, **fields: object) -> str:
    usual = {"kind": '"boolean"', "expires": "2027-01-20"}
    lines = [f"{key} = {value}" for key, value in (usual | fields).items()]
    return "\n".join(["", f"[metric.{name}]", f'purpose = "{name}"', f"epsilon = {epsilon}", *lines, ""])


THREE = _metric("a", 0.75) + _metric("b", 0.75) + _metric("c", 1.0)
TWO = _metric("a", 1.0) + _metric("b", 1.0)
GAUSSIAN = {"kind": '"number"', "low": 0, "high": 1, "statistic": '"mean"', "mechanism": '"gaussian"', "delta": "1e-6"}

WEEK = 'window = "week"\nper_window = 2.5\n'
DAY = 'window = "day"\nper_window = 2.5\n'
MIXED = DAY.replace("2.5", "9") + "lifetime = 60\nper_month = 20\n"

SPLIT = {
    "lifetime": WEEK + "lifetime = 10" + THREE,
    "per_month": DAY + "lifetime = 1000\nper_month = 5" + THREE,
    "both": DAY + "lifetime = 6\nper_month = 5" + THREE,
    "delta": WEEK + "lifetime = 1000\ndelta = 4e-6" + _metric("a", 1.0, **GAUSSIAN),
    "per_window": DAY + "lifetime = 10" + THREE + _metric("d", 1.0),
    "kinds": MIXED + _metric("a", 0.5) + _metric("b", 2.0, window='"week"') + _metric("c", 3.0, window='"month"'),
    "enough": WEEK + "lifetime = 1000\nper_month = 100" + THREE,
}

SAMPLE = {
    "lifetime": WEEK + "lifetime = 3" + THREE,
    "per_month": DAY + "lifetime = 1000\nper_month = 5" + THREE,
    "enough": WEEK + "lifetime = 1000" + THREE,
}

PACE = {
    "lifetime": DAY + "lifetime = 9" + TWO,
    "too little": DAY + "lifetime = 1.9" + TWO,
    "delta": WEEK + "lifetime = 1000\ndelta = 4e-6" + _metric("a", 1.0, **GAUSSIAN),
    "per_month": DAY + "lifetime = 1000\nper_month = 9" + TWO,
    "enough": WEEK + "lifetime = 1000" + TWO,
}


def _registry(text: str, strategy: str = "") -> Registry:
    head, metrics = text.split("\n[metric", 1)
    return Registry.parse(f"{BUDGET}{head}\n{strategy}\n[metric{metrics}")


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Registry], Played]:
    """Let devices answer everything in each window, as soon as it begins."""
    drawn = random.Random(SEED)  # noqa: S311 a test repeats its draws
    monkeypatch.setattr(ledger_file, "draw_secret", lambda: drawn.randbytes(32))

    def played(registry: Registry) -> Played:
        counts: Played = {name: Counter() for name in registry.metrics}
        for _ in range(DEVICES):
            _answer_all(registry, counts)
        return counts

    return played


def _answer_all(registry: Registry, counts: Played) -> None:
    clock = FakeClock(datetime.combine(TODAY, time(12), UTC))
    with Telemetry(
        registry, collector="https://example.com", data_dir=None, consent=True, clock=clock, transport=KeptUploads()
    ) as telemetry:
        while clock.now.date() <= date(2027, 1, 20):
            for name, metric in registry.metrics.items():
                window = Window.on(metric.window, clock.now.date())
                if clock.now.date() in (TODAY, window.first_day) and _is_answered(telemetry, metric):
                    counts[name][window] += 1
            clock.now += timedelta(days=1)


def _is_answered(telemetry: Telemetry, metric: Metric) -> bool:
    answer = True if metric.kind.name == "boolean" else 0.5
    recorded = telemetry.record(metric.name, answer)
    while recorded in (Recorded.WAITING, Recorded.BUSY):  # a slow machine; then the first answer counts
        recorded = telemetry.record(metric.name, answer)
    return recorded in (Recorded.QUEUED, Recorded.ALREADY_RECORDED)


def _plan(registry: Registry) -> Plan:
    return make_plan(registry, PlanRequest(DEVICES, TODAY))


def _windows(metric: Metric) -> list[Window]:
    first = Window.on(metric.window, TODAY)
    return [later(first, number) for number in range(windows_until(first, date(2027, 1, 20)))]


def _first(metric: Metric, paid: PaidWindows | None) -> list[Window]:
    """Return the windows that are paid without a gap, from the first on."""
    return [window for window in _windows(metric) if paid is None or (paid.until and window.last_day <= paid.until)]


@pytest.mark.long
@pytest.mark.parametrize("case", SPLIT)
def test_of_devices_that_answer_everything_as_many_reports_come_as_a_plan_says(
    play: Callable[[Registry], Played], case: str
) -> None:
    registry = _registry(SPLIT[case])
    counts, plan = play(registry), _plan(registry)
    is_short = False
    for planned in plan.metrics:
        metric = registry.metric(planned.metric)
        full = [window for window in _windows(metric) if counts[metric.name][window] == planned.reports]
        assert set(_first(metric, planned.paid_windows)) <= set(full)
        assert len(full) >= (len(_windows(metric)) if planned.paid_windows is None else planned.paid_windows.paid)
        is_short |= len(full) < len(_windows(metric))
    assert (case == "enough") == (not is_short) == (plan.notes == ())


@pytest.mark.long
@pytest.mark.parametrize("case", SAMPLE)
def test_of_drawn_metrics_as_many_reports_come_as_a_plan_says(play: Callable[[Registry], Played], case: str) -> None:
    registry = _registry(SAMPLE[case], 'strategy = "sample"\nanswers = 1')
    counts, plan = play(registry), _plan(registry)
    (metric, paid), *others = [(registry.metric(planned.metric), planned.paid_windows) for planned in plan.metrics]
    assert all(other == paid for _, other in others)
    answers = Counter[Window]()
    for of_metric in counts.values():
        answers.update(of_metric)
    assert {answers[window] for window in _first(metric, paid)} == {DEVICES}
    is_short = any(answers[window] < DEVICES for window in _windows(metric))
    assert (case == "enough") == (not is_short) == (plan.notes == ())


@pytest.mark.long
@pytest.mark.parametrize("case", PACE)
def test_who_paces_takes_part_in_as_many_windows_as_a_plan_says(play: Callable[[Registry], Played], case: str) -> None:
    registry = _registry(PACE[case], 'strategy = "pace"')
    counts, plan = play(registry), _plan(registry)
    parts = [
        Fraction(sum(counts[planned.metric].values()), DEVICES * len(_windows(registry.metric(planned.metric))))
        for planned in plan.metrics
    ]
    assert float(min(parts)) == plan.answering
    assert (case == "enough") == (plan.answering == 1)
    assert bool(plan.notes) == (case in ("too little", "delta", "per_month"))


def test_paid_windows_end_where_a_ceiling_may_be_reached() -> None:
    lifetime, month = (_plan(_registry(SPLIT[case])).metrics[0].paid_windows for case in ("lifetime", "per_month"))
    assert lifetime == PaidWindows(4, 8, date(2026, 12, 27))
    assert month == PaidWindows(4, 51, date(2026, 12, 2))
    drawn = _plan(_registry(SAMPLE["lifetime"], 'strategy = "sample"\nanswers = 1')).metrics[0].paid_windows
    assert drawn == PaidWindows(3, 8, date(2026, 12, 20))


def test_a_count_is_paid_only_if_what_comes_before_it_is_paid_too() -> None:
    count = _metric("a", 1.0, kind='"count"', max=3, statistic='"mean"')
    counted, plain = (
        _plan(_registry(WEEK + "lifetime = 3" + metric)).metrics[0].paid_windows
        for metric in (count, _metric("a", 1.0))
    )
    assert counted is not None
    assert plain is not None
    assert (counted.paid, plain.paid) == (2, 3)


@pytest.mark.slow
def test_an_endless_metric_is_planned_for_ten_years_at_most() -> None:
    text = BUDGET + WEEK + 'lifetime = 50\n[metric.a]\npurpose = "a"\nkind = "boolean"\nepsilon = 1.0\n'
    paid = _plan(Registry.parse(text)).metrics[0].paid_windows
    assert paid == PaidWindows(50, 523, date(2027, 11, 14))
    enough = Registry.parse(text.replace("lifetime = 50", "lifetime = 524"))
    assert ceiling_notes(enough, TODAY, exhaustions(enough, TODAY)) == []
    last = make_plan(Registry.parse(text), PlanRequest(DEVICES, date(9998, 12, 29)))
    assert last.metrics[0].paid_windows is None


def test_a_device_that_paces_for_millennia_is_planned_for_at_once() -> None:
    text = (
        BUDGET
        + DAY
        + 'lifetime = 10000000\nper_month = 2\nstrategy = "pace"\n'
        + _metric("a", 1.0, expires="9999-12-31")
    )
    assert Fraction(2, 31) < _plan(Registry.parse(text)).answering < Fraction(2, 28)
    assert make_plan(Registry.parse(text), PlanRequest(DEVICES, date(9998, 12, 29))).answering < 1
