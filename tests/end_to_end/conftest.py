"""What all end-to-end tests share."""

from __future__ import annotations

import pytest

from client_sdk import recorder


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `record` a long deadline on a loaded machine: the SDK's own tests cover its deadline."""
    monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", 60.0)
