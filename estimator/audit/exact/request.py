"""The losses that a registry requests, read from its text.

The SDK could make other channels than requested.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from client_sdk.protocol.requested_epsilon import RequestedEpsilon


@dataclass(frozen=True, slots=True)
class RequestedLoss:
    """How much a report may reveal.

    Attributes:
        odds: e to the requested epsilon.
        delta: by how much a probability may exceed e^epsilon times another answer's.

    """

    odds: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class RequestedLosses:
    """How much a metric may reveal.

    Attributes:
        report: by one report. None if it is not compared.
        permanent: by a permanent answer. None where answers are not permanent.

    """

    report: RequestedLoss | None = None
    permanent: RequestedLoss | None = None


def requests_of(text: str) -> dict[str, RequestedLosses]:
    """Return the requested losses of each metric of a sound registry.

    Args:
        text: TOML.

    """
    tables = tomllib.loads(text, parse_float=Decimal)["metric"]
    return {name: _requests(table) for name, table in tables.items()}


def _requests(table: dict[str, Any]) -> RequestedLosses:
    permanent = table.get("permanent_epsilon")
    return RequestedLosses(
        RequestedLoss(RequestedEpsilon.parse(table["epsilon"]).odds, Fraction(table.get("delta", 0))),
        None if permanent is None else RequestedLoss(RequestedEpsilon.parse(permanent).odds),
    )
