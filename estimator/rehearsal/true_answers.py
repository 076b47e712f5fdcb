"""True answers for a rehearsal: as they are written, and by which law each becomes an input of the channel."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, NoReturn

from client_sdk.protocol import COIN_SCALE, Boolean, Count, Cross, Domain, Metric, Number, Subset
from client_sdk.protocol.domain import DomainError

TRUTH_VALUES: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

DECIMAL_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""What spreadsheets write; Python's own reading would also take 1_000, NaN and infinities."""


MOST_DIGITS = 400
"""Of a count that is read: more than any has, few enough to be looked at."""

MEMBERS_APART = "|"
"""What stands between the members of a set, and between the answers of a pair, in one cell."""

Value = bool | str | int | Decimal | Fraction | tuple["Value", ...] | None
"""An answer, in a form that is equal where answers are: the members of a set stand in the domain's order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and what the device's rounding, or its drawing of a member, makes of it.

    Attributes:
        value: the answer itself.
        law: the input symbols that it may become, each with its probability.

    """

    value: Value
    law: tuple[tuple[int, float], ...]


def parts(value: Value) -> tuple[Value, ...]:
    """Return the members of a set, or the answers of a pair."""
    return value if isinstance(value, tuple) else (value,)


def as_float(value: Value) -> float:
    """Return a number."""
    return float(value) if isinstance(value, int | Decimal | Fraction) else math.nan


def read_answer(metric: Metric, cell: str | tuple[str, ...]) -> Answer:
    """Return the answer that a text states, or two texts that stand in the columns of two crossed questions.

    Raises:
        ValueError: saying what an answer may be, without the text, if it states none.

    """
    try:
        return encode(metric, _read(metric.domain, cell))
    except DomainError:
        raise ValueError(f"must be {_expected(metric.domain)}") from None


def _read(domain: Domain, cell: str | tuple[str, ...]) -> object:
    """Return what a text states, or none; a domain refuses what is no answer."""
    if isinstance(domain, Cross):
        cells = cell.split(MEMBERS_APART) if isinstance(cell, str) else cell
        both = (domain.first, domain.second)
        return (
            tuple(_read(part, one) for part, one in zip(both, cells, strict=True)) if len(cells) == len(both) else None
        )
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    if isinstance(domain, Boolean):
        return TRUTH_VALUES.get(text.lower())
    if isinstance(domain, Subset):
        return [member.strip() for member in cell.split(MEMBERS_APART) if member.strip()]
    return _read_number(domain, text) if isinstance(domain, Number) else cell


def _read_number(domain: Number, text: str) -> int | Decimal | None:
    number = _decimal(text)
    is_whole = number is not None and number.adjusted() <= MOST_DIGITS and number == number.to_integral_value()
    return int(number) if number is not None and is_whole and isinstance(domain, Count) else number


def _expected(domain: Domain) -> str:
    """Return what a cell may state, in words."""
    match domain:
        case Boolean():
            return "true or false, yes or no, 1 or 0"
        case Subset():
            return f"members with {MEMBERS_APART!r} between them, {MEMBERS_APART!r} alone for none: {domain.expected}"
        case Cross():
            both = "; and ".join(_expected(part) for part in (domain.first, domain.second))
            return f"a pair with {MEMBERS_APART!r} between: {both}"
    return domain.expected


def encode(metric: Metric, value: object) -> Answer:
    """Return an answer with the law by which the metric's own domain makes an input of it.

    Raises:
        DomainError: if it is outside the domain.

    """
    domain, inputs = metric.domain, metric.channel.inputs
    coin = _AskedCoin()
    if isinstance(domain, Subset):
        members = domain.members(value, coin)
        law = [(member, 1 / domain.max_items) for member in members]
        left = domain.max_items - len(members)
        law += [(inputs - 1, left / domain.max_items)] * (left > 0)
        return Answer(tuple(domain.values[member] for member in members), tuple(law))
    point = domain.encode(value, inputs, coin)
    chance = coin.numerator / COIN_SCALE
    law = [(point, 1 - chance), (point + 1, chance)] if chance else [(point, 1.0)]
    return Answer(value, tuple(law))  # type: ignore[arg-type] # what a domain encodes is an answer


def distinct(answers: Iterable[tuple[Answer, int]]) -> dict[Answer, int]:
    """Return how often each answer was given; two texts such as 1 and 1.0 state one."""
    counts: dict[Answer, int] = {}
    for answer, count in answers:
        counts[answer] = counts.get(answer, 0) + count
    return counts


class _AskedCoin:
    """Remembers the one coin that a domain's rounding tosses, which here always falls on the lower point."""

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
    except ArithmeticError:  # an exponent beyond what a Decimal holds
        return None
