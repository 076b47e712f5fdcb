"""The black box: the installed SDK, from `record` to the bytes that it would send.

This is the one place of the estimator that uses more of the SDK than the vocabulary: an audit of anything else would
prove nothing about what apps embed. Devices live in memory; their uploads go to a collector that counts everything and
is not there, so that no socket is opened. Times are not observed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from client_sdk import Recorded, Reply, Telemetry
from client_sdk.protocol import Budget, Registry, Verdict, Window, WindowKind
from estimator.errors import AuditError

START_S = 1_767_268_800.0
"""2026-01-01, 12:00 UTC: the noon of every device's first window. Devices that differ in time could be told apart."""

HALF_A_DAY_S = 43_200

COLLECTOR = "https://audit.invalid"
"""A name that never exists (RFC 2606), should anything look it up."""

SEND_DEADLINE_S = 60.0
"""Nothing is slow here; what has not been sent by then never will be."""

ATTEMPTS = 1000
"""Of recording on a busy machine."""

NO_CEILING = 2**62
"""Billionths of epsilon that no life spends, and whose sums a ledger holds."""

MakeDevice = Callable[..., Telemetry]

INSTALLED: MakeDevice = Telemetry
"""The SDK that this Python would import in an app."""


@dataclass(frozen=True, eq=False)
class Life:
    """What a device is asked, and answers.

    Attributes:
        answers: window by window, a mapping of metrics to answers.
        window: how long these windows are.

    """

    answers: tuple[Mapping[str, object], ...]
    window: WindowKind


class _Clock:
    """Stands where it is set."""

    def __init__(self) -> None:
        self.now_s = START_S

    def __call__(self) -> float:
        return self.now_s

    def next_window(self, kind: WindowKind) -> None:
        self.now_s = Window.of(kind, self.now_s).ends_at + HALF_A_DAY_S


class _Collector:
    """Counts everything, and keeps what an adversary on the way would have seen."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []

    def post(self, body: bytes) -> Reply:
        self._bodies.append(body)
        return Reply(200, None, Verdict(len(json.loads(body)["reports"])).encode())

    def taken(self) -> list[bytes]:
        bodies, self._bodies = self._bodies, []
        return bodies


def without_ceilings(registry: Registry) -> Registry:
    """Return the same questions, asked in every window for ever: what stops asking would show only that it is silent.

    Ceilings, strategies and last days are in no edition and no channel; a ledger that ran out would end a life before
    its horizon. Reports of what is filled in leave at once: they would else wait for their window's end.
    """
    budget = Budget(registry.budget.window, NO_CEILING, NO_CEILING, lifetime_attos=NO_CEILING)
    metrics = {name: replace(metric, expires=None, fill=None) for name, metric in registry.metrics.items()}
    return replace(registry, budget=budget, metrics=metrics)


def play(registry: Registry, life: Life, make_device: MakeDevice = INSTALLED) -> list[list[bytes]]:
    """Let a new device live, and return the bodies that it sent in each window.

    Args:
        registry: with room for every report: `without_ceilings`.
        life: what it answers.
        make_device: another `Telemetry`; anything but the default is for tests.

    Raises:
        AuditError: if it does not record what it is told, or does not send it.

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


def _record(device: Telemetry, metric: str, answer: object) -> None:
    """Let a device record; one that is silent would otherwise pass for a discreet one."""
    for _ in range(ATTEMPTS):
        recorded = device.record(metric, answer)
        if recorded in (Recorded.QUEUED, Recorded.ALREADY_RECORDED):  # what was busy may have been queued all the same
            return
        if recorded is not Recorded.BUSY:
            break
    raise AuditError(f"the SDK did not record {metric!r}, but said {recorded}; there is nothing to audit")
