"""A temporary folder for each run of the tests alone, which must be empty when it ends: a plugin of pytest.

Whatever else runs on the machine, other runs and collectors, has its files elsewhere; and what product or tests leave
behind is seen. Workers of a run share its folder, so that its path stays short: sockets lie in it, whose paths may
have 107 bytes. Folders of single tests (``tmp_path``) stay where pytest has them, and where they can be looked at.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Generator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest

KNOWN_LEFTOVERS: Final = ("hearsay-counts-*", "hearsay-????????")
"""What a collector that is killed leaves: its folder of counters, and that of the embedded store's socket."""

PATIENCE_S: Final = 10.0
"""Until the guardian of a store that was killed last has cleaned up."""

FOLDER: Final = pytest.StashKey[Path]()
VARIABLES: Final = pytest.StashKey[dict[str, str | None]]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the folder; workers inherit it."""
    if hasattr(config, "workerinput"):
        return
    outside = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="t-"))
    config.stash[FOLDER] = folder
    config.stash[VARIABLES] = {name: os.environ.get(name) for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT")}
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", outside)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Fail a run that left something in its folder; all workers have ended by now."""
    yield
    folder = session.config.stash.get(FOLDER, None)
    if folder is None:
        return
    left = leftovers(folder)
    if left:
        session.config.get_terminal_writer().line(
            f"\nleft in the temporary folder of this run: {', '.join(left)}", red=True
        )
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder."""
    if FOLDER not in config.stash:
        return
    shutil.rmtree(config.stash[FOLDER], ignore_errors=True)
    tempfile.tempdir = None
    for name, value in config.stash[VARIABLES].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def leftovers(folder: Path) -> list[str]:
    """Return the names of what lies in the folder and does not go away."""
    until = time.monotonic() + PATIENCE_S
    while (left := _unknown(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def _unknown(folder: Path) -> list[str]:
    names = sorted(path.name for path in folder.iterdir())
    return [name for name in names if not any(fnmatch(name, known) for known in KNOWN_LEFTOVERS)]
