"""Scratch repositories of git, which know no settings of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]

ALONE: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{part}": "tests@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")},
}
"""Settings under which git does the same for everybody."""


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, and return what it prints."""
    done = subprocess.run(
        ["git", *words],  # noqa: S607 on the PATH
        cwd=folder,
        env=os.environ | ALONE,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def commit_all(folder: Path, message: str = "changed") -> None:
    """Commit everything in a folder, which becomes a repository with the branch main."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def snapshot(folder: Path, tag: str) -> Path:
    """Return a repository with this project's files as they are now, committed and tagged."""
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    commit_all(folder)
    git(folder, "tag", tag)
    return folder
