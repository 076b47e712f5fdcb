"""An SDK in another language, played by a program that speaks JSON on its pipes, a line each way.

=====================================================  =================================
a line to the program                                  its answer
=====================================================  =================================
``{"do": "begin"}``: from here on it is a new device   ``{}``
``{"do": "record", "metric": …, "answer": …, "at": …}``  ``{"recorded": "queued"}``
``{"do": "flush", "at": …}``                           ``{"sent": ["body of an upload", …]}``
=====================================================  =================================

``at`` is in Unix seconds. A set is a list, and a pair is one, too. The program asks all questions
without ceilings and last days, draws its own coins, opens no socket, and takes each body as
accepted. ``{"error": "…"}`` ends the audit. `hearsay-ldp` has such a program for its own SDK.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from fractions import Fraction
from types import TracebackType
from typing import Any, Protocol, Self

from client_sdk.protocol.registry.registry import Registry
from estimator.errors import AuditError


class Network(Protocol):
    """What takes the bodies that a device sends."""

    def post(self, body: bytes) -> object:
        """Take the body of an upload."""
        ...


class OtherSdk:
    """A running program that plays one device after the other, until its context is left."""

    def __init__(self, command: str) -> None:
        """Start the program; the command is split into words as a shell does.

        Raises:
            AuditError: if it cannot be started.

        """
        self._command = command
        if not command.strip():
            raise AuditError("no program is named; name one that plays an SDK")
        try:
            self._process = subprocess.Popen(  # noqa: S603 the analyst's own command
                shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except (OSError, ValueError, IndexError) as error:
            raise AuditError(f"{command!r} cannot be started: {error}; name a program that plays an SDK") from None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program, whatever it is doing."""
        self._process.kill()
        self._process.communicate()

    def device(self, registry: Registry, *, clock: Callable[[], float], transport: Network, **_: object) -> _Device:  # noqa: ARG002 as `Telemetry` is made
        """Return a new device, as `black_box.MakeDevice` does. The program has the questions."""
        self.ask({"do": "begin"})
        return _Device(self, clock, transport)

    def ask(self, request: dict[str, object]) -> dict[str, Any]:
        """Send a line, and return the answer.

        Raises:
            AuditError: if the program has ended, or answers with an error or with no object.

        """
        assert self._process.stdin is not None  # noqa: S101 pipes were asked for
        assert self._process.stdout is not None  # noqa: S101 as above
        try:
            self._process.stdin.write(json.dumps(request, default=_plain) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise AuditError(f"{self._command!r} ended, or said what is no JSON; try it by itself") from None
        if not isinstance(answer, dict) or "error" in answer:
            why = answer.get("error") if isinstance(answer, dict) else "its answer is no object"
            raise AuditError(f"{self._command!r} cannot go on: {why}")
        return answer


class _Device:
    def __init__(self, sdk: OtherSdk, clock: Callable[[], float], network: Network) -> None:
        self._sdk, self._clock, self._network = sdk, clock, network

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the device: the next one begins anew."""

    def record(self, metric: str, answer: object) -> str:
        request = {"do": "record", "metric": metric, "answer": answer, "at": self._clock()}
        return str(self._sdk.ask(request).get("recorded"))

    def flush(self, timeout_s: float) -> bool:  # noqa: ARG002 as `Telemetry.flush`
        sent = self._sdk.ask({"do": "flush", "at": self._clock()}).get("sent")
        if not isinstance(sent, list) or not all(isinstance(body, str) for body in sent):
            raise AuditError("the program that plays an SDK must answer a flush with the bodies that were sent")
        for body in sent:
            self._network.post(body.encode())
        return True


def _plain(answer: object) -> object:
    """Return an answer that JSON lacks: a set as a list, a fraction as a number."""
    if isinstance(answer, AbstractSet):
        return sorted(answer)
    if isinstance(answer, Fraction):
        return float(answer)
    raise TypeError
