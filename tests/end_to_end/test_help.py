"""Shell completion and every command's help: a shell and a person can use what is printed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from collector.commands import cli as of_collector
from estimator.commands import cli as of_estimator

PROGRAMS = {
    "hearsay-collector": (of_collector.cli, of_collector),
    "hearsay-estimator": (of_estimator.command, of_estimator),
}


def commands() -> list[tuple[str, str]]:
    groups = {program: group for program, (group, _) in PROGRAMS.items()}
    return [(program, name) for program, group in groups.items() for name in group.list_commands(click.Context(group))]


@pytest.mark.parametrize(("program", "name"), commands())
def test_the_help_of_every_command_has_examples_that_parse(program: str, name: str) -> None:
    group, _ = PROGRAMS[program]
    subcommand = group.get_command(click.Context(group), name)
    assert subcommand is not None
    assert "Examples:" in CliRunner().invoke(group, [name, "--help"]).output
    lines = [line.split() for line in (subcommand.epilog or "").splitlines() if line.startswith("  ")]
    assert lines
    for words in map(shlex.split, map(" ".join, lines)):
        assert words[:2] == [program, name]
        subcommand.make_context(name, words[2:])


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_is_printed_or_written_where_the_shell_looks(
    program: str, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, module = PROGRAMS[program]
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    printed = CliRunner().invoke(group, ["completion", shell], prog_name=program).output
    assert program in printed
    installed = CliRunner().invoke(group, ["completion", shell, "--install"], prog_name=program)
    path = module.place_for(shell, tmp_path, {})
    assert path.read_text() == printed
    assert installed.output.startswith(f"{path} is written; ")
    if shell == "bash":
        bash = shutil.which("bash")
        assert bash is not None
        subprocess.run([bash, "-n", str(path)], check=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_shell_that_asks_gets_the_commands(program: str) -> None:
    group, _ = PROGRAMS[program]
    variable = f"_{program.upper().replace('-', '_')}_COMPLETE"
    environment = {variable: "bash_complete", "COMP_WORDS": f"{program} c", "COMP_CWORD": "1"}
    answer = CliRunner(env=environment).invoke(group, [], prog_name=program, complete_var=variable)
    assert "plain,completion" in answer.output
