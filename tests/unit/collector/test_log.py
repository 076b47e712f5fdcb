from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from collector.log import Event, JsonFormatter, LogFormat, ServerFilter, TextFormatter, configure

SECRET = "canary-of-a-value"  # noqa: S105 a test's own


def record(message: str, **fields: object) -> logging.LogRecord:
    line = logging.makeLogRecord({"name": "collector.live_config", "levelname": "INFO", "msg": message, **fields})
    line.created = 1_795_190_400.0
    return line


def failure() -> logging.LogRecord:
    try:
        int(SECRET)
    except ValueError:
        return record("it failed", exc_info=sys.exc_info())
    raise AssertionError


def test_a_line_for_people_has_time_level_event_and_message() -> None:
    line = record("all is well", **Event.STORE_UP.extra)
    assert TextFormatter().format(line) == "2026-11-20T16:00:00Z INFO store_up: all is well"


def test_a_line_for_programs_is_an_object_with_an_event() -> None:
    line = json.loads(JsonFormatter().format(record("all is\nwell", **Event.WINDOW_CLOSED.extra)))
    assert line == {
        "time": "2026-11-20T16:00:00.000+00:00",
        "level": "info",
        "event": "window_closed",
        "message": "all is\nwell",
    }


def test_a_line_without_an_event_is_one_of_its_module() -> None:
    assert TextFormatter().format(record("read again")) == "2026-11-20T16:00:00Z INFO live_config: read again"
    assert json.loads(JsonFormatter().format(record("read again")))["event"] == "live_config"


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_an_exception_is_logged_by_kind_and_place_and_without_its_message(formatter: logging.Formatter) -> None:
    line = formatter.format(failure())
    assert "test_log.py" in line
    assert "ValueError" in line
    assert SECRET not in line


def test_a_worker_that_died_is_an_event() -> None:
    died = record("Unexpected exit from worker-1", name="_granian")
    assert ServerFilter().filter(died)
    assert json.loads(JsonFormatter().format(died))["event"] == "worker_died"


@pytest.fixture
def as_before() -> Iterator[None]:
    """Restore logging after the test."""
    root, ours = logging.getLogger(), logging.getLogger("collector")
    kept = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:], level, own = kept
    root.setLevel(level)
    ours.setLevel(own)


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("log_format", LogFormat)
def test_a_process_logs_what_it_says_and_only_the_warnings_of_libraries(
    log_format: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(log_format)
    logging.getLogger("collector.service").info("said")
    logging.getLogger("a.library").info("not said")
    logging.getLogger("a.library").warning("warned")
    lines = capsys.readouterr().err.splitlines()
    assert ["said" in lines[0], "warned" in lines[1], len(lines)] == [True, True, 2]
    if log_format is LogFormat.JSON:
        assert [json.loads(line)["level"] for line in lines] == ["info", "warning"]
