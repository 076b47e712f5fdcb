"""Builds the two distributions, and installs what was built into environments of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
PROJECTS: Final = {"hearsay-ldp-client": ROOT / "client_sdk", "hearsay-ldp": ROOT}
"""The folder of each distribution's pyproject.toml."""


def build(project: Path, target: Path, *kinds: str) -> None:
    """Build a wheel, an sdist or both into a folder."""
    chosen = [word for kind in kinds for word in ("--target", kind)]
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target), *chosen]
    subprocess.run(command, cwd=project, check=True, capture_output=True)


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of a pattern."""
    (path,) = folder.glob(pattern)
    return path


def environment(folder: Path, *arguments: str | Path) -> Path:
    """Return the programs of a new environment after a pip install with these arguments."""
    venv.create(folder, with_pip=False)
    pinned = ("--quiet", "--constraint", str(ROOT / "constraints.txt"))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    subprocess.run([*pip, "install", *pinned, *map(str, arguments)], check=True, capture_output=True)
    return folder / "bin"
