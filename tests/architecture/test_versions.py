"""Every command says which version it is."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, distribution
from pathlib import Path

import pytest

DISTRIBUTION = distribution("hearsay-ldp")
COMMANDS = sorted(DISTRIBUTION.entry_points.select(group="console_scripts"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_says_its_version(command: EntryPoint) -> None:
    path = Path(sys.executable).with_name(command.name)
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{command.name}, version {DISTRIBUTION.version}\n"


def test_there_are_three_commands() -> None:
    assert [command.name for command in COMMANDS] == ["hearsay-client", "hearsay-collector", "hearsay-estimator"]
