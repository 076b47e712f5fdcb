"""Progress of long work: a bar on a terminal, and nothing in a log."""

from __future__ import annotations

import io
import sys

import pytest

from estimator.commands.printing import REDRAWS, progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(sink: io.StringIO, steps: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what is shown for a number of steps."""
    monkeypatch.setattr(sys, "stderr", sink)
    with progress("reporting", steps) as advance:
        for _ in range(steps):
            advance(1)
    return sink.getvalue()


@pytest.mark.parametrize("steps", [0, 3])
def test_a_log_gets_nothing(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(io.StringIO(), steps, monkeypatch) == ""


def test_a_terminal_gets_a_bar_that_ends_full(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = shown(_Terminal(), 3, monkeypatch)
    assert drawn.count("reporting") == 4
    assert "100%" in drawn


def test_a_bar_of_many_steps_is_drawn_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(_Terminal(), 5 * REDRAWS, monkeypatch).count("reporting") <= REDRAWS + 1
