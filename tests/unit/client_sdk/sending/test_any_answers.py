"""Whatever a collector answers: no report is lost or doubled, and no answer links uploads."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.ledger import outbox
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.protocol import GRACE_S, Refusal, Report, Upload, Verdict, Window
from client_sdk.sending.responses import Reply
from tests.support.devices.clients import DAY_S, NOON, Answer, accept, nothing, problem, refuse, status
from tests.support.devices.simulated import SimulatedDevice, of_new_reports, simulated

WINDOWS = ("2026-11-20", "2026-11-21", "2026-W47")
EDITION = "0123456789ab"
HOUR_S = 3600.0
ALL_OVER_S = max(Window.parse(window).ends_at for window in WINDOWS) + GRACE_S + 10 * DAY_S
"""Forty late attempts, each after the longest requested pause and the longest back-off, take four
days.
"""


class Record(NamedTuple):
    """After some hours a report is recorded."""

    after_h: float
    window: str


class Flush(NamedTuple):
    """After some hours the host flushes."""

    after_h: float


class Restart(NamedTuple):
    """The process ends, and after some hours another begins."""

    after_h: float


Event = Record | Flush | Restart

HOURS = st.floats(0.0, 30.0)
EVENTS = st.builds(Record, HOURS, st.sampled_from(WINDOWS)) | st.builds(Flush, HOURS)
LIFE = st.lists(EVENTS, min_size=1, max_size=6)
LIVES = st.lists(EVENTS | st.builds(Restart, HOURS), min_size=1, max_size=6)


def refusals_of(codes: Sequence[Refusal | None]) -> Answer:
    """Answer with a verdict that refuses reports by these codes, in turn."""

    def answer(upload: Upload) -> Reply:
        turns = zip(range(len(upload.reports)), itertools.cycle(codes), strict=False)
        refused = tuple((index, code) for index, code in turns if code is not None)
        return Reply(200, None, Verdict(len(upload.reports), refused).encode())

    return answer


ANSWERS = st.one_of(
    st.just(accept),
    st.just(nothing),
    st.sampled_from(Refusal).map(refuse),
    st.sampled_from([400, 413, 415, 422, 403]).map(problem),
    st.builds(status, st.sampled_from([200, 302, 401, 429, 503]), st.none() | st.integers(0, 10**6).map(str)),
    st.lists(st.none() | st.sampled_from(Refusal), min_size=1, max_size=4).map(refusals_of),
)
SCRIPTS = st.lists(ANSWERS, min_size=1, max_size=12)
SEEDS = st.integers(0, 2**32)


def lived(device: SimulatedDevice, life: Sequence[Event]) -> list[Report]:
    recorded = []
    for number, event in enumerate(life):
        then_s = device.now_s + event.after_h * HOUR_S
        if isinstance(event, Restart):
            device.skip_until(then_s)
            continue
        device.run_until(then_s)
        if isinstance(event, Flush):
            device.flush()
        else:
            recorded.append(Report(f"m{number}", EDITION, event.window, number % 2))
            device.record(recorded[-1])
    return recorded


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=20)
@given(LIVES, SCRIPTS, SEEDS)
def test_no_report_is_lost_or_doubled_or_sent_for_ever(life: list[Event], script: list[Answer], seed: int) -> None:
    with simulated(script, seed) as device:
        recorded = lived(device, life)
        accepted = [entry for entry in device.history() if entry.outcome == "accepted"]
        assert len(recorded) == len(accepted) + len(device.unsettled()) + sum(device.dropped().values())
        assert len(set(device.unsettled())) == len(device.unsettled())
        device.run_until(ALL_OVER_S)
        accepted = [entry for entry in device.history() if entry.outcome == "accepted"]
        assert device.unsettled() == []
        assert len(recorded) == len(accepted) + sum(device.dropped().values())
        assert {entry.metric for entry in device.history()} == {report.metric for report in recorded}


@settings(derandomize=True, deadline=None, max_examples=20)
@given(LIVES, SCRIPTS, SEEDS)
def test_a_report_that_is_sent_anew_is_alone_in_its_upload(life: list[Event], script: list[Answer], seed: int) -> None:
    with simulated(script, seed) as device:
        lived(device, life)
        device.run_until(device.now_s + 2 * DAY_S)
        bodies: dict[str, bytes] = {}
        uploads_of = Counter[Report]()
        for request in device.requests:
            if request.upload.id in bodies:
                assert bodies[request.upload.id] == request.body
                continue
            bodies[request.upload.id] = request.body
            if any(uploads_of[report] for report in request.upload.reports):
                assert len(request.upload.reports) == 1
            uploads_of.update(request.upload.reports)
        assert max(uploads_of.values(), default=0) <= 1 + outbox.MAX_SENT_ALONE


@settings(derandomize=True, deadline=None, max_examples=20)
@given(LIVES, SCRIPTS, SEEDS)
def test_what_is_sent_again_keeps_apart_from_uploads_before(life: list[Event], script: list[Answer], seed: int) -> None:
    with simulated(script, seed) as device:
        lived(device, life)
        device.run_until(device.now_s + 2 * DAY_S)
        sent = {report for first in device.requests[:1] for report in first.upload.reports}
        for before, request in itertools.pairwise(device.requests):
            is_new = not sent & set(request.upload.reports)
            if not is_new and before.process == request.process and request.upload.id != before.upload.id:
                assert request.at_s >= before.at_s + request.apart_s
            sent.update(request.upload.reports)


@pytest.mark.long
@settings(derandomize=True, deadline=None, max_examples=20)
@given(LIFE, SCRIPTS, SCRIPTS, SEEDS)
def test_when_new_reports_leave_and_with_which_others_does_not_depend_on_any_answer(
    life: list[Event], script: list[Answer], other: list[Answer], seed: int
) -> None:
    sent = []
    for answers in (script, other):
        with simulated(answers, seed) as device:
            lived(device, life)
            device.run_until(NOON + 7 * DAY_S + 1)
            sent.append(of_new_reports(device.requests))
    assert sent[0] == sent[1]


@settings(derandomize=True, deadline=None, max_examples=20)
@given(SEEDS)
def test_what_became_due_while_an_answer_was_held_back_has_another_random_instant(seed: int) -> None:
    with simulated([nothing, accept], seed) as device:
        ended_s = []

        def hold() -> None:
            if len(device.requests) == 2:  # the first upload's second attempt
                device.record(Report("m1", EDITION, WINDOWS[0], 0))
                device.now_s += SPREAD_S
                ended_s.append(device.now_s)

        device.during_exchange = hold
        device.record(Report("m0", EDITION, WINDOWS[0], 0))
        device.run_until(NOON + DAY_S)
        news = next(request for request in device.requests if request.upload.reports[0].metric == "m1")
        assert ended_s[0] < news.at_s <= ended_s[0] + SPREAD_S
