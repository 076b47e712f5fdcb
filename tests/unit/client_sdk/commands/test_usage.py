"""A command line that cannot be understood is refused with status 2 and a sentence."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from client_sdk.cli import _parser, main

SUBPARSERS = next(action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))

BAD = {
    "--app": ("", "a\nb", "x" * 501),
    "--language": ("", "German", "de_AT"),
    "--target": ("", "desktop"),
    "--day": ("", "yesterday", "2026-02-30"),
    "shell": ("", "tcsh"),
}
"""Bad values of options and arguments."""

PATHS = {"--data-dir", "--registry", "--output", "--against", "--history"}
"""Any text may name a file: whether there is one is no question of the command line."""

CASES = [
    *(("init", "--app", *BAD["--app"]), ("show", "--language", *BAD["--language"])),
    *(("forget", "--language", *BAD["--language"]), ("compile", "--target", *BAD["--target"])),
    *(("release", "--day", *BAD["--day"]), ("completion", "", *BAD["shell"])),
]


def test_every_option_has_bad_values_or_is_a_path() -> None:
    options = {
        (action.option_strings or [action.dest])[-1]
        for parser in SUBPARSERS.choices.values()
        for action in parser._actions
        if action.nargs != 0
    }
    assert options == PATHS | set(BAD)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        *([command, *filter(None, [option]), value] for command, option, *values in CASES for value in values),
        *([], [""], ["tell"], ["check", "--registrx=x"], ["show"], ["show", "--data-dir"]),
        *(["show", "--data-dir", "x", "--pending=1"], ["forget"], ["check", "metrics.toml"], ["compile"]),
        ["compile", "--target", "web", "--check"],
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_a_bad_command_line_is_refused_with_status_2_and_a_sentence(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as refused:
        main(words)
    printed = capsys.readouterr()
    assert (refused.value.code, printed.out, "\n\nError: " in printed.err) == (2, "", True)
    assert list(tmp_path.iterdir()) == []
