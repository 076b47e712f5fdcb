"""What all tests of the SDK share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from client_sdk import recorder

_REAL_DEADLINE_S = recorder.RECORD_DEADLINE_S
_REAL_SECRET_DEADLINE_S = recorder.SECRET_DEADLINE_S


@pytest.fixture
def real_deadline() -> float:
    """Seconds that `record` waits outside of tests."""
    return _REAL_DEADLINE_S


@pytest.fixture
def real_secret_deadline() -> float:
    """Seconds that `record` waits for the secret of permanent answers outside of tests."""
    return _REAL_SECRET_DEADLINE_S


@pytest.fixture
def hostile_logging() -> Iterator[None]:
    """Install a filter of the host that raises for everything the SDK logs."""

    def raise_always(_: logging.LogRecord) -> bool:
        raise ZeroDivisionError

    logger = logging.getLogger("client_sdk")
    logger.addFilter(raise_always)
    yield
    logger.removeFilter(raise_always)
