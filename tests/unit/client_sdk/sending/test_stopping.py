"""A stopped question: nothing more of it is recorded, charged or sent, and nothing begins by it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk import Recorded, Registry
from client_sdk.answers.schedule import Schedule
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.cli import main
from client_sdk.ledger import outbox, queue, registries
from client_sdk.ledger.file import FILE_NAME, open_file, open_memory
from client_sdk.protocol import Refusal, Report, Upload
from client_sdk.protocol.wire.failure import Failure
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.verdict import MAX_STOPPED, decode_stopped, encode_stopped
from client_sdk.sending.helper import BriefLedger, send
from client_sdk.sending.responses import Reply
from tests.support.core.tables import for_each
from tests.support.devices.clients import (
    DAY_S,
    NOON,
    Answer,
    ScriptedTransport,
    SetClock,
    accept,
    ask,
    nothing,
    problem,
    record_in,
    refuse,
    report_from,
    rows,
    status,
    telemetry,
)

PLAIN = ask('[metric.m]\nkind = "boolean"\n[metric.n]\nkind = "boolean"')
TAPS = '[metric.m]\nkind = "boolean"\n[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\npersist = true'


def stopping(*names: str, asked: Registry = PLAIN, answer: Answer = accept) -> Answer:
    """Answer as another way does, and name questions of a registry as stopped."""
    header = encode_stopped((name, asked.metric(name).edition) for name in names)

    def answer_and_stop(upload: Upload) -> Reply | Failure | None:
        reply = answer(upload)
        return reply._replace(stopped=header) if isinstance(reply, Reply) else reply

    return answer_and_stop


def sent(transport: ScriptedTransport) -> list[tuple[str, str]]:
    return [(report.metric, report.window) for report in transport.reports]


@pytest.mark.parametrize("answer", [accept, refuse(Refusal.UNKNOWN_EDITION)], ids=["accepted", "refused"])
def test_a_stopped_metric_is_not_recorded_charged_or_sent_and_others_go_on(tmp_path: Path, answer: Answer) -> None:
    clock, transport = SetClock(), ScriptedTransport(stopping("m", answer=answer), accept)
    with telemetry(tmp_path, registry=PLAIN, clock=clock, transport=transport) as device:
        assert device.record("n", value=True) is Recorded.QUEUED
        device.flush(timeout_s=60)
        spent = device.budget().lifetime_spent
        assert device.record("m", value=True) is Recorded.STOPPED
        assert device.budget().lifetime_spent == spent
        clock.now_s += DAY_S
        assert device.record("n", value=True) is Recorded.QUEUED
        assert device.record("m", value=True) is Recorded.STOPPED
        device.flush(timeout_s=60)
    assert {metric for metric, _ in sent(transport)} == {"n"}
    assert len({window for _, window in sent(transport)}) == 2
    assert rows(tmp_path, "SELECT DISTINCT metric FROM charges") == [("n",)]


def test_every_edition_can_be_stopped_once_a_device_has_done_what_is_due() -> None:
    with closing(open_memory("acme")) as connection:
        Schedule(PLAIN, SystemCoins()).catch_up(connection, NOON)
        named = connection.execute("SELECT metric, edition FROM editions WHERE stopped = 0 ORDER BY metric").fetchall()
    assert named == [(name, PLAIN.metric(name).edition) for name in ("m", "n")]


def test_unsent_reports_of_a_stopped_metric_are_dropped_and_counted(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport(stopping("m"))
    registry = ask('[metric.m]\nkind = "boolean"\nfill_in = true\n[metric.n]\nkind = "boolean"')
    transport.answer(stopping("m", asked=registry))
    with telemetry(tmp_path, registry=registry, clock=clock, transport=transport) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        assert device.record("n", value=True) is Recorded.QUEUED
        device.flush(timeout_s=60)
        assert device.dropped() == {"stopped": 1}
        clock.now_s += 3 * DAY_S
        device.flush(timeout_s=60)
    assert {metric for metric, _ in sent(transport)} == {"n"}


def test_a_stop_outlives_the_process_and_what_a_collector_says_later_and_ends_with_its_edition(tmp_path: Path) -> None:
    report_from(tmp_path, "n", registry=PLAIN, transport=ScriptedTransport(stopping("m")))
    clock = SetClock(NOON + 9 * DAY_S)
    with telemetry(tmp_path, registry=PLAIN, clock=clock) as device:
        assert device.record("n", value=True) is Recorded.QUEUED
        device.flush(timeout_s=60)
        assert device.record("m", value=True) is Recorded.STOPPED
    edited = ask('[metric.m]\nkind = "boolean"\nepsilon = 2\n[metric.n]\nkind = "boolean"')
    record_in(tmp_path, "m", registry=edited, clock=clock)


def test_a_metric_that_asks_alike_under_another_name_goes_on() -> None:
    assert PLAIN.metric("m").edition == PLAIN.metric("n").edition
    with telemetry(None, registry=PLAIN, transport=ScriptedTransport(stopping("m"))) as device:
        assert device.record("n", value=True) is Recorded.QUEUED
        device.flush(timeout_s=60)
        assert device.record("m", value=True) is Recorded.STOPPED
        assert device.record("n", value=True) is Recorded.ALREADY_RECORDED


def test_a_count_of_a_stopped_metric_is_never_reported(tmp_path: Path) -> None:
    registry = ask(TAPS)
    clock, transport = SetClock(), ScriptedTransport(stopping("taps", asked=registry))
    with telemetry(tmp_path, registry=registry, clock=clock, transport=transport) as device:
        assert device.count("taps") is Recorded.COUNTED
        assert device.record("m", value=True) is Recorded.QUEUED
        device.flush(timeout_s=60)
        assert device.count("taps") is Recorded.STOPPED
        clock.now_s += 2 * DAY_S
        device.flush(timeout_s=60)
    assert [metric for metric, _ in sent(transport)] == ["m"]
    assert rows(tmp_path, "SELECT * FROM counts") == []
    assert rows(tmp_path, "SELECT DISTINCT metric FROM charges") == [("m",)]


def test_the_draw_is_the_same_with_a_stop_as_without_so_that_nothing_is_asked_in_its_place(tmp_path: Path) -> None:
    budget = 'strategy = "sample"\nanswers = 1'
    registry = ask("".join(f'[metric.m{number}]\nkind = "boolean"\nfill_in = true\n' for number in range(4)), budget)

    def drawn(folder: Path, *stopped: str) -> list[tuple[str, str]]:
        clock = SetClock()
        with telemetry(folder, registry=registry, clock=clock) as device:
            ledger = device._processes.current.ledger_thread
            ledger.run(lambda c: c.execute("UPDATE device SET secret = ?", (bytes(32),)), 60)
            keys = [(name, registry.metric(name).edition) for name in stopped]
            ledger.run(lambda c: registries.name_metrics(c, keys), 60)
            ledger.run(lambda c: registries.learn_stops(c, keys), 60)
            device._schedule._secret = None
            for _ in range(30):
                clock.now_s += DAY_S
                device.flush(timeout_s=60)
        return [tuple(row) for row in rows(folder, "SELECT metric, window FROM charges WHERE window > '2026-11-20'")]

    free = drawn(tmp_path / "free")
    assert drawn(tmp_path / "stopped", "m0", "m2") == [row for row in free if row[0] in ("m1", "m3")]
    assert len({metric for metric, _ in free}) == 4


HEADERS = st.lists(
    st.sampled_from([f"m:{PLAIN.metric('m').edition}", f"n:{PLAIN.metric('n').edition}", "*", "m", "-m:0", "x" * 99])
    | st.text(max_size=30)
).map(",".join)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=12)
@given(st.lists(st.none() | HEADERS, min_size=1, max_size=6))
def test_whatever_the_header_holds_it_only_silences(headers: list[str | None]) -> None:
    def reports(*answers: Answer) -> set[tuple[str, str]]:
        clock, transport = SetClock(), ScriptedTransport(*answers)
        with telemetry(None, registry=PLAIN, clock=clock, transport=transport) as device:
            for _ in headers:
                for metric in ("m", "n"):
                    device.record(metric, value=True)
                device.flush(timeout_s=60)
                clock.now_s += DAY_S
        return set(sent(transport))

    def saying(header: str | None) -> Answer:
        return lambda upload: accept(upload)._replace(stopped=header)

    assert reports(*map(saying, headers)) <= reports(accept)


def garbage(number: int) -> Answer:
    """Answer with a whole list of stops that no registry has named."""
    edition = PLAIN.metric("m").edition
    metrics = [(f"x{number}_{entry}", edition) for entry in range(32)]
    metrics += [("m", f"{number * 32 + entry:012x}") for entry in range(32)]
    header = encode_stopped(metrics)
    assert len(decode_stopped(header)) == MAX_STOPPED
    return lambda upload: accept(upload)._replace(stopped=header)


def test_after_a_flood_of_hostile_answers_a_device_obeys_a_stop_and_keeps_nothing_of_them(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport(*map(garbage, range(40)), stopping("m"))
    with telemetry(tmp_path, registry=PLAIN, clock=clock, transport=transport) as device:
        for _ in range(41):
            assert device.record("n", value=True) is Recorded.QUEUED
            assert device.flush(timeout_s=60)
            clock.now_s += DAY_S
        assert device.record("m", value=True) is Recorded.STOPPED
    named = [(name, PLAIN.metric(name).edition) for name in ("m", "n")]
    assert rows(tmp_path, "SELECT metric, edition, stopped FROM editions") == [(*named[0], 1), (*named[1], 0)]


@for_each("answer", [*map(status, (200, 204, 302, 401, 404, 413, 429, 500, 503)), *map(problem, (400, 413)), nothing])
def test_only_a_whole_verdict_stops_anything(answer: Answer) -> None:
    transport = ScriptedTransport(stopping("m", answer=answer))
    with telemetry(None, registry=PLAIN, transport=transport) as device:
        assert device.record("n", value=True) is Recorded.QUEUED
        device.flush(timeout_s=60)
        assert device.record("m", value=True) is Recorded.QUEUED
    assert transport.uploads


def test_which_stops_a_device_keeps_says_nothing_of_its_answers(tmp_path: Path) -> None:
    former = ask('[metric.m]\nkind = "boolean"\nepsilon = 2\n[metric.n]\nkind = "boolean"')
    strata = Registry.parse(f'{PLAIN.source}strata = ["platform"]\n[strata]\nplatform = ["ios", "android"]\n')
    editions = [("m", former.metric("m").edition), *(("n", edition) for edition in strata.metric("n").editions)]

    def kept(folder: Path, *, records: bool) -> list[tuple[str, str]]:
        clock, transport = SetClock(), ScriptedTransport(nothing)
        for registry in (former, strata):
            with telemetry(folder, registry=registry, clock=clock, transport=transport) as device:
                if records or registry is strata:
                    assert device.record("m", value=True) is Recorded.QUEUED
            clock.now_s += DAY_S
        header = encode_stopped([*editions, ("x", editions[0][1])])
        transport.answer(lambda upload: accept(upload)._replace(stopped=header))
        report_from(folder, registry=strata, clock=clock, transport=transport)
        return rows(folder, "SELECT metric, edition FROM editions WHERE stopped = 1 ORDER BY 1, 2")

    assert kept(tmp_path / "silent", records=False) == kept(tmp_path / "recording", records=True) == sorted(editions)


def test_an_upload_that_left_with_other_reports_stays_as_it_is_and_one_of_stopped_ones_alone_is_dropped() -> None:
    edition = "0123456789ab"
    with closing(open_memory("acme")) as connection:
        for names in (("m", "n"), ("m2",)):
            for name in names:
                queue.enqueue(connection, Report(name, edition, "2026-11-20", 0))
            assert outbox.new_parcel(connection, NOON) is not None
        registries.name_metrics(connection, [("m", edition), ("m2", edition)])
        registries.learn_stops(connection, [("m", edition), ("m2", edition)])
        outbox.drop_stopped(connection)
        bodies = connection.execute("SELECT body FROM uploads").fetchall()
    assert [sorted(report.metric for report in read_upload(body).reports) for (body,) in bodies] == [["m", "n"]]


def test_the_helper_that_sends_for_a_program_learns_of_a_stop(tmp_path: Path) -> None:
    record_in(tmp_path, "n", registry=PLAIN, transport=ScriptedTransport(nothing))
    helper = BriefLedger(tmp_path / FILE_NAME, "acme")
    transport = ScriptedTransport(stopping("m"))
    send(helper, transport, lambda: NOON + 600, lambda _: None, lambda low, _: low, monotonic=lambda: 0.0)
    assert sent(transport) != []
    with telemetry(tmp_path, registry=PLAIN) as device:
        assert device.record("m", value=True) is Recorded.STOPPED


def test_an_app_may_ship_the_list_of_its_collector(tmp_path: Path) -> None:
    shipped = Registry.parse(f'stopped = ["m:{PLAIN.metric("m").edition}"]\n{PLAIN.source}')
    record_in(tmp_path, "m", registry=PLAIN, transport=ScriptedTransport(nothing))
    with telemetry(tmp_path, registry=shipped) as device:
        assert device.record("m", value=True) is Recorded.STOPPED


def test_show_says_what_its_collector_has_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report_from(tmp_path, "n", registry=PLAIN, transport=ScriptedTransport(stopping("m")))
    edition = PLAIN.metric("m").edition
    assert main(["show", "--data-dir", str(tmp_path)]) == 0
    assert "Stopped by the collector: m\n" in capsys.readouterr().out
    assert main(["show", "--data-dir", str(tmp_path), "--all"]) == 0
    assert f"Stopped by the collector: m (edition {edition})" in capsys.readouterr().out
    assert main(["show", "--data-dir", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] == [["m", edition]]


def test_opting_out_wipes_the_stops_which_could_mark_a_device_and_nothing_is_noted_after_it(tmp_path: Path) -> None:
    with telemetry(tmp_path, registry=PLAIN, transport=ScriptedTransport(stopping("m"))) as device:
        assert device.record("n", value=True) is Recorded.QUEUED
        device.flush(timeout_s=60)
        assert rows(tmp_path, "SELECT metric FROM editions WHERE stopped = 1") == [("m",)]
        device.forget()
    connection = open_file(tmp_path / FILE_NAME, "acme", create=False)
    registries.learn_stops(connection, [("m", "0123456789ab")])  # an answer that was under way
    assert registries.stopped(connection) == []
    connection.close()
