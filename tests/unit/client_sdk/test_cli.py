"""``hearsay-client``: what a user reads, and opting out by hand."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from client_sdk import cli
from client_sdk.cli import main
from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol import Refusal
from client_sdk.protocol.sentences import shipped
from tests.support.devices.clients import (
    NOON,
    REGISTRY,
    ScriptedTransport,
    accept,
    ask,
    change,
    refuse,
    registry,
    rows,
    telemetry,
    write_lock_held,
)
from tests.support.laws.coins import ScriptedCoins


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """Return the directory of a device that sent two reports, of which one was refused."""
    transport = ScriptedTransport(accept, refuse(Refusal.WINDOW_CLOSED))
    with telemetry(tmp_path, transport=transport, coins=ScriptedCoins([True, False, 0])) as device:
        device.record("dark_mode", value=True)
        device.flush(timeout_s=60)
        device.record("system", "linux")
        device.flush(timeout_s=60)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main([*map(str, words)]) == 0
    return capsys.readouterr().out


def test_show_says_what_left_what_it_cost_and_what_was_dropped(
    used: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "time", lambda: NOON)
    table = (
        "Question   When        What was reported  What became of it\n"
        "dark_mode  2026-11-20  true               accepted\n"
        "system     2026-11-20  macos              refused: the period is closed\n"
        "\n"
        "Each report contains a randomized answer, which may differ from yours. One report is weak evidence. The most "
        "revealing question is dark_mode: about 75 of 100 reports are true, and nobody can be sure that yours is.\n"
    )
    problem = "Latest problem (2026-11-20 12:00 UTC): refused: the period is closed\n"
    assert printed(capsys, "show", "--data-dir", used) == (
        f"{table}"
        "Privacy budget spent: 53% of this device's lifetime limit.\n"
        "Waiting to be sent or acknowledged: 0\n"
        "Not sent, or not counted: 1\n"
        f"{problem}"
        f"For all reports, limits and reasons: hearsay-client show --all --data-dir {used}\n"
    )
    assert printed(capsys, "show", "--data-dir", used, "--all") == (
        f"{table}"
        f"Privacy loss spent so far: epsilon {shipped().number(Fraction(spent(used)), 9)}\n"
        f"  in 2026-11-20: {shipped().number(Fraction(spent(used)), 9)} of 2.5\n"
        f"  in this device's lifetime: {shipped().number(Fraction(spent(used)), 9)} of 4\n"
        "Waiting to be sent or acknowledged: 0\n"
        "Dropped (refused: the period is closed): 1\n"
        f"{problem}"
    )


def test_an_answer_out_of_turn_is_not_said_to_be_unsent(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(used, "INSERT INTO drops VALUES ('not_asked', 3)")
    lines = printed(capsys, "show", "--data-dir", used).splitlines()
    assert "Answers not recorded, because it was not this device's turn: 3" in lines
    assert "Not sent, or not counted: 1" in lines
    change(used, "DELETE FROM drops WHERE reason <> 'not_asked'")
    assert "Not sent" not in printed(capsys, "show", "--data-dir", used)


def test_show_pending_says_that_nothing_waits(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "show", "--data-dir", used, "--pending") == "No report is waiting.\n"


def test_show_is_translated(used: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "time", lambda: NOON)
    out = printed(capsys, "show", "--data-dir", used, "--all", "--language", "de")
    assert "dark_mode  2026-11-20  ja                  angenommen\n" in out
    assert "system     2026-11-20  macos               abgelehnt: Der Zeitraum ist abgeschlossen\n" in out
    assert "Etwa 75 von 100 Meldungen dazu entsprechen der Wahrheit" in out
    assert f"Bisher preisgegeben: Epsilon {shipped('de').number(Fraction(spent(used)), 9)}\n" in out
    assert printed(capsys, "forget", "--data-dir", used, "--language", "de").startswith(
        "Warteschlange, Liste und Geheimnis sind gelöscht."
    )


def test_an_app_adds_a_language_of_show_and_none_is_made_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = "".join(f'{key} = "<{text}>"\n' for key, text in shipped().texts.items())
    french = registry(f"{REGISTRY}\n[sentences.fr]\n{texts}")
    with telemetry(tmp_path, registry=french, coins=ScriptedCoins([True])) as device:
        device.record("dark_mode", value=True)
        device.flush(timeout_s=60)
        assert [entry.label for entry in device.history("fr")] == ["<true>"]
    assert "<true>" in printed(capsys, "show", "--data-dir", tmp_path, "--language", "fr")
    assert main(["show", "--data-dir", str(tmp_path), "--language", "it"]) == 1
    assert "there are no sentences in 'it'; name one of: de, en, fr" in capsys.readouterr().err


@pytest.mark.parametrize(("epsilon", "words"), [("1.0", "weak evidence"), ("12.0", "practically reveals your answer")])
def test_show_says_how_much_a_report_says_by_its_epsilon(
    epsilon: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metric = ask(f'[metric.m]\nkind = "boolean"\nepsilon = {epsilon}\n')
    with telemetry(tmp_path, registry=metric) as device:
        device.record("m", value=True)
        device.flush(timeout_s=60)
    out = printed(capsys, "show", "--data-dir", tmp_path)
    assert words in out
    assert "Nobody can tell" not in out
    change(tmp_path, "DELETE FROM registries")
    assert "depends on its question" in printed(capsys, "show", "--data-dir", tmp_path)


def spent(data_dir: Path) -> float:
    ((nanos,),) = rows(data_dir, "SELECT SUM(nanos) FROM charges")
    return float(nanos / 10**9)


def test_every_command_has_an_example_that_it_understands(capsys: pytest.CaptureFixture[str]) -> None:
    parser = cli._parser()
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    assert set(re.findall(r"^    (\w+)\b", capsys.readouterr().out, re.MULTILINE)) == cli.EXAMPLES.keys()
    for name, example in cli.EXAMPLES.items():
        assert parser.parse_args([name, *example.split()])
        with pytest.raises(SystemExit):
            parser.parse_args([name, "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        assert shown.endswith(f"example: hearsay-client {name} {example}".rstrip())


def test_show_says_when_nothing_has_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with telemetry(tmp_path) as device:
        device.flush(timeout_s=60)
        assert "Nothing has left this device.\n" in printed(capsys, "show", "--data-dir", tmp_path)
        device.record("dark_mode", value=True)
    out = printed(capsys, "show", "--data-dir", tmp_path)
    assert "Nothing has left this device.\n" in out
    assert "Waiting to be sent or acknowledged: 1\n" in out


def test_show_does_not_deny_what_left_after_the_list_was_erased(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", "--data-dir", str(used)]) == 0
    out = printed(capsys, "show", "--data-dir", used)
    assert "Nothing has left" not in out
    assert "Reports that left before it was erased are not shown." in out


def test_forget_wipes_all_but_what_was_spent(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = spent(used)
    assert "are erased" in printed(capsys, "forget", "--data-dir", used)
    assert rows(used, "SELECT COUNT(*) FROM history") == [(0,)]
    assert rows(used, "SELECT secret FROM device") == [(None,)]
    assert b"window_closed" not in (used / FILE_NAME).read_bytes()
    assert spent(used) == before


@pytest.mark.parametrize("command", ["show", "forget"])
def test_where_there_is_no_ledger_none_is_made(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--data-dir", str(tmp_path)]) == 1
    assert "Error: there is no ledger at " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["show", "forget"])
def test_a_ledger_of_node_is_left_to_its_app(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state.12").write_text("{}")
    assert main([command, "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"Error: {tmp_path} has the ledger of an app for Node, which only that app can read: "
        "let it print history() and budget() of its Telemetry, or call forget()\n"
    )
    assert (tmp_path / "state.12").read_text() == "{}"


@pytest.mark.parametrize("command", ["show", "forget"])
def test_a_damaged_ledger_is_left_as_it_is(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no ledger")
    assert main([command, "--data-dir", str(tmp_path)]) == 1
    assert "damaged or not a ledger" in capsys.readouterr().err
    assert (tmp_path / FILE_NAME).read_bytes() == b"no ledger"


def test_forget_says_when_another_process_holds_the_ledger(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with write_lock_held(used):
        assert main(["forget", "--data-dir", str(used)]) == 1
    assert "is in use by another process; try again" in capsys.readouterr().err


def test_a_copy_can_be_shown_and_wiped(used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(used / FILE_NAME, copy)
    assert "dark_mode  2026-11-20" in printed(capsys, "show", "--data-dir", copy)
    assert main(["forget", "--data-dir", str(copy)]) == 0
    assert rows(copy, "SELECT COUNT(*) FROM history") == [(0,)]


def test_forget_removes_what_a_killed_process_left(used: Path) -> None:
    (used / f"{FILE_NAME}.0123456789abcdef.new").write_bytes(b"secret")
    assert main(["forget", "--data-dir", str(used)]) == 0
    assert [path.name for path in used.iterdir()] == [FILE_NAME]


class Screen(io.TextIOWrapper):
    """A terminal that knows few characters."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("kind", "shown"), [(Screen, b"fa?ade"), (io.TextIOWrapper, "fa\u0142ade".encode())])
def test_a_letter_is_replaced_only_for_eyes(
    kind: type[io.TextIOWrapper], shown: bytes, used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(used, "UPDATE history SET outcome = 'fa\u0142ade' WHERE metric = 'system'")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", kind(written, encoding="cp1252"))
    assert main(["show", "--data-dir", str(used)]) == 0
    assert shown in written.getvalue()


@pytest.mark.slow
def test_an_answer_that_cannot_be_written_is_one_sentence(used: Path) -> None:
    code = "import sys; from client_sdk.cli import main; sys.exit(main(sys.argv[1:]))"
    writer = os.open("/dev/full", os.O_WRONLY)
    command = [sys.executable, "-c", code, "show", "--data-dir", str(used)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        shown = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False, env=buffered
        )
    finally:
        os.close(writer)
    assert shown.returncode == 1
    assert shown.stderr == "Error: cannot write the output: No space left on device; redirect it to another place\n"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("sh", ["show"]), ("show --p", ["--pending"]), ("forget --d", ["--data-dir"]), ("check --out", [])],
)
def test_bash_completes_commands_and_options(
    capsys: pytest.CaptureFixture[str], typed: str, completed: list[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    words = ["hearsay-client", *typed.split()]
    bash = shutil.which("bash")
    assert bash is not None
    script = capsys.readouterr().out + (
        f"COMP_WORDS=({' '.join(words)}) COMP_CWORD={len(words) - 1}\n_hearsay_client\nprintf '%s\\n' ${{COMPREPLY[@]}}"
    )
    result = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_knows_every_command(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    script = printed(capsys, "completion", shell)
    assert all(command in script for command in cli.EXAMPLES)
    assert "data-dir" in script


def test_a_closed_stdout_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["schema"]) == 1
    assert capsys.readouterr().err == ("Error: standard output is closed; redirect it to a file or a program\n")
