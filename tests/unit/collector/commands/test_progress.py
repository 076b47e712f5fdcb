"""Progress of long work: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from io import StringIO

import pytest

from collector.commands.backup import progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("total", "shown"), [(5000, "ids  [####################################]  5000/5000"), (None, "5000")]
)
def test_a_terminal_gets_one_line_that_ends_with_the_work(
    monkeypatch: pytest.MonkeyPatch, total: int | None, shown: str
) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with progress("ids", total) as add:
        add(4000)
        add(1000)
    assert shown in stream.getvalue()
    assert stream.getvalue().endswith("\n")
    assert stream.getvalue().count("\n") == 1


def test_a_log_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with progress("ids", 5000) as add:
        add(5000)
    assert stream.getvalue() == ""
