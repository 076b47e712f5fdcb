"""Numbers of a vector, as an app hands them: each the nearest binary float of 64 bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from numbers import Real
from typing import Final

from client_sdk.protocol.errors import DomainError

MOST_COORDINATE: Final = 10**6
"""The largest size of a number: sums of squares then stay integers of two machine words."""


def sizes_of(numbers: object) -> Iterator[float]:
    """Return the numbers of a list, tuple or array as floats.

    Raises:
        DomainError: if it has no order, at once; or when what is no finite number of moderate size
            is reached.

    """
    if not isinstance(numbers, Iterable) or isinstance(numbers, AbstractSet | Mapping | bytes | bytearray):
        raise DomainError
    return map(_size, numbers)


def _size(number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, Real):
        raise DomainError
    try:
        size = float(number)
    except (ArithmeticError, TypeError, ValueError):
        raise DomainError from None
    if not -MOST_COORDINATE <= size <= MOST_COORDINATE:  # as NaN is not
        raise DomainError
    return size
