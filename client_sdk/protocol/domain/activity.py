"""Days of use: on how many of the last days an app was used, as its device counts them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from client_sdk.protocol.domain.number import Count

PERIODS: Final = (7, 28)
"""The days that a report covers: a week or four, so that every weekday weighs the same."""


@dataclass(frozen=True, slots=True)
class Activity(Count):
    """The number of days of use among the last ``high`` ones, which are ``days`` in the registry.

    They are the days that end with the last day of the report's window.
    """

    kind: ClassVar[str] = "activity"

    @classmethod
    def of_last(cls, days: int, statistic: str) -> Activity:
        """Return the numbers of days from 0 to ``days``, one of `PERIODS`."""
        return cls(Fraction(0), Fraction(days), statistic)

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return {"days": int(self.high), "statistic": self.statistic}
