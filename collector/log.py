"""What a collector and its workers log, and how: lines on standard error, for people or for programs.

A line tells of the service, never of an upload: no address, no value, no secret, no upload id, and no time at which one
came. What an exception says might hold any of these, so that only its kind and the places in the code are told.
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


class LogFormat(StrEnum):
    """How a line is written."""

    TEXT = "text"
    JSON = "json"


class Event(StrEnum):
    """What happened, for programs: the field ``event`` of a line."""

    STARTING = "starting"
    READY = "ready"
    STOPPED = "stopped"
    WINDOW_CLOSED = "window_closed"
    FILE_REWRITTEN = "file_rewritten"
    RELOADED = "reloaded"
    RELOAD_REFUSED = "reload_refused"
    STORE_DOWN = "store_down"
    STORE_UP = "store_up"
    STORE_NEARLY_FULL = "store_nearly_full"
    STORE_HAS_ROOM = "store_has_room"
    NOTE_FAILED = "note_failed"
    NOTED_AGAIN = "noted_again"
    WORKER_DIED = "worker_died"
    REQUEST_FAILED = "request_failed"

    @property
    def extra(self) -> dict[str, str]:
        """What a line of it is logged with."""
        return {"event": self.value}


ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Formatter(logging.Formatter):
    """Tells of an exception its kind and the places that it came through, and not what it says."""

    converter = staticmethod(time.gmtime)

    def formatException(self, info: ExceptionInfo) -> str:  # noqa: N802 the library's name
        """Return a line a place, the innermost last."""
        kind, _, trace = info
        places = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(trace)]
        return "\n".join((*places, kind.__name__ if kind else "no exception"))


class TextFormatter(_Formatter):
    """A line for people."""

    def __init__(self) -> None:
        """Set the form."""
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")


class JsonFormatter(_Formatter):
    """A line for programs: an object with time, level, event and message, and of an exception where it came from."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.name.rpartition(".")[2].strip("_")),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["where"] = self.formatException(record.exc_info)
        return json.dumps(line)


class ServerFilter(logging.Filter):
    """Gives the server's word that a worker died its event."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every line pass."""
        if record.name == SERVER and record.getMessage().startswith("Unexpected exit from worker"):
            record.event = Event.WORKER_DIED.value
        return True


SERVER = "_granian"

_FORMATTERS = {LogFormat.TEXT: TextFormatter, LogFormat.JSON: JsonFormatter}


def settings(log_format: LogFormat) -> dict[str, Any]:
    """Return the one configuration of logging in every process, as ``logging.config`` takes it."""
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
            }
        },
        "loggers": {"collector": {"level": "INFO"}, SERVER: {"level": "ERROR"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
    }


def configure(log_format: LogFormat) -> None:
    """Log so in this process from now on."""
    logging.config.dictConfig(settings(log_format))
