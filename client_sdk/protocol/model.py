"""The kind ``model``: answers train a model that predicts a label from features.

There are two encodings of an answer:

* For vector mechanisms, the input is a vector of products of features and label. The mean of these
  vectors determines a linear model.
* For the mechanism ``crosses``, the input is one *cell* for each feature. The feature's values are
  divided into parts, and a cell is a pair of a part and a label. The shares of the cells determine
  the label's log-odds.

Both encodings consist of integers that are the same on every machine.

Source for the vector of products: Huggins, Adams & Broderick 2017, "PASS-GLM: polynomial
approximate sufficient statistics for scalable Bayesian GLM inference" (degree 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement, islice
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.key import Key, closed, listing, text, whole
from client_sdk.protocol.kinds.kind import NO_COINS, AskedMetric, Kind, Label, Law, NamedAnswer, refused
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.kinds.words import SHOWN, either, escaped, said
from client_sdk.protocol.mechanisms.crosses import BINS, bins_for, crosses_are_better
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import MAX_TEXT, MOST_DEVICES, TomlTable, is_moderate, is_number, is_text
from client_sdk.protocol.vector import NORM, UNIT, Ball, clipped, lifted
from client_sdk.protocol.wire.report import METRIC_NAME

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel
    from client_sdk.protocol.mechanisms.crosses import Crosses
    from client_sdk.protocol.requested_epsilon import RequestedEpsilon

LABEL: Final = "label"
"""The key of the label in an answer."""

MAX_INPUTS: Final = 88
"""The maximum total number of coordinates of all features. The products of more
coordinates would not fit into a vector of the maximum length."""

PRODUCTS, SQUARES, FEATURES, LABELS = 10, 5, 10, 3
"""The weights of the four parts of the vector of products: label * feature, feature * feature,
feature, and label. The whole vector has a fixed norm, so a larger weight for one part adds noise to
the other parts. docs/research/models.md compares these weights with alternatives."""

_WHOLE: Final = PRODUCTS**2 + SQUARES**2 + FEATURES**2 + LABELS**2


@dataclass(frozen=True, slots=True)
class ModelFeature:
    """A feature: a number, clipped to a range, or one of several values.

    Attributes:
        name: the feature's key in an answer.
        kind: the definition of the possible values.
        bins: the number of equal parts into which a number's range is divided; unused if the
            feature is not a number.
    """

    name: str
    kind: Number | Category
    bins: int = BINS

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the feature's coordinates.

        A number has one coordinate. A feature that is one of several values has one coordinate for
        each value except the first.
        """
        if isinstance(self.kind, Number):
            return (self.name,)
        return tuple(f"{self.name} = {value}" for value in self.kind.values[1:])

    @property
    def cells(self) -> int:
        """The number of parts: the number of bins for a number, otherwise the number of values."""
        return self.bins if isinstance(self.kind, Number) else self.kind.size

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the parts: the ends of each bin, or the values."""
        if isinstance(self.kind, Category):
            return self.kind.values
        low, step = self.kind.low, (self.kind.high - self.kind.low) / self.bins
        return tuple(f"{float(low + step * cell):g} to {float(low + step * (cell + 1)):g}" for cell in range(self.bins))

    def scaled(self, value: Fraction | int) -> Iterator[int]:
        """Yield the coordinates, from -`UNIT` to `UNIT`, for a ``value`` that `place` returned.

        `UNIT` represents a coordinate of 1. A number's range becomes -1..1, and two values become
        -1 and 1. If there are three or more values, each value except the first has a coordinate,
        which is 1 for this value and 0 for every other value.
        """
        if isinstance(self.kind, Number):
            yield round((2 * value - 1) * UNIT)
        elif self.kind.size == 2:  # noqa: PLR2004 two values
            yield UNIT if value else -UNIT
        else:
            yield from (UNIT * (value == other) for other in range(1, self.kind.size))

    def cell(self, value: Fraction | int) -> int:
        """Return the index of the part that contains a ``value`` that `place` returned."""
        return min(int(value * self.bins), self.bins - 1) if isinstance(self.kind, Number) else int(value)

    def answer_in(self, cell: int) -> object:
        """Return an answer in part number ``cell``: the middle of a bin, or a value."""
        if isinstance(self.kind, Category):
            return self.kind.values[cell]
        return self.kind.low + (self.kind.high - self.kind.low) * Fraction(2 * cell + 1, 2 * self.cells)

    def place(self, answer: object) -> Fraction | int:
        """Return a number's position in its range (0 to 1), or the index of a listed value."""
        try:
            if isinstance(self.kind, Number):
                return self.kind.position(answer)
            return self.kind.symbol(answer)
        except DomainError:
            what = "a number" if isinstance(self.kind, Number) else self.kind.expected
            raise DomainError(f"as {self.name} {what}") from None


@dataclass(frozen=True, slots=True)
class Observation:
    """The features, in the registry's order, and the label that a model predicts from them.

    Attributes:
        features: the definitions of the features; at least one, and all names differ.
        label: the definition of the label, which is a boolean or a number.
    """

    features: tuple[ModelFeature, ...]
    label: Boolean | Number

    @property
    def is_of_yes_and_no(self) -> bool:
        """Whether the label is a boolean."""
        return isinstance(self.label, Boolean)

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of an answer: the names of the features, then ``label``."""
        return (*(feature.name for feature in self.features), LABEL)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates of all features."""
        return tuple(name for feature in self.features for name in feature.coordinates)

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        return f"a mapping with the keys {', '.join(self.names)} and no other"

    @property
    def definition(self) -> dict[str, object]:
        """The features and the label, in the form that `Metric.edition` hashes."""
        features = [{"name": each.name, "kind": each.kind.name, **each.kind.definition} for each in self.features]
        return {"features": features, "label": {"kind": self.label.name, **self.label.definition}}

    @property
    def python_type(self) -> str:
        """The type of an answer: a mapping from names to values."""
        return "Mapping[str, float | Decimal | Fraction | str | bool]"

    def extremes(self) -> Sequence[NamedAnswer]:
        """Return two answers, which contain the first or the last possible value of every feature.

        For numbers, the first value is the minimum, and the last value is the maximum.
        """
        return tuple(
            NamedAnswer(
                {each.name: _end(each.kind, end) for each in self.features} | {LABEL: _end(self.label, end)},
                "everything last" if end else "everything first",
            )
            for end in (0, -1)
        )

    def statement(self, say: Sentences) -> Iterator[str]:
        """Yield a line for users about the features."""
        yield say("statement.model", features=", ".join(map(escaped, self.names[:-1])))

    def read(self, answer: object) -> tuple[list[Fraction | int], int]:
        """Return each feature's value as `place` returns it, and the label.

        The label is an integer from -`UNIT` to `UNIT`.

        Raises:
            DomainError: if a key is missing or unknown, or a value is invalid. The error contains
                no value.
        """
        if not isinstance(answer, Mapping) or set(answer) != set(self.names):
            raise DomainError
        places = [feature.place(answer[feature.name]) for feature in self.features]
        return places, self._label(answer[LABEL])

    def _label(self, answer: object) -> int:
        try:
            if isinstance(self.label, Number):
                return round((2 * self.label.position(answer) - 1) * UNIT)
            return UNIT if self.label.symbol(answer) else -UNIT
        except DomainError:
            what = "a number" if isinstance(self.label, Number) else self.label.expected
            raise DomainError(f"as {LABEL} {what}") from None


def _end(kind: Boolean | Category | Number, end: int) -> object:
    return (kind.low, kind.high)[end] if isinstance(kind, Number) else kind.labels[end]


_FEATURES: Final = 'must list features, such as { name = "age", low = 18, high = 90 } or { name = "sex", values = […] }'
_LABEL: Final = 'must be "boolean", or the range of a number: { low = 0, high = 10 }'
_NAME: Final = {"type": "string", "pattern": f"^{METRIC_NAME.pattern}$"}
_ENDS: Final = {"low": {"type": "number"}, "high": {"type": "number"}}
_VALUES: Final = listing(text() | {"description": "a value"}, 2, MAX_INPUTS + 1) | {"uniqueItems": True}


def _read_features(table: TomlTable, key: Key, _: Mapping[str, Any]) -> tuple[ModelFeature, ...] | None:
    raw = table.take(key.name, required=True)
    if raw is None:
        return None
    read = [_feature(each) for each in raw] if isinstance(raw, list) else []
    features = tuple(feature for feature in read if feature is not None)
    if not features or len(features) < len(read):
        place = "" if not read or read[0] is None else f"; number {read.index(None) + 1} is not a feature"
        table.mistake("features", f"{_FEATURES}{place}")
        return None
    names = [feature.name for feature in features]
    if len(set(names)) < len(names) or LABEL in names:
        table.mistake("features", f"must have different names other than {LABEL}")
        return None
    return features


def _feature(raw: Any) -> ModelFeature | None:  # noqa: ANN401 any TOML value
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str) or not METRIC_NAME.fullmatch(raw["name"]):
        return None
    kind = _category(raw["values"]) if raw.keys() == {"name", "values"} else _range(raw, {"name", "low", "high"})
    return None if kind is None else ModelFeature(raw["name"], kind)


def _category(raw: Any) -> Category | None:  # noqa: ANN401 any TOML value
    if not isinstance(raw, list) or not 2 <= len(raw) <= MAX_INPUTS + 1:  # noqa: PLR2004 a single value carries no information
        return None
    if not all(is_text(value, MAX_TEXT) for value in raw) or len(set(raw)) < len(raw):
        return None
    return Category(tuple(raw))


def _range(raw: dict[str, Any], keys: set[str]) -> Number | None:
    if raw.keys() != keys or not all(is_number(raw[end]) and is_moderate(raw[end]) for end in ("low", "high")):
        return None
    low, high = Fraction(raw["low"]), Fraction(raw["high"])
    return Number(low, high, "mean") if low < high else None


def _read_label(table: TomlTable, key: Key, _: Mapping[str, Any]) -> Boolean | Number | None:
    raw = table.take(key.name, required=True)
    if raw is None:
        return None
    label = Boolean() if raw == "boolean" else _range(raw, {"low", "high"}) if isinstance(raw, dict) else None
    if label is None:
        table.mistake(LABEL, _LABEL)
    return label


class _OfFeatures(Kind):
    """The base class of the two encodings, `Model` and `CrossedModel`.

    An answer maps the features and the label to values.
    """

    __slots__ = ()

    refused: ClassVar[Mapping[str, str]] = refused(
        permanent_epsilon="does not apply to a model, because each report may reveal something else",
        fill_in="does not apply to a model; record an answer in every window instead",
    )
    is_named: ClassVar[bool] = False
    has_samples: ClassVar[bool] = False

    observation: Observation

    @property
    def expected(self) -> str:
        return self.observation.expected

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:  # noqa: ARG002 used by kinds of numbers
        return self.observation.extremes()

    @property
    def python_type(self) -> str:
        return self.observation.python_type


@dataclass(frozen=True, slots=True)
class Model(_OfFeatures, Ball):
    """Features and a label, encoded as the vector of their products, for a linear model.

    Attributes:
        observation: the features and the label.
        radius: the maximum norm of the vector of scaled features, times `UNIT`.
        population: the expected number of devices, on which the mechanism that ``auto`` chooses
            depends; None if unknown.
    """

    name: ClassVar[str] = "model"
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "features",
            listing(
                {"anyOf": [closed({"name": _NAME} | _ENDS, 3), closed({"name": _NAME, "values": _VALUES}, 2)]}, 1, 88
            ),
            "the features of a model; each is a number with its range, or has a list of values",
            read=_read_features,
        ),
        Key(
            LABEL,
            {"anyOf": [{"enum": ["boolean"]}, closed(_ENDS, 2)]},
            "the label that a model predicts",
            read=_read_label,
        ),
        Key(
            "population",
            whole(MOST_DEVICES),
            "the expected number of devices that report about a model; the automatic choice of a mechanism needs it",
            required=False,
        ),
        NORM._replace(required=False),
    )
    norm: ClassVar[Fraction] = Fraction(1)  # type: ignore[misc] # a field in other kinds

    observation: Observation
    radius: int
    population: int | None = field(default=None, compare=False)

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:
        """Return the model; None if its features have too many coordinates."""
        observation = Observation(values["features"], values["label"])
        inputs = len(observation.coordinates)
        if inputs > MAX_INPUTS:
            have = f"have {inputs} coordinates (one per number; one per value of a list, except the first)"
            table.mistake("features", f"{have}; at most {MAX_INPUTS} are supported")
            return None
        return replace(cls.with_norm(observation, values["norm"]), population=values["population"])

    @classmethod
    def with_norm(cls, observation: Observation, norm: Fraction | None = None) -> Model:
        """Return a model that shortens vectors of scaled features to a norm of at most ``norm``.

        The default norm is the square root of half the number of the features' coordinates.
        """
        inputs = len(observation.coordinates)
        return cls(observation, isqrt(UNIT**2 * inputs // 2) if norm is None else round(norm * UNIT))

    @property
    def length(self) -> int:  # type: ignore[override] # a field in other kinds
        """The number of coordinates of the vector of products."""
        return length_for(len(self.observation.coordinates))

    def fitted(self, table: TomlTable, epsilon: RequestedEpsilon, mechanism: str) -> Kind:
        """Return the kind that encodes answers for the mechanism: this kind or a `CrossedModel`."""
        may_cross, features = isinstance(self.observation.label, Boolean), len(self.observation.features)
        if mechanism not in ("auto", "rotated-axes", "crosses"):
            table.mistake("mechanism", "must be a mechanism for models: auto, rotated-axes or crosses")
        if mechanism == "crosses" and not may_cross:
            table.mistake("mechanism", "'crosses' is for a label of yes or no; use 'auto' or 'rotated-axes'")
        if mechanism == "auto" and self.population is None and may_cross:
            table.mistake(
                "population",
                "is missing; set it to the number of devices that will report, because auto depends on it",
            )
        if mechanism == "auto" and self.population is not None and may_cross:
            inputs = len(self.observation.coordinates)
            is_better = crosses_are_better(features, inputs, epsilon.odds, self.population)
            mechanism = "crosses" if is_better else "rotated-axes"
        if mechanism != "crosses":
            return self
        return CrossedModel.with_bins(self.observation, bins_for(features, epsilon.odds, self.population))

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return self.observation.definition | {"radius": self.radius}

    def vector(self, answer: object, inputs: int) -> tuple[int, ...]:
        """Return an answer's encoding, a vector of ``inputs`` integers whose norm is `UNIT`."""
        places, label = self.observation.read(answer)
        scaled = [
            each
            for feature, place in zip(self.observation.features, places, strict=True)
            for each in feature.scaled(place)
        ]
        shortened = clipped([_truncated(value * UNIT, self.radius) for value in scaled])
        return lifted(products(shortened, label), inputs)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield lines for users about the features and the length of their vector."""
        yield from self.observation.statement(say)
        yield say("statement.vector", length=self.length)


@dataclass(frozen=True, slots=True)
class CrossedModel(_OfFeatures):
    """Features and a yes-or-no label. Each report is about one feature and the label.

    Attributes:
        observation: the label and the features. The ranges of all numbers are divided into the same
            number of parts.
    """

    name: ClassVar[str] = "model-of-crosses"
    shapes: ClassVar[tuple[str, ...]] = ("features",)

    observation: Observation

    @classmethod
    def with_bins(cls, observation: Observation, bins: int = BINS) -> CrossedModel:
        """Return the model that divides each number's range into ``bins`` equal parts."""
        return cls(replace(observation, features=tuple(replace(each, bins=bins) for each in observation.features)))

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return self.observation.definition | {"bins": self.observation.features[0].bins}

    @property
    def pairs(self) -> tuple[int, ...]:
        """For each feature, the number of pairs of a part and a label."""
        return tuple(2 * feature.cells for feature in self.observation.features)

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[int, ...]:  # noqa: ARG002 used by other kinds
        """Return, for each feature, the number 2 * part + label, where the label is 0 or 1."""
        places, label = self.observation.read(answer)
        return tuple(
            2 * feature.cell(place) + (label > 0)
            for feature, place in zip(self.observation.features, places, strict=True)
        )

    def law(self, answer: object, inputs: int) -> Law:
        """Map the only possible input for an answer to its probability, which is 1."""
        return {self.encode(answer, inputs, NO_COINS): Fraction(1)}

    def draw(self, inputs: int, coins: Coins) -> tuple[int, ...]:  # noqa: ARG002 used by other kinds
        """Return a uniformly drawn pair for each feature, to replace an invalid answer."""
        return tuple(coins.below(pairs) for pairs in self.pairs)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield lines for users about the features, and about the random choice of one feature."""
        yield from self.observation.statement(say)
        yield say("statement.crosses")

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:  # noqa: ARG002
        """Return the most likely pairs of a part and a label for a symbol, in words."""
        crosses = cast("Crosses", channel)  # no other channel has features
        place, own = crosses.feature_of(symbol)
        feature = self.observation.features[place]
        cells = islice(crosses.features[place].likeliest(own), SHOWN + 1)
        named = (
            say("reported.labeled", answer=feature.labels[cell // 2], label=said(cell % 2 > 0, say)) for cell in cells
        )
        return say("reported.feature", feature=feature.name, answers=either(named, say))


def length_for(inputs: int) -> int:
    """Return the length of the vector of products if the features have ``inputs`` coordinates."""
    return inputs * (inputs + 1) // 2 + 2 * inputs + 1


def products(features: Sequence[int], label: int) -> list[int]:
    """Return the weighted coordinates of the vector of products.

    The coordinates are label * feature i, feature i * feature j for i <= j, feature i, and the
    label. ``features`` are scaled, with a norm of at most `UNIT`. ``label`` is from -`UNIT` to
    `UNIT`.
    """
    of_label, of_square, of_pair, of_feature, of_itself = weights()
    square = UNIT**2
    return [
        *(_truncated(of_label * label * value, square) for value in features),
        *(
            _truncated((of_square if i == j else of_pair) * features[i] * features[j], square)
            for i, j in combinations_with_replacement(range(len(features)), 2)
        ),
        *(_truncated(of_feature * value, UNIT) for value in features),
        _truncated(of_itself * label, UNIT),
    ]


def weights() -> tuple[int, int, int, int, int]:
    """Return the weights of five types of products, multiplied by `UNIT`.

    The types are: label * feature, square, pair, feature, and label.

    A square is the product of a feature with itself. A pair is the product of two different
    features. A pair has a larger weight, because it represents two entries of a symmetric matrix,
    (i, j) and (j, i).
    """
    squares = (PRODUCTS**2, SQUARES**2, 2 * SQUARES**2, FEATURES**2, LABELS**2)
    label, square, pair, feature, itself = (isqrt(UNIT**2 * each // _WHOLE) for each in squares)
    return label, square, pair, feature, itself


def _truncated(dividend: int, divisor: int) -> int:
    """Return the quotient rounded towards 0, so that no vector becomes longer."""
    return abs(dividend) // divisor * (-1 if dividend < 0 else 1)
