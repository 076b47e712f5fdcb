"""Builds and runs images with Debian's Buildah, which needs no engine, in a storage of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.services.processes import started

BASE: Final = "docker.io/library/python:3.11.14-slim-bookworm"
"""The base of both images. Here it is Debian's own Python, under that name."""

_STORAGE: Final = """[storage]
driver = "vfs"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""

_MIRRORS: Final = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources")


@dataclass(frozen=True)
class Storage:
    """A folder that holds images and containers."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variable that names the storage to Buildah."""
        return {"CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}

    def prepare(self) -> None:
        """Make the base: Debian with Python, under the name in `FROM`."""
        (self.folder / "storage.conf").write_text(_STORAGE.format(folder=self.folder), encoding="utf-8")
        archive = self.folder / "base.tar"
        mirrors = [path for path in _MIRRORS if Path(path).exists()]
        packages = "--include=python3,python3-venv,python-is-python3"
        bootstrap = [
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=minbase",
            packages,
            "bookworm",
            str(archive),
            *mirrors,
        ]
        subprocess.run(bootstrap, check=True)
        empty = self.buildah("from", "scratch")
        self.buildah("add", "--quiet", empty, str(archive), "/")
        self.buildah("commit", "--quiet", "--rm", empty, BASE)
        archive.unlink()

    def size_bytes(self, image: str) -> int:
        """Return the size of an image."""
        (size,) = (entry["size"] for entry in self.images() if image in entry["names"])
        number, unit = size.split()
        return round(float(number) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[unit])

    def images(self) -> list[dict[str, Any]]:
        """Return the known facts about each image with a name."""
        listed: list[dict[str, Any]] = json.loads(self.buildah("images", "--json"))
        return [entry for entry in listed if entry.get("names")]

    def settings(self, image: str) -> dict[str, Any]:
        """Return an image's configuration, in Docker's terms."""
        shown: dict[str, Any] = json.loads(self.buildah("inspect", "--type", "image", image))["Docker"]["config"]
        return shown

    def container(self, image: str) -> str:
        """Return a new container of an image that is here."""
        return self.buildah("from", "--pull-never", image)

    def run(self, container: str, words: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a container, as the user of its image, on this machine's network."""
        return self._started_to_its_end([*self._run(container, options), *words])

    def start(self, container: str, words: Sequence[str], *options: str) -> subprocess.Popen[bytes]:
        """Start a command in a container."""
        return started([*self._run(container, options), *words], env=self._variables())

    def buildah(self, *words: str) -> str:
        """Run Buildah, and return what it prints."""
        done = self._started_to_its_end(["buildah", *words])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _started_to_its_end(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=self._variables(), check=False, capture_output=True, text=True)

    def _variables(self) -> dict[str, str]:
        return {**os.environ, **self.environment}

    def _run(self, container: str, options: Sequence[str]) -> list[str]:
        return ["buildah", "run", "--isolation", "chroot", *options, container, "--"]
