"""How far long work has come: one line that changes on a terminal, a line at times elsewhere, none for short work."""

from __future__ import annotations

from io import StringIO

import pytest

from collector.commands.progress import LINE_INTERVAL_S, TERMINAL_INTERVAL_S, Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    instant = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: instant[0])
    return instant


def test_a_log_gets_a_line_at_times(now: list[float]) -> None:
    stream = StringIO()
    told = Progress("ids", 5000, stream)
    told.add(1000)
    now[0] = LINE_INTERVAL_S
    told.add(1000)
    told.add(1000)
    told.end()
    assert stream.getvalue() == "2,000 of 5,000 ids\n"


def test_a_terminal_gets_one_line_that_ends_with_the_work(now: list[float]) -> None:
    stream = Terminal()
    told = Progress("ids", stream=stream)
    now[0] = TERMINAL_INTERVAL_S
    told.add(1000)
    told.add(1)
    told.end()
    assert stream.getvalue() == "\r1,000 ids\r1,001 ids\n"


@pytest.mark.usefixtures("now")
@pytest.mark.parametrize("stream", [StringIO(), Terminal()])
def test_short_work_says_nothing(stream: StringIO) -> None:
    told = Progress("ids", stream=stream)
    told.add(1)
    told.end()
    assert stream.getvalue() == ""
