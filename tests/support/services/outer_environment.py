"""A pytest plugin: what tests see does not depend on the environment of the person who runs them.

It takes out the variables that are settings of the product, such as the read token that the README
lets a newcomer export. Proxies stay, for pip may need them, but not for this machine. Variables
that must change nothing, such as the time zone, stay too: the tests would notice if they did.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import pytest

PREFIX: Final = "HEARSAY_"
"""Variables of the settings of collector, relay and reporting job."""

OF_TERMINALS: Final = frozenset({"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM"})
"""Widths and colors of what the commands, click and Node print."""

THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")

PROXY_VARIABLES: Final = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
"""Those of plain HTTP."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Change the environment of the whole run. Workers inherit it."""
    for name in settings(os.environ):
        del os.environ[name]
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), *THIS_MACHINE)))


def settings(names: Iterable[str]) -> list[str]:
    """Return the variables that are settings of the product."""
    return [name for name in names if name.startswith(PREFIX) or name in OF_TERMINALS]


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all proxies, and all exceptions from them, out of the environment."""
    for name in tuple(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
