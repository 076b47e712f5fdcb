"""A trial: asked and sent at once, told on standard error, and apart from everything real."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from client_sdk import FlushOutcome, Recorded, Registry, Telemetry, cli, show
from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol import Refusal
from client_sdk.protocol.registry.registry import in_trial
from client_sdk.results import SUPPRESSED
from client_sdk.testing import Answer, FakeClock, KeptUploads, answers
from tests.support.devices.clients import ScriptedTransport, accept, refuse
from tests.support.devices.definitions import CATEGORY, registry_text

Capture = pytest.CaptureFixture[str]

HERE = "http://127.0.0.1:8080"
PACED = Registry.parse(
    """
schema = 1
app.name = "acme"
budget = { window = "week", per_window = 2.1, lifetime = 2.1, strategy = "pace" }
[metric.dark_mode]
purpose = "Is it used?"
kind = "boolean"
epsilon = "ln 3"
expires = 2036-12-31
[metric.taps]
purpose = "How often?"
kind = "count"
max = 9
statistic = "mean"
epsilon = 1
fill_in = true
fill_value = 0
expires = 2036-12-31
"""
)


def trial(data_dir: Path | None = None, **options: object) -> Telemetry:
    given = {"collector": HERE, "consent": True, "clock": FakeClock(), "transport": KeptUploads(), "trial": True}
    return Telemetry(PACED, data_dir=data_dir, **given | options)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["yes", "0", 1, HERE])
def test_a_trial_is_switched_on_by_true_only(value: object) -> None:
    with pytest.raises(TypeError, match="trial must be True or False"):
        trial(None, trial=value)


def test_each_step_is_told_on_standard_error_while_it_happens(capsys: Capture) -> None:
    with trial() as telemetry:
        assert telemetry.record("dark_mode", value=True) is Recorded.QUEUED
        (entry,) = telemetry.history()
        assert telemetry.record("dark_mode", value=False) is Recorded.ALREADY_RECORDED
        assert telemetry.record("dark", value=True) is Recorded.UNKNOWN
        telemetry.consent = False
        assert telemetry.record("dark_mode", value=True) is Recorded.NO_CONSENT
    shown = capsys.readouterr()
    assert shown.out == ""
    randomized, charged, sent, again, unknown, *_, silent = (
        line.removeprefix("hearsay trial: ") for line in shown.err.splitlines() if line.startswith("hearsay trial: ")
    )
    assert randomized == f"dark_mode: true → {entry.label} (randomized at epsilon 1.1)"
    assert charged == "dark_mode: charged epsilon 1.1, queued for 2026-W27"
    assert sent == "dark_mode: sent for 2026-W27; the collector's answer: accepted"
    assert again.startswith("dark_mode: already_recorded: one report per window")
    assert "it defines: dark_mode, taps" in unknown
    assert silent.startswith("dark_mode: no_consent: the user has not agreed")


def test_the_step_after_a_change_shows_the_report_on_the_changed_metric(tmp_path: Path, capsys: Capture) -> None:
    for values in (["a", "b"], ["c", "d"]):
        registry = Registry.parse(registry_text(os=CATEGORY | {"values": values}))
        uploads = KeptUploads()
        with Telemetry(
            registry, collector=HERE, data_dir=tmp_path, consent=True, clock=FakeClock(), transport=uploads, trial=True
        ) as telemetry:
            assert telemetry.record("os", values[0]) is Recorded.QUEUED
        randomized = capsys.readouterr().err.splitlines()[0].removeprefix(f"hearsay trial: os: {values[0]} → ")
        assert randomized.partition(" (")[0] in values


@pytest.mark.parametrize("code", [Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION, Refusal.FORMER_EDITION])
def test_an_ordinary_collector_advises_to_start_one_for_trials(code: Refusal, capsys: Capture) -> None:
    transport = ScriptedTransport()
    transport.answer(refuse(code))
    with trial(transport=transport) as telemetry:
        telemetry.record("dark_mode", value=True)
        answer, advice = told(capsys)[-2:]
        assert answer.startswith("dark_mode: sent for 2026-W27; the collector's answer: refused: ")
        assert advice.startswith("the collector does not count this trial: start `hearsay-collector serve --trial`")
        assert telemetry.problem == advice
    assert "deploy" not in answer + advice


def test_that_no_collector_answers_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("client_sdk.trial.START_S", 0.0)
    transport = ScriptedTransport()
    transport.answer(lambda _: None)
    with trial(transport=transport) as telemetry:
        telemetry.record("dark_mode", value=True)
    assert "not acknowledged yet" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def _in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No device of this process has waited for a collector yet."""
    monkeypatch.setattr("client_sdk.trial.Trial._gave_up", False)


def test_a_collector_that_never_starts_is_waited_for_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("client_sdk.trial.START_S", 0.5)
    attempts = []
    for _ in range(3):
        transport = ScriptedTransport()
        transport.answer(*[lambda _: None] * 100)
        with trial(transport=transport) as telemetry:
            telemetry.record("dark_mode", value=True)
        attempts.append(len(transport.bodies))
    assert attempts[0] > 1
    assert attempts[1:] == [1, 1]


def test_a_collector_that_is_starting_is_waited_for() -> None:
    transport = ScriptedTransport()
    transport.answer(lambda _: None, lambda _: None, accept)
    with trial(transport=transport) as telemetry:
        telemetry.record("dark_mode", value=True)
        assert [entry.outcome for entry in telemetry.history()] == ["accepted"]


def test_an_answer_of_a_run_without_collector_is_sent_by_the_next_run(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("client_sdk.trial.START_S", 0.0)
    transport = ScriptedTransport()
    transport.answer(lambda _: None)
    with trial(tmp_path, transport=transport) as telemetry:
        telemetry.record("dark_mode", value=True)
    assert "accepted" not in capsys.readouterr().err
    transport.answer(accept)
    with trial(tmp_path, transport=transport) as telemetry:
        assert telemetry.record("dark_mode", value=True) is Recorded.ALREADY_RECORDED
    assert told(capsys)[-1] == "dark_mode: sent for 2026-W27; the collector's answer: accepted"


def test_a_suppressed_run_says_how_to_try_the_app_anyway(capsys: Capture) -> None:
    with trial(consent=SUPPRESSED) as telemetry:
        telemetry.record("dark_mode", value=True)
    assert told(capsys)[-1].endswith("to try it anyway, pass consent=True")


def test_every_window_is_asked_and_counts_are_reported_at_once(tmp_path: Path) -> None:
    uploads, clock = KeptUploads(), FakeClock()
    for week in range(3):
        clock.now = clock.now.replace(day=1 + 7 * week)
        with trial(tmp_path, transport=uploads, clock=clock) as telemetry:
            assert telemetry.record("dark_mode", value=True) is Recorded.QUEUED
            assert telemetry.count("taps", 3) is Recorded.QUEUED
            assert telemetry.flush().outcome is FlushOutcome.NOTHING_WAITING
    assert len(uploads.reports) == 6


def test_neither_ledger_nor_edition_nor_app_is_that_of_real_reports(tmp_path: Path) -> None:
    uploads = KeptUploads()
    with trial(tmp_path, transport=uploads) as telemetry:
        telemetry.record("dark_mode", value=True)
    assert [path.parent.name for path in tmp_path.rglob("*.sqlite3")] == ["trial"]
    tried = in_trial(PACED)
    assert {edition for metric in tried.counted for edition in metric.editions}.isdisjoint(
        edition for metric in PACED.counted for edition in metric.editions
    )
    assert [report.edition for report in uploads.reports] == [tried.metric("dark_mode").edition]
    assert tried.app != PACED.app
    assert in_trial(tried) is tried


@pytest.mark.parametrize("collector", ["https://example.com", "http://10.0.0.1", "https://localhost.example.com"])
def test_a_collector_on_another_machine_needs_a_variable(collector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARSAY_TRIAL", raising=False)
    with pytest.raises(ValueError, match="HEARSAY_TRIAL"):
        trial(collector=collector)
    monkeypatch.setenv("HEARSAY_TRIAL", "0")
    with pytest.raises(ValueError, match="HEARSAY_TRIAL"):
        trial(collector=collector)
    monkeypatch.setenv("HEARSAY_TRIAL", "1")
    trial(collector=collector).close()


def test_an_app_in_a_trial_is_tested_as_any_other(tmp_path: Path) -> None:
    with answers() as recorded, Telemetry(PACED, collector=HERE, data_dir=tmp_path, consent=True, trial=True) as app:
        app.record("dark_mode", value=True)
        app.count("taps", 2)
    assert recorded == [Answer("dark_mode", value=True), Answer("taps", 2)]
    assert not list(tmp_path.iterdir())


def told(capsys: Capture) -> list[str]:
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix("hearsay trial: ") for line in lines if line.startswith("hearsay trial: ")]


@pytest.mark.parametrize("consent", [False, True])
def test_a_provided_function_is_called_at_once_with_consent(capsys: Capture, *, consent: bool) -> None:
    calls: list[str] = []
    with trial(consent=consent) as telemetry:
        telemetry.provide("dark_mode", lambda: not calls.append("dark_mode"))  # type: ignore[func-returns-value] # true
        telemetry.provide("unknown", lambda: calls.append("unknown"))
    telemetry.provide("dark_mode", lambda: calls.append("closed"))
    assert calls == (["dark_mode"] if consent else [])
    first, *_, last = told(capsys)
    assert first.startswith("dark_mode: true → " if consent else "dark_mode: no_consent")
    assert last == "dark_mode: closed"


def test_what_a_provided_function_raises_is_told_by_its_type_and_a_random_answer_is_reported(capsys: Capture) -> None:
    with trial() as telemetry:
        telemetry.provide("dark_mode", lambda: 1 // 0)
        assert len(telemetry.history()) == 1
    raised, *others = told(capsys)
    assert raised == "dark_mode: the function raised ZeroDivisionError"
    assert any(line.startswith("dark_mode: a random answer instead → ") for line in others)


def test_an_answer_that_cannot_be_shown_is_recorded_all_the_same(capsys: Capture) -> None:
    with trial() as telemetry:
        assert telemetry.count("taps", 10**5000) is Recorded.QUEUED
    assert any(line.startswith("taps: an answer → ") for line in told(capsys))


def test_what_was_sent_before_is_no_news_and_statements_agree(tmp_path: Path, capsys: Capture) -> None:
    with trial(tmp_path) as telemetry:
        telemetry.record("dark_mode", value=True)
    capsys.readouterr()
    assert cli.main(["show", "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith(f", only the ledger of a trial: use --data-dir {tmp_path / 'trial'}\n")
    with contextlib.closing(show.open_copy(tmp_path / "trial" / FILE_NAME)) as connection:
        view = show.look(connection, 1.8e9)
    for shown in (show.as_text(view, "data"), show.everything_as_text(view)):
        lines = list(shown)
        assert any(line.startswith("This is a developer's trial.") for line in lines)
        assert not any("1,000,000,000" in line for line in lines)
    with trial(tmp_path) as telemetry, Telemetry(PACED, collector=HERE, data_dir=None, consent=False) as ordinary:
        telemetry.flush()
        assert telemetry.statement() == ordinary.statement()
    assert told(capsys) == []
