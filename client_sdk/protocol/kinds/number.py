"""The kinds of numbers: numbers in a range or between thresholds, counts, and days of use."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Final

from client_sdk.protocol.epsilon import exp_floor, ln_ceiling
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.encoding import Labels
from client_sdk.protocol.kinds.grid import BEYOND, Grid, Ratio, exact, ratio_of
from client_sdk.protocol.kinds.key import FLAG, NUMBER, Key, listing, read_by_schema, whole
from client_sdk.protocol.kinds.kind import AskedMetric, Fill, Kind, Label, refused
from client_sdk.protocol.kinds.words import either, with_unit
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable, is_moderate, is_number

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel

STATISTICS: Final = ("mean", "distribution", "quantiles")
"""The statistics that can be estimated for a number."""

MAX_COUNT: Final = 10**15
"""The largest ``max`` of a count. Estimates are floats, which represent integers up to this maximum
exactly."""

PERIODS: Final = (7, 28)
"""The possible lengths of an activity's period, in days. A period of whole weeks contains each
weekday equally often.
"""

SAMPLES: Final = 1024
"""The maximum number of answers that `Kind.samples` returns for a number or a count."""

REMEMBERED: Final = 64
"""The maximum number of ranges for which the logarithms of both ends are cached. Without the cache,
each answer would need three logarithms instead of one."""

LOG_STEPS: Final = 64
"""The number of binary digits after the point in a logarithm. A coin's probability has equally many
binary digits."""

LOG_DIGITS: Final = 128
"""The number of binary digits after the point in intermediate results. Each squaring doubles the
error, so half of the digits are valid after the last squaring. The computed logarithm is the true
logarithm rounded down to `LOG_STEPS` digits, or one step less. The computed logarithm never
decreases as the number increases."""

MOST_DIGITS: Final = 400
"""The maximum number of digits of a count in a table cell. Converting more digits would be slow."""

MOST_THRESHOLDS: Final = 10
"""The maximum number of thresholds. If a metric needs more thresholds, quantiles that are estimated
without thresholds are more precise."""

DECIMAL_NUMBER: Final = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
"""The format of a number in spreadsheets. Python's `float` would also accept 1_000 and NaN."""

STATISTIC: Final = Key(
    "statistic", {"enum": list(STATISTICS)}, "the statistic to estimate; for an ordinal, only the mean"
)

CLIP: Final = Key(
    "clip",
    FLAG,
    "whether a number or a count outside the range is clipped to the nearer end (default: true); if false, such an "
    "answer is invalid, and a random answer is reported instead",
    required=False,
)

SCALE: Final = Key(
    "scale",
    {"enum": ["log"]},
    'for a number x with statistic = "mean": estimate the mean of log(1 + x), and print the geometric mean; '
    "useful if numbers span orders of magnitude",
    required=False,
)


def decimal_in(cell: str) -> Decimal | None:
    """Return the number in a table cell; None if the cell contains no number."""
    if not re.fullmatch(DECIMAL_NUMBER, cell.strip(), re.ASCII):
        return None
    try:
        return Decimal(cell.strip())
    except ArithmeticError:  # the exponent is too large for a Decimal
        return None


def _read_high(table: TomlTable, key: Key, values: Mapping[str, Any]) -> Fraction | None:
    low, high = values["low"], table.number(key.name)
    if low is not None and high is not None and low >= high:
        table.mistake(key.name, "must be above low")
        return None
    return high


def _read_thresholds(table: TomlTable, key: Key, values: Mapping[str, Any]) -> tuple[Fraction, ...] | None:
    raw, (low, high, statistic) = table.take(key.name), (values[name] for name in ("low", "high", "statistic"))
    if raw is None or low is None or high is None or statistic is None:
        return None
    if statistic != "quantiles":
        table.mistake(key.name, 'is only for statistic = "quantiles"; use that, or remove thresholds')
        return None
    is_listed = isinstance(raw, list) and 1 <= len(raw) <= MOST_THRESHOLDS
    if not is_listed or not all(is_number(each) and is_moderate(each) for each in raw):
        table.mistake(key.name, f"must be a list of 1 to {MOST_THRESHOLDS} numbers")
        return None
    thresholds = tuple(map(Fraction, raw))
    if any(before >= after for before, after in pairwise((low, *thresholds))) or thresholds[-1] > high:
        table.mistake(key.name, "must be in ascending order, above low and at most high")
        return None
    return thresholds


def _read_scale(table: TomlTable, key: Key, values: Mapping[str, Any]) -> str | None:
    scale: str | None = read_by_schema(table, key, values)
    low, high = values["low"], values["high"]
    if scale and values["statistic"] not in {None, "mean"}:
        table.mistake(key.name, 'needs statistic = "mean"; change it, or remove this key')
    elif scale and None not in {low, high} and not (low >= 0 and high >= 2 * low + 1):
        table.mistake(key.name, "needs low >= 0 and high >= 2 * low + 1; remove it")
    return scale


class _Numeric(Grid):
    """The base class of numbers and counts. Numbers outside the range are clipped or invalid.

    Attributes:
        clip: whether a number outside the range counts as the nearer end of the range.
        scale: ``log`` if logarithms are averaged; otherwise empty.
    """

    __slots__ = ()

    statistics: ClassVar[tuple[str, ...]] = STATISTICS

    scale: ClassVar[str] = ""

    clip: bool

    @property
    def unclipped(self) -> dict[str, object]:
        """The entry in `definition` if numbers are not clipped; empty if numbers are clipped."""
        return {} if self.clip else {"clip": False}

    def counted(self, say: Sentences, unit: str = "") -> str:
        if not self.clip:
            return ""
        low, high = (with_unit(end, unit, say) for end in (self.low, self.high))
        return say("counted.between", low=low, high=high) if self.low else say("counted.up_to", high=high)

    def ranged(self, key: str, unit: str, say: Sentences) -> str:
        """Return a line for users about the range and about clipping."""
        if counted := self.counted(say, unit):
            return say(f"{key}.clipped", counted=counted)
        low, high = (with_unit(end, unit, say) for end in (self.low, self.high))
        return say(f"{key}.within", low=low, high=high)

    def part(self, answer: object) -> Ratio:
        """Return an answer's position in the range, from 0 to 1."""
        number, unit = ratio_of(answer)
        low, low_unit = self.low.as_integer_ratio()
        high, high_unit = self.high.as_integer_ratio()
        below = (number * low_unit - low * unit) * high_unit
        whole = (high * low_unit - low * high_unit) * unit
        clipped = min(max(below, 0), whole)
        if clipped != below and not self.clip:
            raise DomainError
        return clipped, whole

    def parse(self, cell: str) -> object:
        number = decimal_in(cell)
        if number is None:
            return None
        is_integer = number.adjusted() <= MOST_DIGITS and number == number.to_integral_value()
        stated = int(number) if self.is_whole and is_integer else number
        self.within(stated)
        return stated

    @property
    def python_type(self) -> str:
        return "float | Decimal | Fraction"

    @property
    def typescript_type(self) -> str:
        return "number | bigint"


@dataclass(frozen=True, slots=True)
class Number(_Numeric):
    """A number from ``low`` to ``high``.

    The mean, distribution or quantiles of the numbers on all devices are estimated.

    If ``clip`` is true, the statistic describes the clipped numbers. Otherwise, a number outside
    the range is invalid.
    """

    name: ClassVar[str] = "number"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("low", NUMBER, "the minimum answer"),
        Key("high", NUMBER, "the maximum answer", read=_read_high),
        STATISTIC,
        CLIP,
        Key(
            "thresholds",
            listing(NUMBER, 1, MOST_THRESHOLDS) | {"uniqueItems": True},
            'with statistic = "quantiles": numbers that divide the range into parts; a report then names only a part',
            required=False,
            read=_read_thresholds,
        ),
        SCALE._replace(read=_read_scale),
    )
    refused: ClassVar[Mapping[str, str]] = refused("unit", "fill_value")
    unshared: ClassVar[str] = (
        'reports only a part of the range; use statistic = "quantiles" with thresholds, or mechanism = "auto"'
    )

    low: Fraction
    high: Fraction
    statistic: str = field()  # no default here, unlike in other kinds
    clip: bool = field(default=True, kw_only=True)

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 used by other kinds
        """Return a `Thresholds`, a `LogNumber` or a `Number`, depending on the keys."""
        range_and_statistic, clip = (values["low"], values["high"], values["statistic"]), values["clip"] is not False
        if values["thresholds"] is not None:
            return Thresholds(*range_and_statistic, clip=clip, thresholds=values["thresholds"])
        kind = LogNumber if values["scale"] else cls
        return kind(*range_and_statistic, clip=clip)

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        return f"a finite number from {float(self.low):g} to {float(self.high):g}"

    @property
    def definition(self) -> dict[str, object]:
        """The range and the statistic, in the form that `Metric.edition` hashes.

        Fractions are strings.
        """
        scaled = {"scale": self.scale} if self.scale else {}
        return {"low": str(self.low), "high": str(self.high), "statistic": self.statistic} | self.unclipped | scaled

    def samples(self) -> Iterable[object]:
        """Return the midpoints of `SAMPLES` equal parts of the range."""
        cell = (self.high - self.low) / SAMPLES
        return [self.low + cell * Fraction(2 * number + 1, 2) for number in range(SAMPLES)]

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield a sentence for users about the range and about clipping."""
        yield self.ranged("statement.number", asked.unit, say)


def log_units(number: Fraction) -> int:
    """Return the base-2 logarithm of a number of at least 1, in steps of 2**-64.

    The number is divided by the largest power of 2 that is not above the number. Each squaring of
    the quotient yields a binary digit of the logarithm: 1 if the square is at least 2, otherwise 0
    (Knuth, The Art of Computer Programming 1, section 1.2.2, exercise 25).

    >>> log_units(Fraction(8)) == 3 * 2**64
    True
    """
    power = (number.numerator // number.denominator).bit_length() - 1
    rest, units = (number.numerator << LOG_DIGITS) // (number.denominator << power), power
    for _ in range(LOG_STEPS):
        rest = rest * rest >> LOG_DIGITS
        digit = rest >> LOG_DIGITS + 1
        rest, units = rest >> digit, 2 * units + digit
    return units


@lru_cache(maxsize=REMEMBERED)
def _log_ends(low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return `log_units` of 1 + low and of 1 + high, cached. Answers are never cached."""
    return log_units(1 + low), log_units(1 + high)


@dataclass(frozen=True, slots=True)
class LogNumber(Number):
    """A number of at least 0. The geometric mean over all devices is estimated.

    The grid points are numbers x for which log(1 + x) is equally spaced. From the reports, the
    estimator computes the mean of log(1 + x).
    """

    scale: ClassVar[str] = "log"

    def part(self, answer: object) -> Ratio:
        """Return an answer's position in the range, from 0 to 1.

        The position is linear in log(1 + x), where x is the answer.
        """
        low, high = _log_ends(self.low, self.high)
        return log_units(1 + self.within(answer)) - low, high - low

    def within(self, answer: object) -> Fraction:
        """Return an answer as a number in the range. Clip the answer if `clip` is true."""
        return self.low + (self.high - self.low) * Fraction(*Number.part(self, answer))

    def number_at(self, point: int, points: int) -> Fraction:
        """Return the number that a grid point represents, with about fifty digits.

        The grid has ``points`` points, and ``point`` counts from 0.
        """
        first, last = ln_ceiling(1 + self.low), ln_ceiling(1 + self.high)
        number = exp_floor(first + (last - first) * Fraction(point, points - 1)) - 1
        return min(max(number, self.low), self.high)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield sentences for users about the range and the reported order of magnitude."""
        yield from Number.statement(self, asked, say)
        yield say("statement.log")


class _Whole(_Numeric):
    """The base class of counts and days of use, which are integers of at least 0."""

    __slots__ = ()

    low: ClassVar[Fraction] = Fraction(0)  # type: ignore[misc] # a field in other kinds
    takes_fill_value: ClassVar[bool] = True
    unshared: ClassVar[str] = (
        'estimates the share of every count; use statistic = "distribution", or mechanism = "auto"'
    )

    @property
    def shapes(self) -> tuple[str, ...]:  # type: ignore[override] # a field in other kinds
        return ("grid",) if self.size is None else ("grid", "labels")

    @property
    def is_whole(self) -> bool:
        return True

    @property
    def most(self) -> int:
        return int(self.high)

    @property
    def expected(self) -> str:
        return f"a whole number from 0 to {self.high}"

    @property
    def size(self) -> int | None:
        return None if self.statistic == "mean" else int(self.high) + 1

    @property
    def labels(self) -> Sequence[int]:
        return range(self.size or 0)

    def part(self, answer: object) -> Ratio:
        """Return a count's position in the range, from 0 to 1."""
        if not isinstance(answer, Integral) and abs(exact(answer)) < BEYOND:
            raise DomainError
        return _Numeric.part(self, answer)

    def samples(self) -> Iterable[object]:
        return sorted({int(self.high * step / (SAMPLES - 1)) for step in range(SAMPLES)})


@dataclass(frozen=True, slots=True)
class Count(_Whole):
    """A whole number from 0 to ``high``. The registry's key for ``high`` is ``max``."""

    name: ClassVar[str] = "count"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("max", whole(MAX_COUNT), "the maximum count"),
        STATISTIC,
        CLIP,
    )
    refused: ClassVar[Mapping[str, str]] = refused("unit", "fill_value", "persist")
    call: ClassVar[str] = "count"

    high: Fraction
    statistic: str = field()  # no default here, unlike in other kinds
    clip: bool = field(default=True, kw_only=True)

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 used by other kinds
        """Return the `Count` that the keys define."""
        return cls(Fraction(values["max"]), values["statistic"], clip=values["clip"] is not False)

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return {"max": int(self.high), "statistic": self.statistic} | self.unclipped

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield a sentence for users about the range and about clipping."""
        yield self.ranged("statement.count", asked.unit, say)


@dataclass(frozen=True, slots=True)
class Activity(_Whole):
    """The number of days on which the app was used, within a period of ``high`` days.

    The registry's key for the period is ``days``. The period ends with the last day of the report's
    window.
    """

    name: ClassVar[str] = "activity"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("days", {"enum": list(PERIODS)}, "the number of days that a report on activity covers"),
        STATISTIC,
    )
    refused: ClassVar[Mapping[str, str]] = refused(
        "unit", persist="does not apply to an activity, whose days are always stored; remove it"
    )
    call: ClassVar[str] = "active"
    always_persists: ClassVar[bool] = True
    unit: ClassVar[str] = "days"
    clip: ClassVar[bool] = True  # type: ignore[misc] # a field in other kinds

    high: Fraction
    statistic: str = field()  # no default here, unlike in other kinds

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 used by other kinds
        """Return the `Activity` that the keys define."""
        return cls(Fraction(values["days"]), values["statistic"])

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return {"days": int(self.high), "statistic": self.statistic}

    def counted(self, say: Sentences, unit: str = "") -> str:  # noqa: ARG002 used by other kinds
        """Return an empty string, because days of use are never outside the range."""
        return ""

    def fill(self, table: TomlTable, value: Fraction | None) -> Fill | None:  # noqa: ARG002 used by other kinds
        """Return 0 days as a placeholder.

        The device replaces the placeholder with the number of days of use.
        """
        return Fill(0)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield a sentence for users about the days that a report covers."""
        yield say(f"statement.activity.{asked.window}", days=int(self.high))

    @property
    def browser_refusal(self) -> str:
        """Why the browser SDK does not support the metric."""
        return "an activity needs stored days of use, which this SDK does not keep"


@dataclass(frozen=True, slots=True)
class Thresholds(Labels, Number):
    """A number in one of several cells. Cell j begins at ``thresholds[j - 1]``.

    T thresholds divide the range into T + 1 cells, which are reported like the values of a
    category. Input j of the channel is cell j. The share of answers that reach a threshold is the
    sum of the shares of all cells above the threshold.

    A channel that minimizes the variance of the cells' shares also minimizes the variance of shares
    above thresholds. Suppose that all k cells are equally likely, and that the channel treats all
    pairs of cells alike. If V is the variance of one cell's estimated share, the estimated total
    share of the n highest cells has variance V n (k - n) / (k - 1), which is proportional to V.
    Reports about one randomly drawn threshold never give more precise estimates than reports about
    cells do. For up to `MOST_THRESHOLDS` thresholds, reports about nodes in a tree of cells
    (`hierarchical`) give estimates that are at most 3% more precise.

    Attributes:
        thresholds: numbers in ascending order, above ``low`` and at most ``high``.
    """

    refused: ClassVar[Mapping[str, str]] = refused(
        "unit", "fill_value", permanent_epsilon="does not apply to thresholds; remove it"
    )

    thresholds: tuple[Fraction, ...] = field(kw_only=True)

    @property
    def ends(self) -> tuple[Fraction, ...]:
        """The ends of the cells: the minimum, the thresholds and the maximum."""
        return self.low, *self.thresholds, self.high

    @property
    def labels(self) -> tuple[Label, ...]:
        """The two ends of each cell, as text. The upper end belongs to the next cell."""
        return tuple(f"{float(low):.12g} to {float(high):.12g}" for low, high in pairwise(self.ends))

    @property
    def answers(self) -> Sequence[object]:
        """The lower end of each cell."""
        return self.ends[:-1]

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return {**Number.definition.__get__(self), "thresholds": list(map(str, self.thresholds))}

    def symbol(self, answer: object) -> int:
        """Return the index of an answer's cell: the number of thresholds at or below the answer."""
        return bisect_right(self.thresholds, self.within(answer))

    def fill(self, table: TomlTable, value: Fraction | None) -> Fill | None:
        """Add a mistake to the table, because reports for quantiles require a recorded answer."""
        return Number.fill(self, table, value)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield a sentence for users about the ends of the cells."""
        ends = ", ".join(with_unit(end, "", say) for end in self.ends[:-1])
        yield say("statement.thresholds", ends=ends, high=with_unit(self.high, asked.unit, say))

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:  # noqa: ARG002
        """Return the most likely cells for a symbol, in words."""
        cells = list(pairwise(with_unit(end, "", say) for end in self.ends))
        named = (cells[each] for each in channel.likeliest(symbol))
        return either((say("reported.range", low=low, high=high) for low, high in named), say)
