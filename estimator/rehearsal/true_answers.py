"""The true answers of a rehearsal: how they are written, and their laws as inputs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NoReturn

from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.domain import Domain
from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.cross import Cross
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.mean_by_group import MeanByGroup
from client_sdk.protocol.domain.number import Count, Number
from client_sdk.protocol.domain.ordinal_mean import OrdinalMean
from client_sdk.protocol.domain.set import Subset
from client_sdk.protocol.domain.text import Text
from client_sdk.protocol.domain.vector import Vector
from client_sdk.protocol.metric import Metric

TRUTH_VALUES: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

DECIMAL_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""What spreadsheets write. Python itself would also read 1_000, NaN and infinities."""

MOST_DIGITS = 400
"""The most digits of a count that is read: more than any count has, and few enough to convert."""

MEMBERS_APART = "|"
"""Separates the members of a set, the answers of a pair, and a vector's numbers, in one cell."""

Input = int | tuple[int, ...]
"""An input of a channel: a symbol, or an encoded vector."""

Value = bool | str | int | float | Decimal | Fraction | tuple["Value", ...] | None
"""An answer. Equal answers have equal values: the members of a set are in the domain's order."""


@dataclass(frozen=True, slots=True)
class TrueAnswer:
    """One answer, and the inputs that a device's rounding or its drawing of a member makes of it.

    Attributes:
        value: the answer itself.
        law: each input that it may become, with its probability. Of a text, the integer of each
            text.

    """

    value: Value
    law: tuple[tuple[Input, float], ...]


def parts(value: Value) -> tuple[Value, ...]:
    """Return the members of a set, the answers of a pair, or the numbers of a vector."""
    return value if isinstance(value, tuple) else (value,)


def as_float(value: Value) -> float:
    """Return a number as a float, and NaN for any other answer."""
    return float(value) if isinstance(value, int | Decimal | Fraction) else math.nan


def worth(domain: Number, value: Value) -> float:
    """Return what an answer to a number is worth in its mean."""
    return float(domain.worth(value)) if isinstance(domain, OrdinalMean) and isinstance(value, str) else as_float(value)


def read_answer(metric: Metric, cell: str | tuple[str, ...]) -> TrueAnswer:
    """Return the answer that a text states, or that two texts state for crossed questions.

    Raises:
        ValueError: if the text states no answer. The message says what an answer may be and leaves
            out the text.

    """
    try:
        return encode(metric, _read(metric.domain, cell))
    except DomainError:
        raise ValueError(f"must be {_expected(metric.domain)}") from None


def _read(domain: Domain, cell: str | tuple[str, ...]) -> object:
    """Return what a text states, or None. The domain refuses what is no answer.

    Raises:
        DomainError: if it states a number outside the range.

    """
    if isinstance(domain, Cross | MeanByGroup | Vector):
        return _read_parts(domain, cell.split(MEMBERS_APART) if isinstance(cell, str) else cell)
    return _read_whole(domain, cell) if isinstance(cell, str) else None


def _read_parts(domain: Cross | MeanByGroup | Vector, cells: Sequence[str]) -> object:
    if isinstance(domain, Vector):
        return [_read_size(cell) for cell in cells]
    both = (domain.first, domain.second)
    is_pair = len(cells) == len(both)
    return tuple(_read(part, cell) for part, cell in zip(both, cells, strict=True)) if is_pair else None


def _read_whole(domain: Domain, cell: str) -> object:
    text = cell.strip()
    if isinstance(domain, Boolean):
        return TRUTH_VALUES.get(text.lower())
    if isinstance(domain, Subset) or (isinstance(domain, Text) and domain.max_items > 1):
        return [member.strip() for member in cell.split(MEMBERS_APART) if member.strip()]
    if isinstance(domain, Number) and not isinstance(domain, OrdinalMean):
        return _read_number(domain, text)
    return cell


def _read_number(domain: Number, text: str) -> int | Decimal | None:
    number = _decimal(text)
    if number is None:
        return None
    is_whole = number.adjusted() <= MOST_DIGITS and number == number.to_integral_value()
    stated = int(number) if is_whole and isinstance(domain, Count) else number
    replace(domain, clip=False).within(stated)  # a device would clip it, but a truth is not to be changed
    return stated


def _read_size(text: str) -> float | None:
    number = _decimal(text.strip())
    return None if number is None else float(number)


def _expected(domain: Domain) -> str:
    """Return in words what a cell may state."""
    match domain:
        case Boolean():
            return "true or false, yes or no, 1 or 0"
        case Text(max_items=most) if most > 1:
            return f"texts with {MEMBERS_APART!r} between them: {domain.expected}"
        case Subset():
            return f"members with {MEMBERS_APART!r} between them, {MEMBERS_APART!r} alone for none: {domain.expected}"
        case Vector():
            return f"numbers with {MEMBERS_APART!r} between them: {domain.expected}"
        case Cross() | MeanByGroup():
            both = "; and ".join(_expected(part) for part in (domain.first, domain.second))
            return f"a pair with {MEMBERS_APART!r} between: {both}"
    return domain.expected


def encode(metric: Metric, value: object) -> TrueAnswer:
    """Return an answer with the law by which the metric's domain turns it into an input.

    Raises:
        DomainError: if it is outside the domain.

    """
    domain, inputs = metric.domain, metric.channel.inputs
    if isinstance(domain, Text):
        return _text_answer(domain, value)
    coin = _RoundingCoin()
    if isinstance(domain, Subset):
        members = domain.members(value, coin)
        law = [(member, 1 / domain.max_items) for member in members]
        left = domain.max_items - len(members)
        law += [(inputs - 1, left / domain.max_items)] * (left > 0)
        return TrueAnswer(tuple(domain.values[member] for member in members), tuple(law))
    if isinstance(domain, Vector):
        vector = domain.encode(value, inputs, coin)
        return TrueAnswer(tuple(value), ((vector, 1.0),))  # type: ignore[arg-type] # what a domain encodes is an answer
    point: Any = domain.encode(value, inputs, coin)
    chance = coin.numerator / COIN_SCALE
    law = [(point, 1 - chance), (point + 1, chance)] if chance else [(point, 1.0)]
    return TrueAnswer(value, tuple(law))  # type: ignore[arg-type] # what a domain encodes is an answer


def _text_answer(domain: Text, value: object) -> TrueAnswer:
    """Return a text, or a set of texts, with the law of the integers of texts instead of inputs."""
    numbers = domain.numbers(value)
    padded = [*numbers, *[0] * (domain.max_items - len(numbers))]
    labels = tuple(map(domain.label_of, numbers))
    law = tuple((number, padded.count(number) / domain.max_items) for number in dict.fromkeys(padded))
    return TrueAnswer(labels if domain.max_items > 1 else labels[0], law)


def distinct(answers: Iterable[tuple[TrueAnswer, int]]) -> dict[TrueAnswer, int]:
    """Return how often each answer was given. Two texts such as 1 and 1.0 state one answer."""
    counts: dict[TrueAnswer, int] = {}
    for answer, count in answers:
        counts[answer] = counts.get(answer, 0) + count
    return counts


class _RoundingCoin:
    """Remembers the only coin that a domain's rounding tosses.

    It always falls on the lower point.
    """

    def __init__(self) -> None:
        self.numerator = 0

    def bernoulli(self, numerator: int) -> bool:
        self.numerator = numerator
        return False

    def below(self, bound: int) -> NoReturn:
        raise AssertionError(f"rounding asks for one of {bound}, which is no single coin")


def _decimal(text: str) -> Decimal | None:
    if not DECIMAL_NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except ArithmeticError:  # the exponent is beyond what a Decimal holds
        return None
