"""The ceilings that a device keeps: how much privacy loss a window and a life may cost at most."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.spec.window import WindowKind


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings in billionths of epsilon, rounded down.

    Attributes:
        window: the period that the first ceiling speaks of; also the metrics' window where they name none.
        per_window_nanos: what all reports made within one such period may cost together.
        lifetime_nanos: what all reports that a device ever makes may cost together.

    """

    window: WindowKind
    per_window_nanos: int
    lifetime_nanos: int
