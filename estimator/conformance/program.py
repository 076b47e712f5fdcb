"""The program under test, which drives an SDK and exchanges lines of JSON with the runner."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self

from estimator.errors import ConformanceError

ANSWER_S: Final = 30.0
"""The maximum number of seconds to wait for the answer to a line."""


class NotSupportedError(Exception):
    """The program lacks a feature that a case needs. The message names the feature."""


class RefusedLineError(Exception):
    """The program ended, was too slow, reported an error, or did not print a JSON object."""


class Program:
    """A program that drives an SDK. After `kill`, the next call of `ask` restarts the program.

    Attributes:
        name: the name of the program, from its answer to ``hello``.
        supports: the mechanisms, kinds and features that the program supports.

    """

    def __init__(self, command: str) -> None:
        """Start the program. The command is split into words as in a shell.

        Raises:
            ConformanceError: if the program cannot be started, or gives no valid answer to
            ``hello``.

        """
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._lines: SimpleQueue[str] = SimpleQueue()
        self.name, self.supports = command, frozenset[str]()
        try:
            hello = self.ask({"do": "hello"})
        except (NotSupportedError, RefusedLineError) as error:
            self.kill()
            raise ConformanceError(f"{command!r} does not answer hello: {error}; run it alone to see why") from None
        self.name, self.supports = str(hello.get("implementation", command)), frozenset(hello.get("supports", ()))

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the program, even if it is still working."""
        self.kill()

    def ask(self, line: Mapping[str, object]) -> dict[str, Any]:
        """Send a line to the program, and return its answer.

        Raises:
            NotSupportedError: if the program answers that the SDK does not support this request.
            RefusedLineError: if the program gives no valid answer.

        """
        process = self._process or self._start()
        assert process.stdin is not None  # noqa: S101 it was started with a pipe
        try:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            text = self._lines.get(timeout=ANSWER_S)
        except OSError:
            text = ""
        except Empty:
            self.kill()
            raise RefusedLineError(f"no answer to {line['do']!r} within {ANSWER_S:.0f} seconds") from None
        if not text:
            self.kill()
            raise RefusedLineError(f"the program ended at {line['do']!r}")
        try:
            answer = json.loads(text)
        except ValueError:
            raise RefusedLineError(f"the answer to {line['do']!r} is not JSON: {text.strip()!r}") from None
        if not isinstance(answer, dict):
            raise RefusedLineError(f"the answer to {line['do']!r} is not a JSON object: {text.strip()}")
        if "unsupported" in answer:
            raise NotSupportedError(str(answer["unsupported"]))
        if "error" in answer:
            raise RefusedLineError(f"an error at {line['do']!r}: {answer['error']}")
        return answer

    def kill(self) -> None:
        """Kill the program like ``kill -9``. The next call of `ask` starts a new process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdin is not None  # noqa: S101 it was started with a pipe
            with contextlib.suppress(BrokenPipeError):  # the program never read the last line
                process.stdin.close()

    def _start(self) -> subprocess.Popen[str]:
        if not self._command.strip():
            raise ConformanceError("no program is named; name a program that simulates an SDK")
        try:
            process = subprocess.Popen(  # noqa: S603 the developer's own command
                shlex.split(self._command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except (OSError, ValueError, IndexError) as error:
            raise ConformanceError(
                f"{self._command!r} cannot be started: {error}; name a program that simulates an SDK"
            ) from None
        self._process, self._lines = process, SimpleQueue()
        Thread(target=_read, args=(process, self._lines), daemon=True).start()
        return process


def _read(process: subprocess.Popen[str], lines: SimpleQueue[str]) -> None:
    """Put each line that a program prints into a queue. At the end, put an empty string."""
    assert process.stdout is not None  # noqa: S101 it was started with a pipe
    with process.stdout as output:
        for line in output:
            lines.put(line)
    lines.put("")
