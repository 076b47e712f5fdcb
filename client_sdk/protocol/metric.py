"""One question: what is asked and why, what may be answered, and how the answer is perturbed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from client_sdk.protocol.channel import Channel, Coins, epsilon_nanos
from client_sdk.protocol.domain import Domain, DomainError
from client_sdk.protocol.errors import OutsideDomainError
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.window import Window, WindowKind

REMEMBERED = 64
"""Deltas that are kept: one takes some ten milliseconds to add up, and every charge needs it."""


class Protects(StrEnum):
    """What no two of must be told apart by more than the ceilings allow, where answers are permanent."""

    HISTORY = "history"
    """Any two histories: every report is charged."""

    PATTERN = "pattern"
    """Two histories of one pattern: so many different answers as are declared are charged, once.

    They have one pattern if wherever two windows have equal answers in the one, they have in the other: a, b, a, b and
    c, a, c, a do; a, b, c, b has another one, although it changes at the same times. The pattern is not protected.
    Of numbers, which are rounded, only those that never change are kept together (`Metric.keeps_patterns`).
    """


@dataclass(frozen=True, slots=True)
class Fill:
    """What is reported of a window in which nothing was recorded.

    Attributes:
        answer: as `Metric.perturb` takes it.

    """

    answer: object


EDITION_DIGITS = 12
"""48 bits: two of a thousand editions of one metric would collide once in 10**8 registries."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One question of a registry.

    Attributes:
        name: what the app calls it.
        purpose: a sentence for the user: why it is asked.
        domain: what may be answered.
        channel: how an answer becomes a symbol.
        window: how often it is asked: once a window.
        owner: who answers for it, or the empty text.
        expires: the last day on which it is asked, or none.
        protects: what the ceilings hold of permanent answers: ``history`` or ``pattern``; else none.
        max_values: of how many different answers permanent ones are made at most, where that is what is charged.
        fill: what is reported of a window in which nothing was recorded; or none, if nothing is.
        persist: whether what is counted up over a window survives the process on the disk.
        retention_days: for how many days the collector keeps its tallies after a window's grace is over; or none, if
            it keeps them for good.
        edition: hex digest of what a report means.
        epsilon_nanos: what one report reveals at most, whatever was reported before, in billionths, rounded up.

    """

    name: str
    purpose: str
    domain: Domain
    channel: Channel
    window: WindowKind
    owner: str = ""
    expires: date | None = None
    protects: Protects | None = None
    max_values: int = 0
    fill: Fill | None = None
    persist: bool = False
    retention_days: int | None = None
    edition: str = field(init=False)
    epsilon_nanos: int = field(init=False)

    def __post_init__(self) -> None:
        """Derive the edition and the exact epsilon."""
        object.__setattr__(self, "edition", _edition(self))
        object.__setattr__(self, "epsilon_nanos", epsilon_nanos(self.channel))

    @property
    def kind(self) -> str:
        """The kind of its domain, such as boolean."""
        return self.domain.kind

    @property
    def delta(self) -> Fraction:
        """How often epsilon may not hold for one report at most, exact; 0 for all mechanisms but the Gaussian one."""
        return _delta(self.channel)

    @property
    def permanent_nanos(self) -> int:
        """What all reports of one answer that does not change reveal at most, in billionths; 0 if none is permanent."""
        return self.channel.permanent_nanos if isinstance(self.channel, Permanent) else 0

    @property
    def charge_nanos(self) -> int:
        """What each report is charged in billionths."""
        return 0 if self.protects is Protects.PATTERN else self.epsilon_nanos

    @property
    def reserve_nanos(self) -> int:
        """What is charged once, with the first report, in billionths."""
        return self.max_values * self.permanent_nanos if self.protects is Protects.PATTERN else 0

    @property
    def keeps_patterns(self) -> bool:
        """Whether no two histories of one pattern are told apart by more than what is charged once.

        Not where answers are rounded: two numbers that differ may share an end, and with it the permanent answer.
        """
        return self.protects is Protects.PATTERN and len(self.domain.labels) > 0

    def has_expired(self, window: Window) -> bool:
        """Whether a window begins after the last day on which the metric is asked."""
        return self.expires is not None and window.first_day > self.expires

    def encode(self, answer: object, coins: Coins) -> int:
        """Return the input symbol of a true answer.

        Raises:
            OutsideDomainError: without the answer, if it is outside the domain.

        """
        try:
            return self.domain.encode(answer, self.channel.inputs, coins)
        except DomainError:
            raise OutsideDomainError(self.name, self.domain.expected) from None

    def perturb(self, answer: object, coins: Coins) -> int:
        """Return the symbol to report for a true answer. Run on the device.

        Raises:
            OutsideDomainError: without the answer, if it is outside the domain.

        """
        return self.channel.perturb(self.encode(answer, coins), coins)


@lru_cache(maxsize=REMEMBERED)
def _delta(channel: Channel) -> Fraction:
    return channel.delta


def _filled_with(metric: Metric) -> dict[str, object]:
    """Return what the edition says of a number that is reported where nothing was recorded."""
    is_number = metric.fill is not None and metric.fill.answer is not None
    return {"fill_value": str(metric.fill.answer)} if metric.fill is not None and is_number else {}


def _edition(metric: Metric) -> str:
    """Digest what a report means. Purpose, owner and expiry are not in it: editing them must not redraw anything."""
    meaning = {
        "schema": 1,
        "kind": metric.kind,
        "domain": metric.domain.definition | _filled_with(metric),
        "window": metric.window.value,
        "mechanism": metric.channel.name,
        "integers": dict(metric.channel.integers),
    }
    canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:EDITION_DIGITS]
