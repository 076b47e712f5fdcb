"""Shell completion and every command's help: a shell and a person can use what is printed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from client_sdk.protocol.command_line import completion_path
from collector.commands.cli import cli as collector
from estimator.commands.cli import command as estimator
from tools.reference.commands import contexts

PROGRAMS = {"hearsay-collector": collector, "hearsay-estimator": estimator}


COMMANDS = [
    context
    for program, group in PROGRAMS.items()
    for context in contexts(program, group)
    if context.command is not group
]


@pytest.mark.parametrize("context", COMMANDS, ids=lambda context: context.command_path)
def test_the_help_of_every_command_has_examples_that_parse(context: click.Context) -> None:
    command, path = context.command, context.command_path.split()
    group = PROGRAMS[path[0]]
    assert "Examples:" in CliRunner().invoke(group, [*path[1:], "--help"]).output
    lines = [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]
    assert lines
    for words in map(shlex.split, lines):
        assert words[: len(path)] == path
        command.make_context(path[-1], words[len(path) :])


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_is_printed_or_written_where_the_shell_looks(
    program: str, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = PROGRAMS[program]
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    printed = CliRunner().invoke(group, ["completion", shell], prog_name=program).output
    assert program in printed
    installed = CliRunner().invoke(group, ["completion", shell, "--install"], prog_name=program)
    path = completion_path(program, shell, tmp_path, {})
    assert path.read_text() == printed
    assert installed.output.startswith(f"{path} is written; ")
    if shell == "bash":
        bash = shutil.which("bash")
        assert bash is not None
        subprocess.run([bash, "-n", str(path)], check=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_shell_that_asks_gets_the_commands(program: str) -> None:
    group = PROGRAMS[program]
    variable = f"_{program.upper().replace('-', '_')}_COMPLETE"
    environment = {variable: "bash_complete", "COMP_WORDS": f"{program} c", "COMP_CWORD": "1"}
    answer = CliRunner(env=environment).invoke(group, [], prog_name=program, complete_var=variable)
    assert "plain,completion" in answer.output
