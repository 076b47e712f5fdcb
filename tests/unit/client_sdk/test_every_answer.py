"""Every answer that is given to `record` is in the history, waits, or is counted as dropped."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from client_sdk import Recorded, recorder
from client_sdk.ledger import thread
from client_sdk.ledger.charges import SlotKey
from client_sdk.ledger.thread import READ
from client_sdk.protocol import Refusal
from client_sdk.protocol.wire.reading import read_upload
from tests.support.devices.clients import (
    DAY_S,
    Answer,
    ScriptedTransport,
    SetClock,
    accept,
    ask,
    busy_ledger,
    nothing,
    problem,
    refuse,
    status,
    telemetry,
)
from tests.support.services.processes import wait_until

NAMES = ("a", "b", "late")
REGISTRY = ask(
    '[metric.a]\nkind = "boolean"\n[metric.b]\nkind = "boolean"\n[metric.late]\nkind = "boolean"\nexpires = 2026-11-21',
    "per_window = 1\nlifetime = 4",
)
ANSWERS = (accept, nothing, problem(400), status(503), refuse(Refusal.UNKNOWN_METRIC), refuse(Refusal.WINDOW_CLOSED))
LOST = {"out_of_budget", "expired", "not_asked", "busy", "unavailable"}


def unsettled(connection: sqlite3.Connection) -> set[SlotKey]:
    """Return the keys of the reports that wait in the file."""
    uploads = [read_upload(body) for (body,) in connection.execute("SELECT body FROM uploads")]
    queued = set(connection.execute("SELECT metric, edition, window FROM queue").fetchall())
    return queued | {report[:3] for upload in uploads for report in upload.reports}


class EveryAnswer(RuleBasedStateMachine):
    """A device that answers and sends while days pass and its ledger hangs now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = SetClock()
        self.transport = ScriptedTransport()
        self.device = telemetry(None, registry=REGISTRY, clock=self.clock, transport=self.transport)
        self.hanging = contextlib.ExitStack()
        self.is_hanging = False
        self.given = 0
        self.taken = set[tuple[str, float]]()

    @rule(name=st.sampled_from(NAMES), value=st.booleans())
    def give(self, name: str, *, value: bool) -> None:
        if (name, self.clock.now_s) not in self.taken:
            recorded = self.device.record(name, value)
            self.given += 1
            assert recorded is not Recorded.ALREADY_RECORDED
            if recorded in (Recorded.QUEUED, Recorded.WAITING):
                self.taken.add((name, self.clock.now_s))

    @precondition(lambda self: not self.is_hanging)
    @rule()
    def hang(self) -> None:
        """Let the ledger hang: one answer waits in memory, and more are lost."""
        patch = self.hanging.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(recorder, "RECORD_DEADLINE_S", 0.0)
        patch.setattr(thread, "MAX_LEFT", 1)
        self.hanging.enter_context(busy_ledger(self.device))
        self.is_hanging = True
        for name in NAMES:
            self.give(name, value=True)

    @precondition(lambda self: self.is_hanging)
    @rule()
    def go_on(self) -> None:
        self.hanging.close()
        self.is_hanging = False
        wait_until(lambda: not self.device._processes.current.ledger_thread.has_left, what="the answers")

    @precondition(lambda self: not self.is_hanging)
    @rule(answer=st.sampled_from(ANSWERS))
    def flush(self, answer: Answer) -> None:
        self.transport.answer(answer)
        self.device.flush(timeout_s=60)

    @rule(days=st.integers(1, 3))
    def pass_days(self, days: int) -> None:
        self.clock.now_s += days * DAY_S

    @precondition(lambda self: not self.is_hanging)
    @invariant()
    def every_answer_is_somewhere(self) -> None:
        waiting = self.device._processes.current.ledger_thread.run(unsettled, 60.0, begin=READ)
        sent = {(entry.metric, entry.edition, entry.window) for entry in self.device.history()}
        lost = sum(answers for reason, answers in self.device.dropped().items() if reason in LOST)
        assert self.given == len(sent | waiting) + lost

    def teardown(self) -> None:
        self.hanging.close()
        self.device.close()


@pytest.mark.slow
def test_every_answer_is_in_the_history_or_waits_or_is_dropped() -> None:
    run_state_machine_as_test(
        EveryAnswer, settings=settings(derandomize=True, deadline=None, max_examples=40, stateful_step_count=20)
    )


def test_what_was_lost_is_counted_in_the_file_when_the_program_ends(tmp_path: Path) -> None:
    with telemetry(tmp_path) as device:
        results = [device.record(metric, value=True) for metric in ("dark_mode", "sound", "wide", "old")]
        assert results[2:] == [Recorded.OUT_OF_BUDGET, Recorded.EXPIRED]
    with telemetry(tmp_path) as device:
        assert device.dropped() == {"expired": 1, "out_of_budget": 1}
