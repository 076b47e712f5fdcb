"""The SDK as a black box, from `record` to the bytes that devices send.

The rest of the estimator imports only `client_sdk.protocol` from the SDK. This module runs the
whole SDK, because the audit is about the code that apps run. Devices exist only in memory. The
transport of a device accepts every report and opens no socket. The audit ignores the times of
reports.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self

from client_sdk import Recorded, Reply, Telemetry
from client_sdk.protocol.budget import Budget
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.protocol.wire.verdict import Verdict
from estimator.errors import AuditError

START_S = 1_767_268_800.0
"""The start time of every device in Unix seconds: 2026-01-01 12:00 UTC.

If devices had different start times, an attack could tell the devices apart by these times.
"""

HALF_A_DAY_S = 43_200

COLLECTOR = "https://audit.invalid"
"""A URL with a reserved host name (RFC 2606). Every DNS lookup of this name fails."""

SEND_DEADLINE_S = 60.0
"""The maximum time for sending the reports of one window, in seconds.

The transport is fast, so a longer time is an error.
"""

ATTEMPTS = 1000
"""The maximum number of times that the audit tries to record one answer. On a busy machine, the SDK
may reject the first attempts.
"""

NO_CEILING = 2**62
"""A ceiling that no device reaches, in billionths of epsilon or in 10**-18 of delta."""


class Device(Protocol):
    """The part of a `Telemetry` that an audit uses."""

    def __enter__(self) -> Self:
        """Start the device."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the device."""
        ...

    def record(self, metric: str, answer: object, /) -> str:
        """Record an answer, and return the outcome as one of the values of `Recorded`."""
        ...

    def flush(self, timeout_s: float, /) -> object:
        """Send the waiting reports. Return a false value if some reports are still unsent."""
        ...


MakeDevice = Callable[..., Device]

INSTALLED: MakeDevice = partial(Telemetry, strict=True)
"""The SDK that an app in this Python environment would import.

Strict mode raises an error for an invalid answer. Without strict mode, the SDK would replace the
answer, and the audit would prove nothing.
"""


@dataclass(frozen=True, eq=False)
class Life:
    """All answers that a device gives, from its first window to its last.

    Attributes:
        answers: for each window, the answer to each metric.
        window: the kind of window, such as a day.
    """

    answers: tuple[Mapping[str, object], ...]
    window: WindowKind


class _Clock:
    """A clock that stands still until the audit moves it to the next window."""

    def __init__(self) -> None:
        self.now_s = START_S

    def __call__(self) -> float:
        return self.now_s

    def next_window(self, kind: WindowKind) -> None:
        self.now_s = Window.at(kind, self.now_s).ends_at + HALF_A_DAY_S


class _Collector:
    """A transport that accepts every report and keeps the bytes that an adversary would see."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []

    def post(self, body: bytes) -> Reply:
        self._bodies.append(body)
        return Reply(200, None, Verdict(len(json.loads(body)["reports"])).encode())

    def taken(self) -> list[bytes]:
        bodies, self._bodies = self._bodies, []
        return bodies


def without_ceilings(registry: Registry) -> Registry:
    """Return a registry without ceilings, a budget strategy, or expiry dates.

    Each of these settings could prevent a report that the audit needs. The removed settings do not
    affect editions or channels. The values for missing answers (``fill``) are removed too, because
    a device would report these values only at the end of a window.
    """
    budget = Budget(registry.budget.window, NO_CEILING, NO_CEILING, lifetime_attos=NO_CEILING)
    metrics = {name: replace(metric, expires=None, fill=None) for name, metric in registry.metrics.items()}
    return replace(registry, budget=budget, metrics=metrics)


def play(registry: Registry, life: Life, make_device: MakeDevice = INSTALLED) -> list[list[bytes]]:
    """Simulate a new device, and return the bodies of its uploads in each window.

    Args:
        registry: a registry whose ceilings allow every report, such as one from `without_ceilings`.
        life: the answers of the device.
        make_device: a function that returns a `Telemetry`, or an object that behaves like one.

    Raises:
        AuditError: if the device does not record an answer or does not send its reports.
    """
    clock, collector = _Clock(), _Collector()
    sent = []
    with make_device(
        registry, collector=COLLECTOR, data_dir=None, consent=True, clock=clock, transport=collector
    ) as device:
        for answers in life.answers:
            for metric, answer in answers.items():
                _record(device, metric, answer)
            if not device.flush(SEND_DEADLINE_S):
                raise AuditError(f"the SDK did not send its reports within {SEND_DEADLINE_S:.0f} seconds; try again")
            sent.append(collector.taken())
            clock.next_window(life.window)
    return sent


def _record(device: Device, metric: str, answer: object) -> None:
    """Make a device record an answer.

    The audit must not go on if nothing is recorded. A device that records nothing sends nothing,
    and would therefore seem private.

    Raises:
        AuditError: if the device does not record the answer.
    """
    for _ in range(ATTEMPTS):
        recorded = device.record(metric, answer)
        if recorded in (Recorded.QUEUED, Recorded.ALREADY_RECORDED):
            # an earlier attempt may have queued the answer on a busy machine
            return
        if recorded not in (Recorded.BUSY, Recorded.WAITING):
            break
    raise AuditError(f"the SDK did not record {metric!r} and returned {recorded}; there is nothing to audit")


class Network(Protocol):
    """The receiver of a device's uploads."""

    def post(self, body: bytes) -> object:
        """Receive the body of an upload."""
        ...


class OtherSdk:
    """An SDK in another language, run as a program that simulates one device after another.

    The program runs until the ``with`` block ends. The program answers each line of JSON with a
    line of JSON:

    * ``{"do": "begin"}`` makes the program simulate a new device. The answer is ``{}``.
    * ``{"do": "record", "metric": …, "answer": …, "at": …}`` makes the device record an answer. If
      the device queues a report, the program answers ``{"recorded": "queued"}``.
    * ``{"do": "flush", "at": …}`` makes the device send the waiting reports. The program answers
      ``{"sent": ["body of an upload", …]}``.

    ``at`` is the time in Unix seconds. Sets and pairs are written as lists.

    The program must ignore ceilings and expiry dates, draw its own coins, and open no socket. The
    program must assume that a collector accepts each body. The answer ``{"error": "…"}`` ends the
    audit. The npm package `hearsay-ldp` contains such a program for its own SDK.
    """

    def __init__(self, command: str) -> None:
        """Start the program. The command is split into words as in a shell.

        Raises:
            AuditError: if the program cannot be started.
        """
        self._command = command
        if not command.strip():
            raise AuditError("no program is named; name a program that simulates an SDK")
        try:
            self._process = subprocess.Popen(  # noqa: S603 the analyst's own command
                shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except (OSError, ValueError, IndexError) as error:
            raise AuditError(f"{command!r} cannot be started: {error}; name a program that simulates an SDK") from None

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the program, even if it is still working."""
        self._process.kill()
        self._process.communicate()

    def device(self, registry: Registry, *, clock: Callable[[], float], transport: Network, **_: object) -> _Device:  # noqa: ARG002 as `Telemetry` is made
        """Make the program simulate a new device."""
        self.ask({"do": "begin"})
        return _Device(self, clock, transport)

    def ask(self, request: dict[str, object]) -> dict[str, Any]:
        """Send a line to the program, and return its answer.

        Raises:
            AuditError: if the program has ended, or if its answer is an error or is not a JSON
                object.
        """
        assert self._process.stdin is not None  # noqa: S101 it was started with pipes
        assert self._process.stdout is not None  # noqa: S101 as above
        try:
            self._process.stdin.write(json.dumps(request, default=_plain) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise AuditError(
                f"{self._command!r} ended, or printed something other than JSON; run it alone to see why"
            ) from None
        if not isinstance(answer, dict) or "error" in answer:
            why = answer.get("error") if isinstance(answer, dict) else "its answer is not a JSON object"
            raise AuditError(f"{self._command!r} cannot continue: {why}")
        return answer


class _Device:
    def __init__(self, sdk: OtherSdk, clock: Callable[[], float], network: Network) -> None:
        self._sdk, self._clock, self._network = sdk, clock, network

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing. The next ``begin`` makes the program simulate a new device."""

    def record(self, metric: str, answer: object) -> str:
        request = {"do": "record", "metric": metric, "answer": answer, "at": self._clock()}
        return str(self._sdk.ask(request).get("recorded"))

    def flush(self, timeout_s: float) -> bool:  # noqa: ARG002 as `Telemetry.flush`
        sent = self._sdk.ask({"do": "flush", "at": self._clock()}).get("sent")
        if not isinstance(sent, list) or not all(isinstance(body, str) for body in sent):
            raise AuditError("the program that simulates an SDK must answer a flush with the bodies that it sent")
        for body in sent:
            self._network.post(body.encode())
        return True


def _plain(answer: object) -> object:
    """Convert an answer for JSON: a set to a list, and a fraction to a float."""
    if isinstance(answer, AbstractSet):
        return sorted(answer)
    if isinstance(answer, Fraction):
        return float(answer)
    raise TypeError
