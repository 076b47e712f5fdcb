"""What a ledger tells people: labels, what waits until when, what is spent, what went wrong."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Registry, show
from client_sdk.cli import main
from client_sdk.ledger import device, outbox, registries, status
from client_sdk.ledger.file import FILE_NAME, open_file
from client_sdk.protocol import Refusal
from client_sdk.protocol.sentences import SHIPPED, shipped
from tests.support.devices.clients import (
    DAY_S,
    NOON,
    RARE,
    REGISTRY,
    ScriptedTransport,
    SetClock,
    accept,
    all_bytes,
    ask,
    change,
    nothing,
    record_in,
    refuse,
    registry,
    report_from,
    rows,
    telemetry,
)
from tests.support.devices.definitions import TEXT, registry_text
from tests.support.laws.coins import ScriptedCoins

Capture = pytest.CaptureFixture[str]


def shown(data_dir: Path, capsys: Capture, *options: str) -> str:
    assert main(["show", "--data-dir", str(data_dir), *(options or ["--all"])]) == 0
    return capsys.readouterr().out


def as_json(data_dir: Path, capsys: Capture) -> Any:
    return json.loads(shown(data_dir, capsys, "--json"))


@pytest.mark.slow
@pytest.mark.parametrize("language", SHIPPED)
def test_people_see_twenty_lines_in_words_however_much_there_is(language: str, tmp_path: Path, capsys: Capture) -> None:
    word, clock = Registry.parse(registry_text(word=TEXT)), SetClock()
    for _ in range(12):
        clock.now_s += DAY_S
        with telemetry(tmp_path, registry=word, clock=clock, transport=ScriptedTransport(accept)) as device:
            device.record("word", "abc")
            device.flush(timeout_s=60)
    say, out = shipped(language), shown(tmp_path, capsys, "--language", language)
    assert len(out.splitlines()) <= 20
    assert out.count(say("show.plain.texts")) == 8
    assert say("show.earlier", reports=4) in out
    assert word.metric("word").edition not in out
    assert shown(tmp_path, capsys, "--all").count("3,541 cells") == 12


@pytest.mark.parametrize("refusal", [*(each for each in Refusal if each.retryable), Refusal.WINDOW_CLOSED])
def test_a_refusal_is_explained_to_users_in_their_language(refusal: Refusal, tmp_path: Path, capsys: Capture) -> None:
    with telemetry(tmp_path, transport=ScriptedTransport(refuse(refusal))) as device:
        device.record("dark_mode", value=True)
        device.flush(timeout_s=60)
        assert refusal.sentence in str(device.problem)
    for language in SHIPPED:
        say, out = shipped(language), shown(tmp_path, capsys, "--language", language)
        words = say(f"problem.{refusal}") if refusal.retryable else say.code("outcome", refusal)
        assert f"{say('show.problem', instant='2026-11-20 12:00 UTC', sentence=words)}\n" in out


def test_what_was_never_sent_is_said_with_its_label_and_its_last_hour(tmp_path: Path, capsys: Capture) -> None:
    record_in(tmp_path, "dark_mode", coins=ScriptedCoins([True]))
    assert shown(tmp_path, capsys, "--pending") == (
        "Question   When        Reports  Waits         At the latest\n"
        "dark_mode  2026-11-20  true     not sent yet  2026-11-24 00:00 UTC\n"
    )


def test_what_was_sent_and_not_answered_or_refused_for_now_says_so(tmp_path: Path, capsys: Capture) -> None:
    report_from(tmp_path, "dark_mode", transport=ScriptedTransport(nothing))
    (report,) = as_json(tmp_path, capsys)["pending"]
    assert report["why"] == "the collector has not answered"
    assert report["next_s"] >= NOON
    report_from(tmp_path, "sound", transport=ScriptedTransport(refuse(Refusal.UNKNOWN_METRIC)))
    whys = {report["metric"]: report["why"] for report in as_json(tmp_path, capsys)["pending"]}
    assert whys["sound"] == "refused for now; will be sent again separately"


def test_a_report_that_is_held_back_says_until_when(tmp_path: Path, capsys: Capture) -> None:
    held = registry(REGISTRY.replace("[metric.sound]\n", "[metric.sound]\nfill_in = true\n"))
    record_in(tmp_path, "dark_mode", registry=held)
    change(tmp_path, "UPDATE queue SET release = 4000000000 WHERE metric = 'sound'")
    assert "leaves when its window has ended; from 2096-10-02 07:06 UTC" in shown(tmp_path, capsys, "--pending")


def test_the_latest_problem_survives_its_process_and_ends_with_it(tmp_path: Path, capsys: Capture) -> None:
    clock = SetClock()
    with telemetry(tmp_path, transport=ScriptedTransport(nothing), clock=clock) as device:
        device.record("dark_mode", value=True)
        device.flush(timeout_s=60)
        problem = device.problem
    assert problem is not None
    assert f"Latest problem (2026-11-20 12:00 UTC): {problem}" in shown(tmp_path, capsys)
    clock.now_s += DAY_S
    report_from(tmp_path, "dark_mode", clock=clock)
    assert "Latest problem" not in shown(tmp_path, capsys)


def test_a_clock_that_stands_wrong_is_noted_even_if_the_process_ends_at_once(tmp_path: Path, capsys: Capture) -> None:
    record_in(tmp_path, "dark_mode")
    with telemetry(tmp_path, clock=SetClock(NOON - 9 * DAY_S)) as device:
        device.record("sound", value=True)
    assert "the device's clock is before 2026-11-20" in shown(tmp_path, capsys)


def test_a_report_of_a_metric_that_is_asked_no_more_keeps_its_label(tmp_path: Path, capsys: Capture) -> None:
    report_from(tmp_path, "dark_mode", coins=ScriptedCoins([True]))
    later = registry(REGISTRY.replace("[metric.dark_mode]", "[metric.night_mode]"))
    with telemetry(tmp_path, registry=later) as device:
        device.record("sound", value=True)
        (entry,) = device.history()
        assert str(entry) == "2026-11-20 dark_mode: true (accepted)"
    assert "dark_mode  2026-11-20  true" in shown(tmp_path, capsys)
    change(tmp_path, "DELETE FROM registries")
    assert "dark_mode  2026-11-20  symbol 1" in shown(tmp_path, capsys)


def test_no_value_of_the_registry_is_in_the_file_in_the_clear(tmp_path: Path) -> None:
    """A text there might be an answer; so a leak could not be told from the registry."""
    record_in(tmp_path, "dark_mode")
    assert len(rows(tmp_path, "SELECT * FROM registries")) == 1
    assert RARE.encode() not in all_bytes(tmp_path)


def test_registries_are_kept_once_each_and_not_for_ever(tmp_path: Path) -> None:
    for number in range(registries.MOST_KEPT + 2):
        text = f"{REGISTRY}# release {number}\n"
        with telemetry(tmp_path, registry=registry(text)) as device:
            device.record("dark_mode", value=True)
            device.record("sound", value=True)
    packed = rows(tmp_path, "SELECT source FROM registries ORDER BY turn")
    assert len(packed) == registries.MOST_KEPT
    assert registries.unpacked(packed[-1][0]) == text


def test_json_holds_everything_and_only_what_was_reported(tmp_path: Path, capsys: Capture) -> None:
    report_from(tmp_path, "dark_mode", coins=ScriptedCoins([False]))
    document = as_json(tmp_path, capsys)
    assert set(document) == {"history", "may_be_erased", "pending", "waiting"} | {
        *("spent", "budget", "dropped", "stopped", "problem")
    }
    (entry,) = document["history"]
    assert (entry["label"], entry["symbol"], entry["outcome"]) == ("false", 0, "accepted")
    assert document["budget"]["lifetime_ceiling"] == 4.0
    assert json.loads(shown(tmp_path, capsys, "--json", "--pending")) == []


NOTHING_LEFT = "Nothing has left this device.\n"
MAY_BE_ERASED = "Reports that left before it was erased are not shown.\n"


def test_what_only_waits_has_not_left_whatever_was_paid_for_it(tmp_path: Path, capsys: Capture) -> None:
    """Filled-in reports wait unanswered."""
    two_metrics = ask(
        '[metric.kept]\nkind = "boolean"\nepsilon = 1.0\npermanent_epsilon = 2.0\n'
        '[metric.filled]\nkind = "boolean"\nepsilon = 1.0\nfill_in = true\n'
    )
    record_in(tmp_path, "kept", registry=two_metrics)
    out = shown(tmp_path, capsys)
    assert NOTHING_LEFT in out
    assert "Waiting to be sent or acknowledged: 2\n" in out


@pytest.mark.parametrize("later_s", [0.0, DAY_S])
def test_nothing_that_left_is_denied_after_its_list_was_erased(later_s: float, tmp_path: Path, capsys: Capture) -> None:
    clock = SetClock()
    with telemetry(tmp_path, clock=clock) as device:
        device.record("dark_mode", value=True)
        assert device.flush(timeout_s=60)
        device.forget()
    assert MAY_BE_ERASED in shown(tmp_path, capsys)
    clock.now_s += later_s
    record_in(tmp_path, "sound", clock=clock)
    out = shown(tmp_path, capsys)
    assert MAY_BE_ERASED in out
    assert NOTHING_LEFT not in out


def test_nothing_that_left_is_denied_after_one_purpose_was_withdrawn(tmp_path: Path, capsys: Capture) -> None:
    with_purpose = registry(REGISTRY.replace("[metric.dark_mode]\n", '[metric.dark_mode]\nconsent = "looks"\n'))
    with telemetry(tmp_path, registry=with_purpose) as device:
        device.record("dark_mode", value=True)
        assert device.flush(timeout_s=60)
        device.consent = {"other"}
    assert MAY_BE_ERASED in shown(tmp_path, capsys)


def test_of_a_report_that_was_dropped_unsent_nothing_false_is_said(tmp_path: Path, capsys: Capture) -> None:
    record_in(tmp_path, "dark_mode")
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE editions SET stopped = 1 WHERE metric IN (SELECT metric FROM queue)")
        outbox.drop_stopped(connection)
    out = shown(tmp_path, capsys)
    assert MAY_BE_ERASED in out
    assert "Dropped (stopped by the collector): 1\n" in out


def test_who_follows_sees_each_line_once_and_each_change() -> None:
    looks = iter([["a", "b"], ["a", "b"], ["a", "c", "b"]])
    rounds = count()

    def pause() -> None:
        if next(rounds) == 2:
            raise KeyboardInterrupt

    followed = show.followed(lambda: next(looks), pause)
    assert [next(followed), next(followed), next(followed)] == ["a", "b", "c"]
    with pytest.raises(KeyboardInterrupt):
        next(followed)


def test_ending_a_follower_by_hand_is_no_failure(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_in(tmp_path, "dark_mode")

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "sleep", interrupted)
    assert "Waiting to be sent or acknowledged: 1" in shown(tmp_path, capsys, "--follow")


def test_after_opting_out_no_problem_is_noted(tmp_path: Path) -> None:
    with telemetry(tmp_path) as opted_out:
        opted_out.record("dark_mode", value=True)
        opted_out.forget()
    with contextlib.closing(open_file(tmp_path / FILE_NAME, None, create=False)) as connection:
        device.note_problem(connection, device.UPLOAD, "the collector could not be reached")
        assert status.latest_problem(connection) is None
