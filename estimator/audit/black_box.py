"""The black box is the installed SDK, from `record` to the bytes that it would send.

Only this module of the estimator uses more of the SDK than its vocabulary: an audit of anything
else would prove nothing about what apps embed. Devices live in memory. Their uploads go to a
transport that counts everything and opens no socket. Times are not observed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Protocol, Self

from client_sdk import Recorded, Reply, Telemetry
from client_sdk.protocol.budget import Budget
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.protocol.wire.verdict import Verdict
from estimator.errors import AuditError

START_S = 1_767_268_800.0
"""2026-01-01, 12:00 UTC, in every device's first window. Devices at different times could be told
apart.
"""

HALF_A_DAY_S = 43_200

COLLECTOR = "https://audit.invalid"
"""A name that never exists (RFC 2606), in case anything looks it up."""

SEND_DEADLINE_S = 60.0
"""Nothing is slow here. What has not been sent after this time never will be."""

ATTEMPTS = 1000
"""How often recording is tried on a busy machine."""

NO_CEILING = 2**62
"""Billionths of epsilon. No life spends as many, and a ledger can hold their sums."""


class Device(Protocol):
    """What an audit uses of a `Telemetry`."""

    def __enter__(self) -> Self:
        """Begin to live."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        ...

    def record(self, metric: str, answer: object, /) -> str:
        """Record an answer; return what became of it, as `Recorded` names it."""
        ...

    def flush(self, timeout_s: float, /) -> object:
        """Send what waits; what is returned is false if something still waits."""
        ...


MakeDevice = Callable[..., Device]

INSTALLED: MakeDevice = partial(Telemetry, strict=True)
"""The SDK that an app in this Python would import. An answer that it replaced would say nothing."""


@dataclass(frozen=True, eq=False)
class Life:
    """What a device answers.

    Attributes:
        answers: for each window, the answer to each metric.
        window: the kind of these windows.

    """

    answers: tuple[Mapping[str, object], ...]
    window: WindowKind


class _Clock:
    """A clock that stands still until it is set to another window."""

    def __init__(self) -> None:
        self.now_s = START_S

    def __call__(self) -> float:
        return self.now_s

    def next_window(self, kind: WindowKind) -> None:
        self.now_s = Window.of(kind, self.now_s).ends_at + HALF_A_DAY_S


class _Collector:
    """A transport that counts everything and keeps what an adversary on the network would see."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []

    def post(self, body: bytes) -> Reply:
        self._bodies.append(body)
        return Reply(200, None, Verdict(len(json.loads(body)["reports"])).encode())

    def taken(self) -> list[bytes]:
        bodies, self._bodies = self._bodies, []
        return bodies


def without_ceilings(registry: Registry) -> Registry:
    """Return the same questions, asked in every window without an end.

    A device that stops shows only its silence.

    Ceilings, strategies and last days change no edition and no channel, but a ledger that ran out
    would end a life early. Fill-ins are left out because their reports would wait for the end of a
    window.
    """
    budget = Budget(registry.budget.window, NO_CEILING, NO_CEILING, lifetime_attos=NO_CEILING)
    metrics = {name: replace(metric, expires=None, fill=None) for name, metric in registry.metrics.items()}
    return replace(registry, budget=budget, metrics=metrics)


def play(registry: Registry, life: Life, make_device: MakeDevice = INSTALLED) -> list[list[bytes]]:
    """Let a new device live, and return the bodies that it sends in each window.

    Args:
        registry: with room for every report, as `without_ceilings` makes it.
        life: the answers of the device.
        make_device: makes a `Telemetry`, or what has its manners.

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
    """Let a device record an answer. Silence must not pass for privacy.

    Raises:
        AuditError: if it does not record the answer.

    """
    for _ in range(ATTEMPTS):
        recorded = device.record(metric, answer)
        if recorded in (Recorded.QUEUED, Recorded.ALREADY_RECORDED):
            # a busy device may still have queued it
            return
        if recorded not in (Recorded.BUSY, Recorded.WAITING):
            break
    raise AuditError(f"the SDK did not record {metric!r}, but said {recorded}; there is nothing to audit")
