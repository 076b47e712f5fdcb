"""Writes docker/requirements: the wheels that the images install, with their hashes.

    python -m tools.requirements

pip resolves the optional dependencies (extras) of `pyproject.toml` within `constraints.txt`, for
each type of processor. The images use the same method. The wheels are the same on every index, so
the files name no package index.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docker" / "requirements"

EXTRAS: Final = ("collector", "estimator", "parquet")

PROCESSORS: Final = ("x86_64", "aarch64")

PYTHON: Final = "311"
"""The Python version of the images."""

GLIBC: Final = 36
"""The minor version of glibc in the images (Debian 12). Wheels for older versions also run."""

OLDER: Final = {"async-timeout": 'python_full_version < "3.11.3"'}
"""Requirements of older releases of Python 3.11, such as Debian's. pip misses these requirements,
because pip resolves for this machine's release of Python.
"""

HEAD: Final = "# Written by `make requirements` from constraints.txt: the wheels of the images, on {processors}.\n"


def requirements(name: str) -> list[str]:
    """Return the requirements of `pyproject.toml` that one of the files resolves."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if name == "build":
        return list(project["build-system"]["requires"])
    client = tomllib.loads((ROOT / "client_sdk" / "pyproject.toml").read_text(encoding="utf-8"))
    needed = list(project["project"]["optional-dependencies"][name])
    if name == "collector":  # the collector's version of redis needs them
        needed += OLDER
    return needed if name == "parquet" else [*client["project"]["dependencies"], *needed]


def page(name: str) -> str:
    """Return the content of a file."""
    hashes: dict[str, set[str]] = defaultdict(set)
    for processor in PROCESSORS:
        for wheel in resolved(requirements(name), processor):
            about, digests = wheel["metadata"], wheel["download_info"]["archive_info"]["hashes"]
            older = OLDER.get(about["name"].lower())
            pinned = f"{about['name'].lower()}=={about['version']}" + (f" ; {older}" if older else "")
            hashes[pinned].add(digests["sha256"])
    lines = [
        " \\\n".join((line, *(f"    --hash=sha256:{digest}" for digest in sorted(digests))))
        for line, digests in sorted(hashes.items())
    ]
    return "\n".join((HEAD.format(processors=" and ".join(PROCESSORS)) + lines[0], *lines[1:], ""))


def resolved(needed: list[str], processor: str) -> list[dict[str, Any]]:
    """Return pip's report on each wheel that it would install on a type of processor."""
    platforms = [f"manylinux_2_{minor}_{processor}" for minor in range(GLIBC, 16, -1)] + [f"manylinux2014_{processor}"]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:", "--target", folder]
        options += ["--constraint", str(ROOT / "constraints.txt"), "--report", f"{folder}/report.json"]
        options += ["--implementation", "cp", "--python-version", PYTHON]
        options += [word for abi in (f"cp{PYTHON}", "abi3", "none") for word in ("--abi", abi)]
        options += [word for platform in platforms for word in ("--platform", platform)]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, *needed], check=True)
        report = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
    wheels: list[dict[str, Any]] = report["install"]
    return wheels


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name in ("build", *EXTRAS):
        (FOLDER / f"{name}.txt").write_text(page(name), encoding="utf-8")
        print(f"wrote docker/requirements/{name}.txt")


if __name__ == "__main__":
    main()
