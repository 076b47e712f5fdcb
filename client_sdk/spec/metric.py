"""One question: what is asked and why, what may be answered, and how the answer is perturbed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from client_sdk.spec.channel import Channel, Coins, epsilon_nanos
from client_sdk.spec.domain import Domain, DomainError
from client_sdk.spec.errors import OutsideDomainError
from client_sdk.spec.window import Window, WindowKind

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
        edition: hex digest of what a report means.
        epsilon_nanos: the exact privacy loss of one report in billionths, rounded up.

    """

    name: str
    purpose: str
    domain: Domain
    channel: Channel
    window: WindowKind
    owner: str = ""
    expires: date | None = None
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
        return self.channel.delta

    def has_expired(self, window: Window) -> bool:
        """Whether a window begins after the last day on which the metric is asked."""
        return self.expires is not None and window.first_day > self.expires

    def perturb(self, answer: object, coins: Coins) -> int:
        """Return the symbol to report for a true answer. Run on the device.

        Raises:
            OutsideDomainError: without the answer, if it is outside the domain.

        """
        try:
            value = self.domain.encode(answer, self.channel.inputs, coins)
        except DomainError:
            raise OutsideDomainError(self.name, self.domain.expected) from None
        return self.channel.perturb(value, coins)


def _edition(metric: Metric) -> str:
    """Digest what a report means. Purpose, owner and expiry are not in it: editing them must not redraw anything."""
    meaning = {
        "schema": 1,
        "kind": metric.kind,
        "domain": metric.domain.definition,
        "window": metric.window.value,
        "mechanism": metric.channel.name,
        "integers": dict(metric.channel.integers),
    }
    canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:EDITION_DIGITS]
