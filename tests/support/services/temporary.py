"""A pytest plugin: each run of the tests has its own temporary folder, empty at the end.

Other runs and collectors on the machine keep their files elsewhere, so everything that product or
tests leave behind is noticed. The workers of a run share the folder, so that its path stays short:
it holds sockets, whose paths may have 107 bytes. Folders of single tests (``tmp_path``) stay where
pytest puts them, and can be examined.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

PATIENCE_S: Final = 10.0
"""Seconds until the supervisor of the last killed store has cleaned up."""

FOLDER: Final = pytest.StashKey[Path]()
VARIABLES: Final = pytest.StashKey[dict[str, str | None]]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the folder. Workers inherit it."""
    if hasattr(config, "workerinput"):
        return
    outside = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="t-"))
    folder.chmod(0o755)  # nginx and the images run as nobody, who must get through it
    config.stash[FOLDER] = folder
    config.stash[VARIABLES] = {name: os.environ.get(name) for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT")}
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", outside)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Fail a run that left something in its folder. All workers have ended by now."""
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
    """Return the names of the folder's entries that remain."""
    until = time.monotonic() + PATIENCE_S
    while (left := sorted(path.name for path in folder.iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    return left
