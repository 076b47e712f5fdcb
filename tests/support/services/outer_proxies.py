"""The variables of the environment that name proxies."""

from __future__ import annotations

import os
from typing import Final

import pytest

PROXY_VARIABLES: Final = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
"""Those of plain HTTP."""


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all proxies, and all exceptions from them, out of the environment."""
    for name in tuple(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
