"""Programs and rights of the system, for tests that are marked `system` alone.

Every other test needs Python packages only, so that `make test` runs anywhere and without root.
"""

from __future__ import annotations

import os
import shutil

import pytest

RUNS_SYSTEM_TEST = "TEST_MAY_USE_THE_SYSTEM"
"""Set while a test that is marked `system` runs; what it starts inherits it."""


def require_mark(what: str) -> None:
    """Fail a test that needs something of the system and is not marked for it."""
    if RUNS_SYSTEM_TEST not in os.environ:
        pytest.fail(f"this test needs {what}: mark it with @pytest.mark.system", pytrace=False)


def program(name: str) -> str:
    """Return the path of a program. Without it the test fails and says what to install."""
    require_mark(name)
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if path is None:
        pytest.fail(f"there is no {name}: apt-get install {name} (as root, `make system` does it)", pytrace=False)
    return path
