"""What every test from end to end shares."""

from __future__ import annotations

import pytest

from client_sdk import recorder


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `record` wait long for a loaded machine: its deadline is what the SDK's own tests are about."""
    monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", 60.0)
