"""What decides whether an app reports, how users are asked, and what a suppressed run leaves."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Recorded, Registry, consent
from client_sdk.host import detached
from client_sdk.results import SUPPRESSED, Decision, FlushOutcome, Rule
from client_sdk.sending import helper
from tests.support.core.tables import for_each
from tests.support.devices.clients import NOON, ScriptedTransport, SetClock, accept, ask, nothing, record_in, rows
from tests.support.devices.clients import telemetry as device_of
from tests.support.services.processes import wait_until
from tests.support.vectors import vectors

VECTORS = vectors("consent")
DAY = VECTORS["standings"]["day"]
URL = "https://telemetry.example.com"
VARIABLE = "ACME_TELEMETRY"
STORED = {
    "none": Decision(consent=False, rule=Rule.UNDECIDED),
    "yes": Decision(consent=True, rule=Rule.CHOICE, by=DAY),
    "no": Decision(consent=False, rule=Rule.CHOICE, by=DAY),
}
FLAG = 'kind = "boolean"\n'
PLAIN = ask(f"[metric.used]\n{FLAG}")
TWO = ask(f"[metric.used]\n{FLAG}[metric.broke]\n{FLAG}")


def written(value: object) -> object:
    """Return a consent as the vectors write it."""
    return sorted(value) if isinstance(value, frozenset) else "suppressed" if value is SUPPRESSED else value


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DO_NOT_TRACK", VARIABLE, *consent.CI_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(consent, "machine_files", lambda: ())


@pytest.mark.parametrize("case", VECTORS["decisions"], ids=lambda case: f"{case['rule']} {case['environment']}")
def test_the_first_rule_that_applies_decides(case: dict[str, Any]) -> None:
    decision = consent.decide(case["environment"], case["files"], STORED[case["stored"]], case["variable"])
    assert (decision.rule, written(decision.consent), decision.by) == (case["rule"], case["consent"], case["by"])


def test_of_all_combinations_an_earlier_rule_overrules_every_later_one() -> None:
    steps: list[tuple[tuple[Mapping[str, str], tuple[str, ...]], ...]] = [
        (({}, ()), ({"DO_NOT_TRACK": "1"}, ())),
        (({}, ()), ({"CI": "1"}, ()), ({"TF_BUILD": "True"}, ())),
        (({}, ()), ({}, ("/etc/hearsay/disabled",))),
        (({}, ()), ({VARIABLE: "0"}, ()), ({VARIABLE: "1"}, ())),
    ]
    rules = (Rule.DO_NOT_TRACK, Rule.CI, Rule.MACHINE, Rule.VARIABLE)
    for taken in itertools.product(*steps):
        environment = {name: value for variables, _ in taken for name, value in variables.items()}
        files = tuple(file for _, present in taken for file in present)
        for stored in STORED.values():
            first = next((rule for rule, step in zip(rules, taken, strict=True) if any(step)), stored.rule)
            decision = consent.decide(environment, files, stored, VARIABLE)
            assert decision.rule == first
            suppresses = first in rules and not (first is Rule.VARIABLE and environment[VARIABLE] == "1")
            assert (decision.consent is SUPPRESSED) == suppresses
            assert first in rules or decision == stored


@pytest.mark.parametrize("case", VECTORS["standings"]["cases"], ids=lambda case: case["change"])
def test_only_what_a_user_would_want_to_know_is_asked_again(case: dict[str, Any], tmp_path: Path) -> None:
    before = Registry.parse(VECTORS["standings"]["definition"])
    chosen = case["chosen"] if isinstance(case["chosen"], bool) else set(case["chosen"])
    consent.choose(before, consent=chosen, collector=VECTORS["standings"]["collector"], data_dir=tmp_path)
    decision = consent.current(Registry.parse(case["definition"]), collector=case["collector"], data_dir=tmp_path)
    assert (decision.rule, written(decision.consent)) == (case["rule"], case["consent"])
    assert (sorted(decision.withheld), sorted(decision.undecided)) == (case["withheld"], case["undecided"])


def test_a_new_metric_is_asked_about_once_whatever_the_answer_is(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"collector": URL, "data_dir": tmp_path}
    consent.choose(PLAIN, consent=True, **settings)
    asked: list[tuple[str, ...]] = []

    def decline(names: tuple[str, ...], lines: tuple[str, ...]) -> bool:
        asked.append(names)
        assert "These questions are new or have changed:" in lines[0]
        assert lines[1:3] == ("  broke: Is it used?", "The reports go to telemetry.example.com.")
        assert "The most revealing question is broke" in lines[4]
        return False

    for _ in range(2):
        decision = consent.ask(TWO, prompt=decline, **settings)
        assert (decision.consent, decision.withheld) == (True, frozenset({"broke"}))
    assert asked == [("broke",)]
    consent.choose(TWO, consent=True, **settings)
    assert consent.current(TWO, **settings).withheld == frozenset()


def test_a_metric_that_is_withheld_is_off_and_the_others_go_on_with_what_they_left(tmp_path: Path) -> None:
    decision = Decision(consent=True, rule=Rule.CHOICE, withheld=frozenset({"broke"}), undecided=("broke",))
    clock = SetClock(NOON)
    record_in(tmp_path, "broke", registry=TWO, clock=clock, transport=ScriptedTransport(nothing))
    left = rows(tmp_path, "SELECT * FROM queue")
    transport = ScriptedTransport(accept)
    with device_of(tmp_path, registry=TWO, clock=clock, consent=decision, transport=transport) as device:
        assert device.record("broke", value=True) is Recorded.NO_CONSENT
        assert device.record("used", value=True) is Recorded.QUEUED
        assert rows(tmp_path, "SELECT * FROM queue WHERE metric = 'broke'") == left
        device.consent = True
        assert device.record("broke", value=True) is Recorded.ALREADY_RECORDED


@pytest.mark.parametrize("sets", [False, True], ids=["at the start", "while it runs"])
def test_what_waits_of_a_metric_that_was_declined_is_dropped(tmp_path: Path, *, sets: bool) -> None:
    decision, clock = Decision(consent=True, rule=Rule.CHOICE, withheld=frozenset({"broke"})), SetClock(NOON)
    with device_of(tmp_path, registry=TWO, clock=clock, transport=ScriptedTransport(nothing)) as device:
        device.record("broke", value=True)
        device.record("used", value=True)
        if sets:
            device.consent = decision
    if not sets:
        device_of(tmp_path, registry=TWO, clock=clock, consent=decision, transport=ScriptedTransport(nothing)).close()
    assert rows(tmp_path, "SELECT metric FROM queue UNION SELECT metric FROM history") == [("used",)]


def test_a_prompt_about_some_metrics_changes_nothing_about_the_others(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"collector": URL, "data_dir": tmp_path}
    more = f'[metric.broke]\n{FLAG}consent = "crashes"\n[metric.ads]\n{FLAG}consent = "ads"\n'
    grouped = ask(f"[metric.used]\n{FLAG}{more}")
    consent.choose(PLAIN, consent=True, **settings)
    decision = consent.ask(grouped, prompt=lambda *_: {"crashes"}, **settings)
    assert (decision.consent, decision.withheld, decision.undecided) == (True, frozenset({"ads"}), ())


def test_a_choice_that_cannot_be_stored_does_not_end_the_app(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    decision = consent.ask(PLAIN, collector=URL, data_dir=tmp_path / "file", prompt=lambda *_: True)
    assert (decision.consent, decision.rule) == (False, Rule.UNDECIDED)
    assert "cannot store the user's choice, so the user will be asked again" in caplog.text


def test_a_move_to_another_collector_says_so_when_it_asks(tmp_path: Path) -> None:
    consent.choose(PLAIN, consent=True, collector=URL, data_dir=tmp_path)
    shown: list[str] = []
    elsewhere = "https://ads.example"
    consent.ask(PLAIN, collector=elsewhere, data_dir=tmp_path, prompt=lambda _, lines: shown.extend(lines))
    assert shown[0].startswith("Since you agreed on")
    assert "The reports go to ads.example." in shown


def test_a_collector_without_a_host_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="collector must be a URL"):
        consent.current(PLAIN, collector="telemetry.example.com", data_dir=tmp_path)


def test_a_withheld_metric_is_neither_filled_in_nor_counted(tmp_path: Path) -> None:
    registry = ask(
        f"[metric.filled]\n{FLAG}fill_in = true\n"
        '[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\npersist = true\n'
    )
    decision = Decision(consent=True, rule=Rule.CHOICE, withheld=frozenset(registry.metrics))
    clock = SetClock(NOON)
    with device_of(tmp_path, registry=registry, clock=clock, consent=decision) as device:
        assert device.count("taps") is Recorded.NO_CONSENT
        for _ in range(3):
            clock.now_s += 7 * 86_400
            device.flush(5)
    assert rows(tmp_path, "SELECT metric FROM charges") == []


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return each file with its bytes and the time of its last change."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


REPORTS = f'{FLAG}[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\npersist = true\n'


@pytest.mark.parametrize("sender", ["thread", "process"])
def test_a_suppressed_run_changes_no_byte_and_sends_nothing(tmp_path: Path, sender: Any) -> None:
    registry, clock = ask(f"[metric.used]\n{REPORTS}"), SetClock(NOON)
    with device_of(tmp_path, registry=registry, clock=clock, transport=ScriptedTransport(nothing)) as device:
        device.record("used", value=True)
        device.count("taps")
    before = contents(tmp_path)
    decision = Decision(SUPPRESSED, Rule.CI, "CI")
    options = {"transport": ScriptedTransport()} if sender == "thread" else {"transport": None, "sender": sender}
    with device_of(tmp_path, registry=registry, clock=clock, consent=decision, **options) as device:
        assert device.record("used", value=False) is Recorded.SUPPRESSED
        assert device.count("taps") is Recorded.SUPPRESSED
        device.provide("used", lambda: pytest.fail("a suppressed run calls no function"))
        assert device.flush().outcome is FlushOutcome.SUPPRESSED
        assert (device.consent, device.problem) == (SUPPRESSED, None)
        with pytest.raises(ValueError, match="cannot be suppressed"):
            device.consent = decision
    assert contents(tmp_path) == before
    if sender == "thread":
        assert options["transport"].uploads == []
    assert rows(tmp_path, "SELECT count FROM counts") == [(1,)]


def test_a_suppressed_run_makes_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    with device_of(folder, registry=PLAIN, consent=Decision(SUPPRESSED, Rule.MACHINE, "x")) as device:
        device.record("used", value=True)
    assert not folder.exists()


HOLDER = """
import sys
from pathlib import Path
from client_sdk.host import detached
with detached.alone(Path(sys.argv[1])) as held:
    print(held is not None, flush=True)
    sys.stdin.read()
"""


def test_a_suppressed_run_ends_a_running_helper_and_nothing_else(tmp_path: Path) -> None:
    record_in(tmp_path, "used", registry=PLAIN)
    lock = helper._lock_of(tmp_path / "hearsay.sqlite3")
    at_work = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert at_work.stdout is not None
        assert at_work.stdout.readline() == "True\n"
        assert detached.holder(lock) == at_work.pid
        with device_of(tmp_path, registry=PLAIN, consent=Decision(SUPPRESSED, Rule.CI, "CI"), transport=None):
            wait_until(lambda: at_work.poll() is not None, what="the helper's end")
    finally:
        at_work.kill()
        at_work.communicate()
    lock.write_text(str(os.getpid()))  # a helper that ended long ago left the id of a process that is another now
    with device_of(tmp_path, registry=PLAIN, consent=Decision(SUPPRESSED, Rule.CI, "CI"), transport=None):
        assert detached.holder(lock) is None


def test_an_explicit_consent_reads_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recorded(folder: Path) -> list[Recorded]:
        with device_of(folder, registry=PLAIN) as agreed, device_of(None, registry=PLAIN, consent=False) as declined:
            return [agreed.record("used", value=True), declined.record("used", value=True)]

    without = recorded(tmp_path / "without")
    for name in ("DO_NOT_TRACK", "CI", "HEARSAY_TELEMETRY"):
        monkeypatch.setenv(name, "1")
    assert recorded(tmp_path / "with") == without == [Recorded.QUEUED, Recorded.NO_CONSENT]


CHOICE = '{"consent": %s, "day": "%s", "host": "a", "ceilings": {}, "agreed": {"used": %s}, "declined": {}}'
DAMAGES = [
    *("", "{}", "[]", '{"consent": true}', "\x00", "[" * 200_000, CHOICE % ("true", "yesterday", '["x", 1, 0]')),
    *(CHOICE % ("true", DAY, '["x", "a", 0]'), CHOICE % ("true", DAY, '["x", 1]')),
    CHOICE % ('"x"', DAY, '["x", 1, 0]'),
]


@pytest.mark.parametrize("text", DAMAGES, ids=lambda text: text[:40])
def test_a_stored_choice_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    consent.choose(PLAIN, consent=True, collector=URL, data_dir=tmp_path)
    assert consent.current(PLAIN, collector=URL, data_dir=tmp_path).consent is True
    (tmp_path / consent.FILE_NAME).write_text(text)
    decision = consent.current(PLAIN, collector=URL, data_dir=tmp_path)
    assert (decision.consent, decision.rule, decision.undecided) == (False, Rule.UNDECIDED, ("used",))


ASKS = f"""
import sys
from client_sdk import Registry, consent
registry = Registry.parse({PLAIN.source!r})
consent.machine_files = lambda: ()
decision = consent.ask(registry, collector={URL!r}, data_dir=sys.argv[1], language=sys.argv[2])
print("->", decision.consent, decision.rule, flush=True)
"""


def on_a_terminal(folder: Path, typed: str, language: str = "en", **environment: str) -> str:
    """Let a program ask on a terminal of its own; return what is on the screen."""
    import pty  # noqa: PLC0415 Windows has none

    screen, end = pty.openpty()
    # the program leads a session, so that the terminal is its own
    program = subprocess.Popen(
        [sys.executable, "-c", ASKS, str(folder), language],
        stdin=end,
        stdout=end,
        stderr=end,
        env=os.environ | environment,
        start_new_session=True,
        preexec_fn=take_terminal,  # noqa: PLW1509 it calls the system only
    )
    os.close(end)
    os.write(screen, typed.encode())
    shown = "".join(read_all(screen))
    os.close(screen)
    assert program.wait(60) == 0, shown
    return shown.replace("\r\n", "\n")


def take_terminal() -> None:
    """Make standard input the terminal of this session."""
    import fcntl  # noqa: PLC0415 Windows has none
    import termios  # noqa: PLC0415 Windows has none

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_all(screen: int) -> Iterator[str]:
    """Yield what a terminal shows until its last program ends."""
    while True:
        try:
            part = os.read(screen, 65_536)
        except OSError:
            return
        if not part:
            return
        yield part.decode()


@pytest.mark.slow
def test_it_asks_on_a_terminal_once_and_takes_yes_and_no_alone(tmp_path: Path) -> None:
    shown = on_a_terminal(tmp_path, "\nok\nmaybe\nY\n")
    assert "acme would like to report your answers to these questions:\n  used: Is it used?\n" in shown
    assert shown.count("Do you agree? [yes/no/more]") == 4
    assert shown.count("Please type one of these words.") == 3
    assert shown.endswith("-> True choice\n")
    assert on_a_terminal(tmp_path, "") == "-> True choice\n"
    other = tmp_path / "other"
    assert on_a_terminal(other, "NO\n").endswith("-> False choice\n")
    assert on_a_terminal(other, "") == "-> False choice\n"


@for_each("row", VECTORS["typed"])
def test_a_word_or_its_first_letter_answers_and_nothing_else_does(row: dict[str, Any]) -> None:
    assert consent.typed_answer(f"{row['typed']}\n", row["words"]) == row["answer"]


def test_it_shows_the_statement_and_asks_in_the_language_of_the_app(tmp_path: Path) -> None:
    shown = on_a_terminal(tmp_path, "mehr\nja\n", "de")
    assert "# Was acme fragt und was sich daraus erfahren lässt" in shown
    assert shown.endswith("-> True choice\n")


def test_a_user_who_ends_the_input_has_not_decided(tmp_path: Path) -> None:
    shown = on_a_terminal(tmp_path, "\x04")
    assert shown.endswith("\n-> False undecided\n")
    assert not (tmp_path / consent.FILE_NAME).exists()


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["DO_NOT_TRACK", "CI"])
def test_a_suppressed_run_asks_nothing(tmp_path: Path, variable: str) -> None:
    assert "agree" not in on_a_terminal(tmp_path, "", **{variable: "1"})


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ASKS, str(tmp_path), "en"], input="yes\n", capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("-> False undecided\n", "")
