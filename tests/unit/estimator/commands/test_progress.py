"""How far long work has got: nothing at first, then as much as the sink can bear."""

from __future__ import annotations

import io

import pytest

from estimator.commands.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(sink: io.StringIO, times: list[float]) -> str:
    """Return what is said of steps that are done at these times; the work begins at 0."""
    clock = iter([0.0, *times])
    progress = Progress("reporting", len(times), sink, lambda: next(clock))
    for _ in times:
        progress.advance()
    progress.finish()
    return sink.getvalue()


@pytest.mark.parametrize("sink", [io.StringIO(), _Terminal()])
def test_short_work_says_nothing(sink: io.StringIO) -> None:
    assert shown(sink, [0.1, 0.9]) == ""


def test_a_log_gets_a_line_now_and_then() -> None:
    assert shown(io.StringIO(), [5.0, 12.0]) == "reporting: 2 of 2\n"


def test_a_terminal_gets_one_line_that_is_taken_away() -> None:
    assert shown(_Terminal(), [0.5, 1.5]) == "\rreporting: 2 of 2\x1b[K\r\x1b[K"
