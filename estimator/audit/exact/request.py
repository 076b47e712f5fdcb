"""What a registry asks for, in its own words: the SDK makes channels of them, and could make others than was asked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from client_sdk.protocol.epsilon import RequestedEpsilon


@dataclass(frozen=True, slots=True)
class Request:
    """How much a report may reveal.

    Attributes:
        odds: the requested e to the epsilon.
        delta: how often that may not hold.

    """

    odds: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Requests:
    """What is asked of one metric.

    Attributes:
        report: of a report.
        permanent: of a permanent answer; none where there is none.

    """

    report: Request
    permanent: Request | None = None


def requests_of(text: str) -> dict[str, Requests]:
    """Return what is asked of each metric of a registry, which is known to be sound."""
    tables = tomllib.loads(text, parse_float=Decimal)["metric"]
    return {name: _requests(table) for name, table in tables.items()}


def _requests(table: dict[str, Any]) -> Requests:
    permanent = table.get("permanent_epsilon")
    return Requests(
        Request(RequestedEpsilon.parse(table["epsilon"]).odds, Fraction(table.get("delta", 0))),
        None if permanent is None else Request(RequestedEpsilon.parse(permanent).odds),
    )
