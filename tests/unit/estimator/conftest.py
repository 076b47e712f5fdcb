"""What every test of the estimator shares."""

from __future__ import annotations

import pytest

from client_sdk import recorder


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the devices that an audit plays wait long for a loaded machine.

    A report that is recorded again draws more coins, and a test with scripted coins is out of step.
    """
    monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", 60.0)
    monkeypatch.setattr(recorder, "SECRET_DEADLINE_S", 60.0)
