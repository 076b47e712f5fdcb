"""What a year of all answers reveals, in one sentence."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Final

from client_sdk.protocol.epsilon import NANOS, as_float
from client_sdk.protocol.exact import float_ceiling
from client_sdk.protocol.horizon import Horizon, chance_beyond, most_nanos
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.statement import outcome
from estimator.privacy.exposure import own_delta

OF_DEVICES: Final = "lower lifetime or per_month, ask less often, or pace"
"""What lowers the year of a device that keeps its ledger."""

OF_BROWSERS: Final = "lower per_window, or ask less often"
"""What lowers the year of a browser that may wipe its ledger: lifetime and month restart then."""


def year_words(registry: Registry, today: date) -> str:
    """Return in a sentence what a year of all answers reveals, from a day on."""
    nanos = most_nanos(registry, Horizon.YEAR, today)
    delta = own_delta(registry, Horizon.YEAR, today)
    loss = f"epsilon {as_float(nanos):.9g}" + (f" and delta {float_ceiling(delta):.9g}" if delta else "")
    what = outcome(nanos, chance_beyond(registry, Horizon.YEAR, today), shipped())
    return f"Within a year, all answers of a device reveal at most {loss}: {what}."


def too_much(nanos: int, most: Fraction, *, may_be_wiped: bool) -> list[str]:
    """Return a sentence if a year of all answers reveals more than a given epsilon.

    Args:
        nanos: the loss of the year in billionths of epsilon.
        most: the epsilon that is allowed.
        may_be_wiped: whether devices are browsers that may wipe their ledger, whose year has no
            ceiling but that of its windows.

    """
    if nanos <= most * NANOS:
        return []
    least, advice = f"up to {as_float(nanos):.9g}", OF_BROWSERS if may_be_wiped else OF_DEVICES
    return [f"within a year a device reveals {least}, more than the {float(most):g} of --at-most: {advice}"]
