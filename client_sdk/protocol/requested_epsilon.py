"""Epsilon as a registry requests it: a number, or ``ln`` of a number.

The requested epsilon only selects a channel's integers. The charge depends on these integers
(`client_sdk.protocol.epsilon`).
"""

import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from client_sdk.protocol.epsilon import exp_floor

LEAST_EPSILON = Decimal("0.000001")
"""The minimum epsilon. A million reports at a smaller epsilon contain less information than one
report at epsilon 1."""

GREATEST_EPSILON = Decimal(20)
"""The maximum epsilon. Above this epsilon, fewer than one report in 10**8 would differ from the
answer, and 64-bit probabilities would be too coarse to represent such a small fraction."""

_LOGARITHM = r"ln +([0-9]{1,40}(?:\.[0-9]{1,40})?)"
"""Matches ``ln`` of a number. Only ASCII digits are allowed, because every programming language
reads ASCII digits in the same way. More than 40 digits would not affect any channel."""


class RequestedEpsilon(NamedTuple):
    """Epsilon as a registry requests it.

    Attributes:
        odds: e**epsilon, exact if the registry contains ``ln`` of a number, otherwise rounded down.
        text: epsilon, as it is written in the registry.

    """

    odds: Fraction
    text: str

    @classmethod
    def parse(cls, raw: object) -> "RequestedEpsilon":
        """Read a number, or a string such as ``ln 3``.

        Raises:
            ValueError: if the value is neither a finite number nor such a string, or if the epsilon
                is out of range. The message names the valid values.
        """
        if isinstance(raw, str):
            return cls._parse_logarithm(raw)
        if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
            raise ValueError('must be a number such as 1.0, or the string "ln 3"')  # noqa: TRY004 the same type as for every other mistake
        epsilon = Decimal(raw) if isinstance(raw, int) else Decimal(str(raw))
        if not epsilon.is_finite():
            raise ValueError(f"must be finite, not {epsilon}")
        if (
            not LEAST_EPSILON <= epsilon <= GREATEST_EPSILON
        ):  # as decimals, because the fraction of 1e999999999 would exhaust the memory
            raise ValueError(f"must be from {LEAST_EPSILON:g} to {GREATEST_EPSILON:g}, not {epsilon:.6g}")
        return cls(odds=exp_floor(Fraction(epsilon)), text=str(raw))

    @classmethod
    def _parse_logarithm(cls, raw: str) -> "RequestedEpsilon":
        match = re.fullmatch(_LOGARITHM, raw)
        if match is None:
            raise ValueError(f'must be a number such as 1.0, or a string such as "ln 3", not {raw!r}')
        odds = Fraction(match[1])
        if not exp_floor(Fraction(LEAST_EPSILON)) <= odds <= exp_floor(Fraction(GREATEST_EPSILON)):
            raise ValueError(
                f"must be the ln of a number from e^{LEAST_EPSILON:g} to e^{GREATEST_EPSILON:g}, not {raw!r}"
            )
        return cls(odds=odds, text=raw)
