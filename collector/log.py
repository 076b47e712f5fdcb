"""The log of a collector and its workers, on standard error.

A line describes the service and never an upload. It contains no address, value, secret, upload id
or arrival time. The message of an exception might contain such data. Therefore only the exception's
type and the lines of code in its traceback are logged.
"""

from __future__ import annotations

import json
import logging
import logging.config
import time
import traceback
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, TypeAlias

from collector.systemd import StatusHandler


class LogFormat(StrEnum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


class Event(StrEnum):
    """The event that a log line reports. Alerts and the documentation use the same names."""

    STARTING = "starting"
    READY = "ready"
    STOPPED = "stopped"
    WINDOW_CLOSED = "window_closed"
    FILE_REWRITTEN = "file_rewritten"
    RELOADED = "reloaded"
    RELOAD_REFUSED = "reload_refused"
    STORE_DOWN = "store_down"
    STORE_UP = "store_up"
    STORE_RESTARTED = "store_restarted"
    STORE_NEARLY_FULL = "store_nearly_full"
    STORE_HAS_ROOM = "store_has_room"
    CLOCKS_APART = "clocks_apart"
    CLOCKS_AGREE = "clocks_agree"
    CLOCK_SUSPECTED = "clock_suspected"
    CLOCK_TRUSTED = "clock_trusted"
    NOTE_FAILED = "note_failed"
    NOTED_AGAIN = "noted_again"
    WORKER_DIED = "worker_died"
    COLLECTOR_DOWN = "collector_down"
    COLLECTOR_UP = "collector_up"
    REQUEST_FAILED = "request_failed"

    @property
    def extra(self) -> dict[str, str]:
        """The ``extra`` argument for a log line of this event."""
        return {"event": self.value}


ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Formatter(logging.Formatter):
    """Writes an exception's type and the lines of code in its traceback, but not its message."""

    converter = staticmethod(time.gmtime)

    def formatException(self, info: ExceptionInfo) -> str:  # noqa: N802 the library's name
        """Return the traceback's lines of code, the innermost last, and the exception's type."""
        kind, _, trace = info
        places = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(trace)]
        return "\n".join((*places, kind.__name__ if kind else "no exception"))


def event_of(record: logging.LogRecord) -> str:
    """Return the event of a log record. The default is the last part of the logger's name."""
    event: str = getattr(record, "event", record.name.rpartition(".")[2].strip("_"))
    return event


class TextFormatter(_Formatter):
    """Formats a log record as a line for people."""

    def __init__(self) -> None:
        """Set the format of the lines and of the time."""
        super().__init__("%(asctime)s %(levelname)s %(event)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        record.event = event_of(record)
        return super().format(record)


class JsonFormatter(_Formatter):
    """Formats a log record for programs, as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": event_of(record),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["where"] = self.formatException(record.exc_info)
        return json.dumps(line)


class ServerFilter(logging.Filter):
    """Adds the event WORKER_DIED to the log line in which Granian reports a worker's death."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the event, and accept every line."""
        if record.name == SERVER and record.getMessage().startswith("Unexpected exit from worker"):
            record.event = Event.WORKER_DIED.value
        return True


SERVER = "_granian"

_FORMATTERS = {LogFormat.TEXT: TextFormatter, LogFormat.JSON: JsonFormatter}


def settings(log_format: LogFormat) -> dict[str, Any]:
    """Return the logging configuration of every process, in the format of ``logging.config``."""
    formatter = _FORMATTERS[log_format]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{formatter.__module__}.{formatter.__name__}"}},
        "filters": {"server": {"()": f"{ServerFilter.__module__}.{ServerFilter.__name__}"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["server"],
                "stream": "ext://sys.stderr",
            },
            "systemd": {"()": f"{StatusHandler.__module__}.{StatusHandler.__name__}"},
        },
        "loggers": {"collector": {"level": "INFO", "handlers": ["systemd"]}, SERVER: {"level": "ERROR"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
    }


def configure(log_format: LogFormat) -> None:
    """Configure logging in this process."""
    logging.config.dictConfig(settings(log_format))
