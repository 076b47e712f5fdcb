"""`make images` chooses an engine that works, and passes on how pip is set here.

Real builds: `make test-images`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services.images import ROOT

ENGINE = """#!/bin/sh
[ "$1" = info ] && exit {info}
echo "$0 $*" >>"$LOG"
for word; do case $word in --secret=id=pip,*) cat "${{word#*src=}}" >>"$LOG" ;; esac; done
"""
"""A program in an engine's place, which says what it was asked."""

SETTINGS = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_INDEX_URL": "https://user:secret@index.example.com/simple",
    "PIP_EXTRA_INDEX_URL": "https://more.example.com/simple file:///folder/of/this/machine",
    "PIP_FIND_LINKS": "/folder/of/this/machine",
    "PIP_CERT": "/folder/certificate.pem",
}


def run_images(folder: Path, engines: dict[str, int], *words: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the tool with engines that work (0) or do not.

    Return how it ended, and what the engines were asked.
    """
    log = folder / "log"
    log.touch()
    for name, info in engines.items():
        (folder / name).write_text(ENGINE.format(info=info), encoding="utf-8")
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:/bin", "LOG": str(log), **SETTINGS}
    command = [sys.executable, "-m", "tools.images", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    return done, log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("engines", "chosen"),
    [
        ({"docker": 0, "podman": 0, "buildah": 0}, "docker build"),
        ({"docker": 1, "podman": 0, "buildah": 0}, "podman build"),
        ({"docker": 1, "podman": 1, "buildah": 0}, "buildah bud"),
    ],
)
def test_the_first_engine_that_works_builds_both(tmp_path: Path, engines: dict[str, int], chosen: str) -> None:
    done, log = run_images(tmp_path, engines)
    assert done.returncode == 0, done.stderr
    builds = [line for line in log.splitlines() if line.startswith(str(tmp_path))]
    assert [line.startswith(f"{tmp_path}/{chosen} ") for line in builds] == [True, True]
    assert ["collector.Dockerfile" in builds[0], "estimator.Dockerfile" in builds[1]] == [True, True]


def test_a_build_argument_and_pips_settings_are_passed_but_no_folder_of_this_machine(tmp_path: Path) -> None:
    done, log = run_images(tmp_path, {"buildah": 0}, "estimator", "--build-arg", "EXTRAS=estimator,parquet")
    assert done.returncode == 0, done.stderr
    command, *settings = log.splitlines()
    assert "--build-arg=EXTRAS=estimator,parquet" in command
    assert "--secret=id=pip_cert,src=/folder/certificate.pem" in command
    assert "secret@" not in command
    assert settings == [
        "[global]",
        "index-url = https://user:secret@index.example.com/simple",
        "extra-index-url = https://more.example.com/simple",
        "cert = /etc/pip.crt",
    ]


def test_without_an_engine_it_says_what_is_missing(tmp_path: Path) -> None:
    done, _ = run_images(tmp_path, {"docker": 1, "podman": 1, "buildah": 1})
    assert (done.returncode, done.stderr) == (1, "no engine works here: install Docker, Podman or Buildah\n")
