"""What every test of the SDK shares."""

from __future__ import annotations

import pytest

from client_sdk import telemetry

_REAL_DEADLINE_S = telemetry.RECORD_DEADLINE_S


@pytest.fixture
def real_deadline() -> float:
    """Seconds that `record` waits outside of tests."""
    return _REAL_DEADLINE_S


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `record` wait long for a loaded machine; the tests about its deadline set it back."""
    monkeypatch.setattr(telemetry, "RECORD_DEADLINE_S", 60.0)
