"""Programs of the system that tests run."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str) -> str:
    """Return the path of a program. Without it the test fails and says what to install."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if path is None:
        pytest.fail(f"there is no {name}: apt-get install {name} (as root `make test` does it)", pytrace=False)
    return path
