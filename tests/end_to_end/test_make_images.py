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
from tools import images

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


def write_engines(folder: Path, engines: dict[str, int]) -> None:
    """Write engines that work (0) or do not."""
    for name, info in engines.items():
        (folder / name).write_text(ENGINE.format(info=info), encoding="utf-8")
        (folder / name).chmod(0o755)


def builds(folder: Path, *words: str) -> list[str]:
    """Run the tool with an engine that works; return what the engine was asked."""
    write_engines(folder, {"buildah": 0})
    environment = {"PATH": f"{folder}:/bin", "LOG": str(folder / "log"), **SETTINGS}
    subprocess.run([sys.executable, "-m", "tools.images", *words], cwd=ROOT, env=environment, check=True)
    return (folder / "log").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("engines", "chosen"),
    [
        ({"docker": 0, "podman": 0, "buildah": 0}, ["docker", "build"]),
        ({"docker": 1, "podman": 0, "buildah": 0}, ["podman", "build"]),
        ({"docker": 1, "podman": 1, "buildah": 0}, ["buildah", "bud"]),
        ({"buildah": 0}, ["buildah", "bud"]),
    ],
)
def test_the_first_engine_that_works_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engines: dict[str, int], chosen: list[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    write_engines(tmp_path, engines)
    assert images.engine()[:2] == chosen


def test_without_an_engine_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    write_engines(tmp_path, {"docker": 1, "podman": 1, "buildah": 1})
    with pytest.raises(SystemExit, match="no engine works here: install Docker, Podman or Buildah"):
        images.engine()


def test_both_images_are_built(tmp_path: Path) -> None:
    asked = [line for line in builds(tmp_path) if line.startswith(f"{tmp_path}/buildah bud ")]
    assert ["collector.Dockerfile" in asked[0], "estimator.Dockerfile" in asked[1]] == [True, True]
    assert len(asked) == 2


def test_a_build_argument_and_pips_settings_are_passed_but_no_folder_of_this_machine(tmp_path: Path) -> None:
    command, *settings = builds(tmp_path, "estimator", "--build-arg", "EXTRAS=estimator,parquet")
    assert "--build-arg=EXTRAS=estimator,parquet" in command
    assert "--secret=id=pip_cert,src=/folder/certificate.pem" in command
    assert "secret@" not in command
    assert settings == [
        "[global]",
        "index-url = https://user:secret@index.example.com/simple",
        "extra-index-url = https://more.example.com/simple",
        "cert = /etc/pip.crt",
    ]
