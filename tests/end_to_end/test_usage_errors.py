"""All commands of all programs take one registry, and report a wrong command line in one style."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from client_sdk import cli as client
from client_sdk.protocol.command_line import ExitStatus
from collector.commands.cli import cli as collector
from estimator.commands.cli import command as estimator
from tools.reference.commands import contexts

GROUPS = {"hearsay-collector": collector, "hearsay-estimator": estimator}

NEEDED = {
    "archive": ("reports", "--tallies", "tallies.ndjson"),
    "compile": ("--target", "web"),
    "plan": ("--population", "1000"),
    "rehearse": ("--population", "1000"),
    "rehearse-model": ("--csv", "people.csv", "--metric", "limitation"),
    "report": ("--tallies", "tallies.ndjson"),
    "watch": ("--collector", "http://127.0.0.1:9"),
}
"""What a command needs beside a registry."""

OPTIONAL = {("hearsay-collector", "store export"), ("hearsay-collector", "store import")}
"""Commands that compare their store with a registry only on request."""


def defaults() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each program and command with the defaults of its options."""
    subparsers = next(each for each in client._parser()._actions if isinstance(each, argparse._SubParsersAction))
    for name, parser in subparsers.choices.items():
        yield "hearsay-client", name, {action.dest: action.default for action in parser._actions}
    for program, group in GROUPS.items():
        for context in contexts(program, group):
            name = context.command_path.removeprefix(program).strip()
            if not isinstance(context.command, click.Group):
                defaults = {str(each.name): each.to_info_dict()["default"] for each in context.command.params}
                yield program, name, defaults


COMMANDS = [(program, name) for program, name, _ in defaults()]

WITH_REGISTRY = [(program, name) for program, name, options in defaults() if "registry" in options]


def run(program: str, *words: str) -> tuple[int | str | None, str, str]:
    """Return the exit status of a command, and what it prints on both streams."""
    if program in GROUPS:
        environment = {"HEARSAY_READ_TOKEN": "a-token-of-the-tests"}
        result = CliRunner(env=environment).invoke(GROUPS[program], words, prog_name=program)
        return result.exit_code, result.stdout, result.stderr
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        try:
            status: int | str | None = client.main(words)
        except SystemExit as ended:
            status = ended.code
    return status, printed.getvalue(), said.getvalue()


def is_in_style(said: str, program: str) -> bool:
    pattern = rf"Usage: {program} \[OPTIONS\].*\nTry '{program} --help' for help\.\n\nError: .+\n"
    return re.fullmatch(pattern, said, re.DOTALL) is not None


@pytest.mark.parametrize(("program", "name"), COMMANDS)
def test_an_unknown_option_is_refused_in_one_style(program: str, name: str) -> None:
    status, printed, said = run(program, *name.split(), "--no-such-option")
    assert (status, printed) == (ExitStatus.USAGE, "")
    assert is_in_style(said, f"{program} {name}"), said


@pytest.mark.parametrize("program", ["hearsay-client", *GROUPS])
def test_an_unknown_command_is_refused_in_one_style(program: str) -> None:
    status, printed, said = run(program, "no-such-command")
    assert (status, printed, is_in_style(said, program)) == (ExitStatus.USAGE, "", True), said


def test_every_registry_is_the_one_of_the_working_directory() -> None:
    for program, name, options in defaults():
        if "registry" in options:
            assert options["registry"] == (None if (program, name) in OPTIONAL else Path("metrics.toml"))


@pytest.mark.parametrize(
    ("program", "name"),
    [pair for pair in WITH_REGISTRY if pair not in OPTIONAL and pair[1] not in ("check", "init")],
)
@pytest.mark.parametrize("content", [None, "schema = 9\n"], ids=["missing", "mistaken"])
def test_a_registry_that_cannot_be_used_is_refused_in_one_style(
    program: str, name: str, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("metrics.toml").write_text(content)
    status, printed, said = run(program, *name.split(), *NEEDED.get(name, ()))
    assert (status, printed, is_in_style(said, f"{program} {name}")) == (ExitStatus.USAGE, "", True), said
    assert "\n\nError: the registry cannot be used:\nmetrics.toml" in said


@pytest.mark.parametrize("program", ["hearsay-client", "hearsay-collector"])
def test_a_check_reports_the_registry_as_what_it_found(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, printed, said = run(program, "check")
    assert (status, "metrics.toml: cannot be read" in printed + said) == (ExitStatus.FAILED, True)


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("hearsay-client", "chek"), "check"),
        (("hearsay-client", "check", "--registrx=y"), "--registry"),
        (("hearsay-collector", "serv"), "serve"),
        (("hearsay-collector", "serve", "--registrx=y"), "--registry"),
        (("hearsay-estimator", "reprot"), "report"),
        (("hearsay-estimator", "report", "--registrx=y"), "--registry"),
    ],
)
def test_a_word_that_is_nearly_right_gets_a_suggestion(words: tuple[str, ...], near: str) -> None:
    status, _, said = run(*words)
    assert status == ExitStatus.USAGE
    assert re.search(rf"Did you mean.* '{near}'", said)


def test_a_reader_that_has_seen_enough_receives_no_error() -> None:
    words = [sys.executable, "-c", "import sys; from client_sdk.cli import main; sys.exit(main(['schema']))"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        ended = subprocess.run(words, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
