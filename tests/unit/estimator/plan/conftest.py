"""Plans without what takes longest, for the tests of everything else."""

from __future__ import annotations

import pytest


@pytest.fixture
def errors_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what a tally reveals: it takes a third of a plan, and has tests of its own."""
    monkeypatch.setattr("estimator.plan.plan.central_of", lambda *_, **__: None)
