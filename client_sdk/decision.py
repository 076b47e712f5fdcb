"""What is decided about reporting: yes, no, some purposes, or suppressed."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final, NamedTuple


class Suppression(Enum):
    """Neither yes nor no: while it lasts, nothing is recorded, stored, sent or deleted."""

    SUPPRESSED = "suppressed"

    def __bool__(self) -> bool:
        return False


SUPPRESSED: Final = Suppression.SUPPRESSED

Consent = bool | frozenset[str] | Suppression
"""True for everything, False for nothing; a set of purposes is never empty."""


class Rule(StrEnum):
    """What decides; of several that apply, the first, as `client_sdk.consent.decide` does."""

    DO_NOT_TRACK = "do_not_track"
    """``DO_NOT_TRACK`` is set: suppressed."""

    CI = "ci"
    """A variable of a continuous integration service is set: suppressed."""

    MACHINE = "machine"
    """A file of the system turns telemetry off for the whole machine: suppressed."""

    VARIABLE = "variable"
    """The app's own variable: 1 agrees to everything, anything else suppresses."""

    CHANGED = "changed"
    """The user agreed, and a ceiling or the collector's host has changed since: suppressed."""

    CHOICE = "choice"
    """The user's stored choice."""

    UNDECIDED = "undecided"
    """Nobody has decided: off."""


class Decision(NamedTuple):
    """Whether an app may report, and why. Give it to a `client_sdk.Telemetry` as ``consent``.

    Attributes:
        consent: what the user has agreed to, or `SUPPRESSED`.
        rule: what decided.
        by: the variable or file that decided; for a choice, its day; empty if nothing did.
        withheld: the questions, by name, that the user has not agreed to. Nothing is recorded for
            them; what waits of those that are not ``undecided`` is dropped.
        undecided: the questions, by name, that `client_sdk.consent.ask` would ask about.

    """

    consent: Consent
    rule: Rule
    by: str = ""
    withheld: frozenset[str] = frozenset()
    undecided: tuple[str, ...] = ()

    @property
    def declined(self) -> frozenset[str]:
        """The questions that the user has refused, beside others that they agreed to."""
        return self.withheld.difference(self.undecided)
