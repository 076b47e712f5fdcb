"""Every command, image and page says the one version."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import EntryPoint, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = [distribution(name) for name in ("hearsay-ldp-client", "hearsay-ldp")]
(VERSION,) = {each.version for each in DISTRIBUTIONS}
COMMANDS = sorted(
    (command for each in DISTRIBUTIONS for command in each.entry_points.select(group="console_scripts")),
    key=lambda command: command.name,
)
NAMING = (
    "docker/collector.Dockerfile",
    "docker/estimator.Dockerfile",
    "docker/common.yaml",
    "docs/reference/operating.md",
)
"""Files that must name a version: images have it in their tags and labels."""


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_says_its_version(command: EntryPoint) -> None:
    path = Path(sys.executable).with_name(command.name)
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{command.name}, version {VERSION}\n"


def test_there_are_three_programs_and_the_runner_of_the_protocol() -> None:
    names = ["hearsay-client", "hearsay-collector", "hearsay-conformance", "hearsay-estimator"]
    assert [command.name for command in COMMANDS] == names


@pytest.mark.parametrize("name", NAMING)
def test_an_image_is_named_by_the_version(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(
        r"hearsay-(?:collector|estimator):(\S+?)(?=[\s`]|$)|image\.version=\"(\S+)\"", text, re.MULTILINE
    )
    assert {"".join(pair) for pair in named} == {VERSION}


@pytest.mark.slow
def test_the_package_for_npm_has_the_version_of_the_others() -> None:
    folder = ROOT / "client_sdk" / "typescript"
    package, lock = (json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("package", "package-lock"))
    assert {package["version"], lock["version"], lock["packages"][""]["version"]} == {VERSION}
