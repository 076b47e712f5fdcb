"""In any order of registries, a window's reports do not depend on what was recorded.

Two devices with one secret live through one history: builds that come and are rolled back,
restarts, clock steps, opting out and in again, as a whole or by purpose, refused and unanswered
uploads. Both read the clock at the same
instants; a device whose app does not run in a window is offline, which is no answer. One of them
records, the other does not. The reports of filled-in questions are compared: metric, edition,
window, and the instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from client_sdk import Recorded
from client_sdk.answers import counters, reporting
from client_sdk.answers.mistakes import Mistakes
from client_sdk.answers.schedule import Schedule
from client_sdk.ledger import erase, outbox, registries, retry_times
from client_sdk.ledger.charges import CLOCK_BACK_S, Slot, SlotKey
from client_sdk.ledger.file import open_memory
from client_sdk.protocol import GRACE_S, Coins, Metric, Refusal, Registry, Verdict, Window
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.results import ClockError, Consent
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, SetClock, ask, rows, telemetry
from tests.support.laws.coins import SteadyCoins
from tests.support.services.processes import wait_until

HOUR_S = 3600
COINS = SteadyCoins(0.5)
MISTAKES = Mistakes()
HISTORIES = 40
NAMES = ("a", "b", "c")

COUNT = 'kind = "count"\nmax = 3\nstatistic = "mean"\n'
FILLED = {
    "boolean": 'kind = "boolean"\nfill_in = true\n',
    "boolean at 2": 'kind = "boolean"\nfill_in = true\nepsilon = 2\n',
    "category": 'kind = "category"\nvalues = ["x", "y", "z"]\nfill_in = true\n',
    "count": f"{COUNT}fill_in = true\nfill_value = 0\n",
    "count of 1": f"{COUNT}fill_in = true\nfill_value = 1\n",
    "count on disk": f"{COUNT}fill_in = true\nfill_value = 0\npersist = true\n",
    "days": 'kind = "activity"\ndays = 7\nstatistic = "mean"\nfill_in = true\n',
    "permanent": 'kind = "boolean"\nfill_in = true\npermanent_epsilon = 2\n',
}
PLAIN = {
    "plain": 'kind = "boolean"\n',
    "plain count": COUNT,
    "plain days": 'kind = "activity"\ndays = 28\nstatistic = "mean"\n',
}
SHAPE = (
    "SELECT metric, edition, window, deadline, release, leaves FROM queue",
    "SELECT metric, edition, window FROM counts",
    "SELECT * FROM charges",
    "SELECT metric, edition, window, outcome FROM history",
    "SELECT * FROM drops",
    "SELECT * FROM slots",
    "SELECT * FROM problems",
    "SELECT deadline, late_attempts, length(body) > 0 FROM uploads",
    "SELECT due, not_before, tried, failures, refusals FROM retries",
)
"""What a ledger holds, but for what an answer may change."""

ANSWERS: dict[str, object] = {"boolean": True, "category": "y", "count": 2, "activity": 1}
OTHER_ANSWERS: dict[str, object] = {"boolean": False, "category": "z", "count": 1, "activity": 1}

LAST_DAYS = ("2026-11-18", "2026-11-20", "2026-11-24", "2027-01-31")
"""The last days of questions, before and after the first day of a life, which is 2026-11-20."""

BINDING = {"per_window": "2", "per_month": "12", "lifetime": "24"}
"""Ceilings that the histories reach."""

STEPS = st.lists(
    st.sampled_from([0, HOUR_S, 7 * HOUR_S, 13 * HOUR_S, DAY_S, DAY_S, DAY_S, 2 * DAY_S, GRACE_S, 8 * DAY_S]),
    min_size=1,
    max_size=5,
)
STEPS_BACK = st.sampled_from([1, HOUR_S, 13 * HOUR_S, CLOCK_BACK_S, CLOCK_BACK_S + HOUR_S])


@st.composite
def builds(
    draw: st.DrawFn,
    kinds: tuple[str, ...],
    strategies: tuple[str, ...],
    budget: dict[str, str],
    purposes: dict[str, str],
) -> str:
    """Return a build: a selection of the questions, each with a kind, and the lines of [budget]."""
    window, strategy = draw(st.sampled_from(["day", "day", "week", "month"])), draw(st.sampled_from(strategies))
    lines = budget | {"window": f'"{window}"', "strategy": f'"{strategy}"'}
    if strategy == "sample":
        lines["answers"] = draw(st.sampled_from(["1", "2"]))
    tables = []
    for name in draw(st.sets(st.sampled_from(NAMES), min_size=1)):
        table = f"[metric.{name}]\n{(FILLED | PLAIN)[draw(st.sampled_from(kinds))]}"
        table += f'consent = "{purposes[name]}"\n' if name in purposes else ""
        expires = draw(st.sampled_from(["", *LAST_DAYS, LAST_DAYS[-1]]))
        if expires or strategy == "pace":
            table += f"expires = {expires or LAST_DAYS[-1]}\n"
        if strategy == "split":
            table += f'window = "{draw(st.sampled_from(["day", "day", "week"]))}"\n'
        tables.append(table)
    return "".join(sorted(tables)) + "\0" + "\n".join(f"{key} = {value}" for key, value in lines.items())


@lru_cache(maxsize=4096)
def parsed(build: str) -> Registry:
    return ask(*build.split("\0"))


class Lost(Enum):
    """What happens to an answer of the collector that never arrives."""

    LOST = "lost"


def replaced(definition: Metric, answer: object, coins: Coins) -> Any:
    """Return the input of an answer, or what takes the place of an invalid one."""
    return MISTAKES.valid(definition, partial(definition.encode, answer, coins), partial(definition.draw, coins))


class Device:
    """The work of a device's ledger thread and uploader, without threads, on a ledger in memory.

    Attributes:
        left: every report that left, attempts included: the clock's instant, metric, edition and
            window.

    """

    def __init__(self) -> None:
        self.left: list[tuple[float, str, str, str]] = []
        self.connection = open_memory("acme")
        self._symbols: dict[SlotKey, int] = {}
        self._secrets = 0
        self.opt_in()

    def opt_in(self) -> None:
        """Draw a new secret, the same on both devices."""
        self._secrets += 1
        self.connection.execute(
            "UPDATE device SET secret = ?, generation = ?", (bytes([self._secrets]) * 32, self._secrets)
        )

    def live(self, schedule: Schedule, clock_s: float, answers: dict[Metric, object]) -> None:
        """Do what is due, and record: all in one transaction, as the ledger thread does."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            instant_s = schedule.catch_up(self.connection, clock_s)
        except ClockError:
            self.connection.execute("ROLLBACK")
            return
        for definition, answer in answers.items():
            if schedule.agreement.is_covered(definition.name):
                self._record(schedule, definition, answer, instant_s)
        self._keeps_nothing_without_consent(schedule)
        self.connection.execute("COMMIT")

    def _record(self, schedule: Schedule, definition: Metric, answer: object, instant_s: float) -> None:
        window = Window.at(definition.window, instant_s)
        if definition.kind.call == "record":
            encode = partial(replaced, definition, answer)
            randomized = schedule.randomize(definition, encode, partial(schedule.learn_secret, self.connection))
            reporting.report(
                self.connection,
                schedule._registry,
                schedule._coins,
                definition,
                randomized,
                window=window,
                instant_s=instant_s,
            )
        elif definition.kind.call == "active":
            counters.mark_day(self.connection, definition, instant_s)
        else:
            added = MISTAKES.valid(
                definition,
                partial(counters.addend, definition, answer),
                partial(counters.draw_addend, definition, COINS),
            )
            if definition.persist:
                counters.add_persistent(self.connection, definition, window, added)
            else:
                schedule.dues.counts.add(definition, window, added)

    @property
    def shape(self) -> list[list[tuple[Any, ...]]]:
        """All that the ledger holds, but for symbols, counts and the bodies of uploads."""
        return [sorted(self.connection.execute(query).fetchall()) for query in SHAPE]

    def withdraw(self, schedule: Schedule) -> None:
        """Drop what the user does not agree to any more."""
        schedule.withdraw(self.connection)
        self._keeps_nothing_without_consent(schedule)

    def _keeps_nothing_without_consent(self, schedule: Schedule) -> None:
        if schedule.agreement.consent is True:
            return
        tables = "queue", "history", "counts", "charges WHERE reported <> 1"
        for table in tables:
            names = self.connection.execute(f"SELECT DISTINCT metric FROM {table}")  # noqa: S608 one of these
            assert all(schedule.agreement.is_covered(name) for (name,) in names), table
        assert all(schedule.agreement.is_covered(name) for _, name, _ in schedule.dues.counts._counts)

    def send(self, schedule: Schedule, clock_s: float, outcome: Refusal | Lost | None) -> None:
        """Send all that may leave, refused uploads first.

        The collector counts or refuses it, or is not heard.
        """
        self.withdraw(schedule)
        for retry in retry_times.pending(self.connection):
            if retry.wait_s(clock_s, hurried=False) == 0:
                parcel = outbox.parcel_to_resend(self.connection, retry, clock_s)
                assert parcel is not None
                self._deliver(schedule, parcel, clock_s, outcome)
        while (parcel := outbox.new_parcel(self.connection, clock_s, schedule.agreement.groups)) is not None:
            self._deliver(schedule, parcel, clock_s, outcome)

    def _deliver(
        self, schedule: Schedule, parcel: outbox.Parcel, clock_s: float, outcome: Refusal | Lost | None
    ) -> None:
        reports = read_upload(parcel.body).reports
        assert schedule.agreement.consent is True or all(
            schedule.agreement.is_covered(report.metric) for report in reports
        )
        self.left += sorted((clock_s, report.metric, report.edition, report.window) for report in reports)
        for report in reports:  # otherwise a window would be reported twice and paid for once
            key = report.metric, report.edition, report.window
            assert self._symbols.setdefault(key, report.symbol) == report.symbol
        if isinstance(outcome, Lost):
            retry_times.fail(self.connection, parcel.id, clock_s, 0.0, uniform=_middle)
            return
        refused = () if outcome is None else tuple((index, outcome) for index in range(len(reports)))
        outbox.settle(self.connection, parcel.id, Verdict(len(reports), refused), clock_s, uniform=_middle)


def _middle(low: float, high: float) -> float:
    """Stand in for jitter, which is the same on both devices."""
    return (low + high) / 2


class Histories(RuleBasedStateMachine):
    """Two devices, one history; the second one records.

    Attributes:
        drawn: the builds that come.
        compared: the compared reports of all histories.

    """

    drawn: ClassVar[st.SearchStrategy[str]]
    compared: ClassVar[list[tuple[Any, ...]]]

    def __init__(self) -> None:
        super().__init__()
        self.devices = Device(), Device()
        self.clock_s = NOON
        self.builds: list[tuple[Registry, tuple[Schedule, Schedule]]] = []
        self.present = 0
        self.fills: set[tuple[str, str]] = set()
        self.consent: Consent = True
        self.stopped: set[tuple[str, str]] = set()

    def teardown(self) -> None:
        """Everything that waits leaves in the end."""
        if self.builds:
            for days in (1, 8, 40):
                self._go_on(days * DAY_S)
        self.compared.extend(self._filled(self.devices[0].left, key=1))
        for device in self.devices:
            device.connection.close()

    @initialize(data=st.data())
    def install(self, data: st.DataObject) -> None:
        self.update(data)

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        registry = parsed(data.draw(self.drawn))
        self.fills |= {(metric.name, metric.edition) for metric in registry.metrics.values() if metric.fill}
        self._install(registry)

    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        self._install(data.draw(st.sampled_from([registry for registry, _ in self.builds])))

    @rule()
    def restart(self) -> None:
        self._install(self.builds[self.present][0])

    @rule(data=st.data())
    def go_on_in_another_process(self, data: st.DataObject) -> None:
        self.present = data.draw(st.integers(0, len(self.builds) - 1))

    @rule(steps_s=STEPS)
    def wait(self, steps_s: list[int]) -> None:
        for step_s in steps_s:
            self._go_on(step_s)

    @rule(step_s=STEPS_BACK)
    def set_the_clock_back(self, step_s: int) -> None:
        self._go_on(-step_s)

    @rule(data=st.data(), steps_s=STEPS)
    def record(self, data: st.DataObject, steps_s: list[int]) -> None:
        metrics = self.builds[self.present][0].metrics
        names = data.draw(st.sets(st.sampled_from(sorted(metrics)), min_size=1))
        for step_s in steps_s:
            self._live({metrics[name]: ANSWERS[metrics[name].kind.name] for name in names})
            self._go_on(step_s)

    @rule(refusal=st.sampled_from([None, Refusal.UNKNOWN_EDITION, Refusal.WINDOW_CLOSED]))
    def send(self, refusal: Refusal | None) -> None:
        self._send(refusal)

    @rule(data=st.data(), happens=st.integers(0, 3).map(lambda number: number == 3))
    def stop(self, data: st.DataObject, *, happens: bool) -> None:
        """Learn of stops as with any answer; seldom, because stopped questions compare nothing."""
        if not happens:
            return
        metrics = [metric for registry, _ in self.builds for metric in registry.metrics.values()]
        metric = data.draw(st.sampled_from(metrics))
        for device in self.devices:
            registries.learn_stops(device.connection, [(metric.name, metric.edition)])
            outbox.drop_stopped(device.connection)
        silent, recording = (set(registries.stopped(device.connection)) for device in self.devices)
        assert silent == recording  # what a device obeys is no answer either
        self.stopped = silent

    @rule()
    def opt_out_and_in(self) -> None:
        self.stopped.clear()
        for device in self.devices:
            erase.wipe(device.connection)
            device.opt_in()

    def what_was_sent_is_the_same(self) -> None:
        silent, recording = (self._filled(device.left, key=1) for device in self.devices)
        assert silent == recording
        paid = (
            self._filled(device.connection.execute("SELECT metric, edition, window, nanos FROM charges"), key=0)
            for device in self.devices
        )
        assert len(set(map(tuple, paid))) == 1

    def _filled(self, rows: Iterable[tuple[Any, ...]], key: int) -> list[tuple[Any, ...]]:
        """Return the rows of filled-in questions; ``key`` locates metric and edition."""
        return sorted(row for row in rows if row[key : key + 2] in self.fills)

    def _install(self, registry: Registry) -> None:
        agendas = Schedule(registry, COINS), Schedule(registry, COINS)
        for device, schedule in zip(self.devices, agendas, strict=True):
            schedule.agreement.consent = self.consent
            device.withdraw(schedule)
        self.builds.append((registry, agendas))
        self.present = len(self.builds) - 1
        self._live({})

    def _live(self, answers: dict[Metric, object]) -> None:
        _, agendas = self.builds[self.present]
        for device, schedule, recorded in zip(self.devices, agendas, ({}, answers), strict=True):
            device.live(schedule, self.clock_s, recorded)

    def _go_on(self, step_s: int) -> None:
        self.clock_s += step_s
        self._live({})
        self._send(None)

    def _send(self, outcome: Refusal | Lost | None) -> None:
        _, agendas = self.builds[self.present]
        for device, schedule in zip(self.devices, agendas, strict=True):
            before = len(device.left)
            device.send(schedule, self.clock_s, outcome)
            assert not {key[1:3] for key in device.left[before:]} & self.stopped
        self.what_was_sent_is_the_same()


class ByPurpose(Histories):
    """The user agrees to purposes and withdraws them, and answers of the collector are lost.

    Nothing is stopped here: an upload under way may hold a stopped question beside others.
    """

    stop = None  # type: ignore[assignment]

    @rule(consent=st.sampled_from([True, frozenset({"u"}), frozenset({"w"}), frozenset({"u", "w"})]))
    def agree(self, consent: Consent) -> None:
        self.consent = consent
        for _, agendas in self.builds:
            for device, schedule in zip(self.devices, agendas, strict=True):
                schedule.agreement.consent = consent
                device.withdraw(schedule)

    @rule()
    def lose_answers(self) -> None:
        self._send(Lost.LOST)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kinds", "strategies", "budget", "purposes"),
    [
        (tuple(FILLED), ("split", "sample", "pace"), BINDING, {}),
        ((*FILLED, *PLAIN), ("sample", "pace"), BINDING, {}),
        ((*FILLED, *PLAIN), ("split", "split", "sample", "pace"), {}, {}),
        ((*FILLED, *PLAIN), ("split", "split", "sample", "pace"), {}, {"a": "u", "b": "u", "c": "w"}),
    ],
    ids=["filled in, under ceilings that hold", "drawn, under ceilings that hold", "all kinds", "all kinds by purpose"],
)
def test_in_any_order_of_registries_what_is_sent_is_the_same_whether_or_not_anything_was_recorded(
    kinds: tuple[str, ...], strategies: tuple[str, ...], budget: dict[str, str], purposes: dict[str, str]
) -> None:
    reports: list[tuple[Any, ...]] = []

    class OfTheseBuilds(ByPurpose if purposes else Histories):  # type: ignore[misc] # chosen by the case
        drawn = builds(kinds, strategies, budget, purposes)
        compared = reports

    run_state_machine_as_test(
        OfTheseBuilds,
        settings=settings(
            max_examples=HISTORIES, stateful_step_count=30, derandomize=True, deadline=None, database=None
        ),
    )
    assert len(reports) > HISTORIES
    assert len({edition for _, _, edition, _ in reports}) > len(FILLED)


class Misusing(Histories):
    """Two devices, one of which gives answers outside their domain: draws alone may differ."""

    def _filled(self, rows: Iterable[tuple[Any, ...]], key: int) -> list[tuple[Any, ...]]:  # noqa: ARG002 all rows count
        return sorted(rows)

    def _live(self, answers: dict[Metric, object]) -> None:
        _, agendas = self.builds[self.present]
        invalid: dict[Metric, object] = {metric: float("nan") for metric in answers}
        for device, schedule, recorded in zip(self.devices, agendas, (invalid, answers), strict=True):
            device.live(schedule, self.clock_s, recorded)
        first, second = (device.shape for device in self.devices)
        assert first == second


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategies", "budget"), [(("split",), {}), (("sample", "pace"), BINDING)], ids=["all", "drawn"]
)
def test_whether_answers_are_valid_changes_no_report_no_charge_no_time_and_no_row(
    strategies: tuple[str, ...], budget: dict[str, str]
) -> None:
    reports: list[tuple[Any, ...]] = []

    class OfAllKinds(Misusing):
        drawn = builds((*FILLED, *PLAIN), strategies, budget, {})
        compared = reports

    run_state_machine_as_test(
        OfAllKinds,
        settings=settings(
            max_examples=HISTORIES // 2, stateful_step_count=30, derandomize=True, deadline=None, database=None
        ),
    )
    assert len(reports) > HISTORIES // 2


class Answering(Histories):
    """Two devices that record different answers: nothing that they send or spend may differ."""

    def _filled(self, rows: Iterable[tuple[Any, ...]], key: int) -> list[tuple[Any, ...]]:  # noqa: ARG002 all rows count
        return sorted(rows)

    def _live(self, answers: dict[Metric, object]) -> None:
        _, agendas = self.builds[self.present]
        others = {metric: OTHER_ANSWERS[metric.kind.name] for metric in answers}
        for device, schedule, recorded in zip(self.devices, agendas, (others, answers), strict=True):
            device.live(schedule, self.clock_s, recorded)


@pytest.mark.slow
def test_stops_that_a_collector_aims_at_a_device_tell_nothing_of_its_answers() -> None:
    reports: list[tuple[Any, ...]] = []

    class OfAllKinds(Answering):
        drawn = builds((*FILLED, *PLAIN), ("sample", "pace"), BINDING, {})
        compared = reports

    run_state_machine_as_test(
        OfAllKinds,
        settings=settings(
            max_examples=2 * HISTORIES // 3, stateful_step_count=30, derandomize=True, deadline=None, database=None
        ),
    )
    assert len(reports) > HISTORIES // 2


ENDS = '[metric.m]\nkind = "boolean"\nfill_in = true\n'


def sent(folder: Path, registries: list[Registry], *, records: bool) -> list[tuple[str, str]]:
    """Return what leaves a device whose app is updated on one day and runs again two days later."""
    clock, transport = SetClock(), ScriptedTransport()
    for index, registry in enumerate(registries):
        with telemetry(folder, registry=registry, clock=clock, transport=transport) as device:
            device.flush(timeout_s=60)
            if records and index == 0:
                assert device.record("m", value=True) is Recorded.QUEUED
        clock.now_s += HOUR_S
    clock.now_s += 2 * DAY_S
    with telemetry(folder, registry=registries[-1], clock=clock, transport=transport) as device:
        assert device.flush(timeout_s=60)
    return sorted((report.edition, report.window) for upload in transport.uploads for report in upload.reports)


def test_an_app_that_runs_for_a_moment_reports_as_one_that_records_in_it(tmp_path: Path) -> None:
    def charged(folder: Path) -> bool:
        return rows(folder, "SELECT metric, reported FROM charges") == [("m", Slot.FILLED)]

    with telemetry(tmp_path, registry=ask(ENDS)):
        pass
    wait_until(partial(charged, tmp_path), what="the ledger thread's last work")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("updates", "reports"),
    [
        ([ENDS, f"{ENDS}expires = 2026-11-19"], 0),
        ([ENDS, f"{ENDS}expires = 2026-11-20"], 1),
        ([ENDS, f"{ENDS}epsilon = 2", ENDS], 0),
        ([ENDS, f"{ENDS}expires = 2026-11-19", ENDS], 0),
        ([ENDS, ENDS.replace("fill_in = true\n", ""), ENDS], 0),
        ([ENDS, ENDS], 1),
    ],
    ids=["ended before", "ends today", "rolled back", "ended and rolled back", "filled in no more, and again", "none"],
)
def test_an_update_that_ends_a_metric_or_is_rolled_back_does_not_tell_who_answered(
    tmp_path: Path, updates: list[str], reports: int
) -> None:
    registries = [ask(update) for update in updates]
    silent = sent(tmp_path / "silent", registries, records=False)
    assert sent(tmp_path / "recording", registries, records=True) == silent
    assert len([window for _, window in silent if window == "2026-11-20"]) == reports
