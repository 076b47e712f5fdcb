"""What a model is learned from: a few features of a device, and a label that they are to predict.

Two kinds of answer are made of the same features. For a mechanism of vectors it is one vector of
products, from whose mean a linear model follows. For crosses it is a cell of each feature, together
with the label, from which log-odds follow. Both are integers on every machine.

Source of the products: Huggins, Adams & Broderick 2017, "PASS-GLM: polynomial approximate
sufficient statistics for scalable Bayesian GLM inference" (degree 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import isqrt
from typing import ClassVar, Final

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import Category
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.number import Number
from client_sdk.protocol.domain.vector import UNIT, Vector, clipped, lifted

LABEL: Final = "label"
"""The key of the label in an answer."""

MAX_INPUTS: Final = 88
"""The most coordinates of all features: their products fill the longest vector."""

BINS: Final = 6
"""The number of even parts of a number's range where it is crossed with the label."""

FEW_BINS: Final = 3
"""The same where few reports are expected, of which each cell has too few of its own."""

PRODUCTS, SQUARES, FEATURES, LABELS = 10, 5, 10, 3
"""The weights of the parts of the vector: label * feature, feature * feature, feature and label.
All share the norm, so that weight for one is noise for the others; docs/research/models.md has what
was tried.
"""

_WHOLE: Final = PRODUCTS**2 + SQUARES**2 + FEATURES**2 + LABELS**2


@dataclass(frozen=True, slots=True)
class ModelFeature:
    """One feature: a number, which is clipped to its range, or one of several values.

    Attributes:
        name: its key in an answer.
        domain: what it may be.
        bins: into how many even parts the range of a number is cut; values have none.

    """

    name: str
    domain: Number | Category
    bins: int = BINS

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of its coordinates.

        A number or two values have one. Of more values, each but the first has one.
        """
        if isinstance(self.domain, Number):
            return (self.name,)
        return tuple(f"{self.name} = {value}" for value in self.domain.values[1:])

    @property
    def cells(self) -> int:
        """The number of cells: the bins of a number, or the values."""
        return self.bins if isinstance(self.domain, Number) else self.domain.size

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the cells."""
        if isinstance(self.domain, Category):
            return self.domain.values
        low, step = self.domain.low, (self.domain.high - self.domain.low) / self.bins
        return tuple(f"{float(low + step * cell):g} to {float(low + step * (cell + 1)):g}" for cell in range(self.bins))

    def scaled(self, value: Fraction | int) -> Iterator[int]:
        """Yield the coordinates of what `place` returns, each from -`UNIT` to `UNIT`.

        A number is spread evenly; the first of two values is -1 and the second 1. Of more values,
        each but the first has a coordinate, which is 1 for it and else 0.
        """
        if isinstance(self.domain, Number):
            yield round((2 * value - 1) * UNIT)
        elif self.domain.size == 2:  # noqa: PLR2004 two values
            yield UNIT if value else -UNIT
        else:
            yield from (UNIT * (value == other) for other in range(1, self.domain.size))

    def cell(self, value: Fraction | int) -> int:
        """Return the cell of a position or a value, as `place` returns it."""
        return min(int(value * self.bins), self.bins - 1) if isinstance(self.domain, Number) else int(value)

    def place(self, answer: object, coins: Coins) -> Fraction | int:
        """Return where in its range a number lies, from 0 to 1, or which value it is, from 0.

        Raises:
            DomainError: naming the feature, without the answer.

        """
        try:
            if isinstance(self.domain, Number):
                return self.domain.position(answer)
            return self.domain.encode(answer, self.domain.size, coins)
        except DomainError:
            what = "a number" if isinstance(self.domain, Number) else self.domain.expected
            raise DomainError(f"as {self.name} {what}") from None


@dataclass(frozen=True, slots=True)
class Observation:
    """What an answer holds: all features, in the registry's order, and the label.

    Attributes:
        features: at least one, with different names.
        label: yes or no, or a number.

    """

    features: tuple[ModelFeature, ...]
    label: Boolean | Number

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of an answer."""
        return (*(feature.name for feature in self.features), LABEL)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates of all features."""
        return tuple(name for feature in self.features for name in feature.coordinates)

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a mapping with the keys {', '.join(self.names)} and no other"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes features and label."""
        features = [{"name": each.name, "kind": each.domain.kind, **each.domain.definition} for each in self.features]
        return {"features": features, "label": {"kind": self.label.kind, **self.label.definition}}

    def read(self, answer: object, coins: Coins) -> tuple[list[Fraction | int], int]:
        """Return the place of each feature, and the label from -`UNIT` to `UNIT`.

        Raises:
            DomainError: if the answer has other keys, or a value is outside its domain. It holds no
                value.

        """
        if not isinstance(answer, Mapping) or set(answer) != set(self.names):
            raise DomainError
        places = [feature.place(answer[feature.name], coins) for feature in self.features]
        return places, self._label(answer[LABEL], coins)

    def _label(self, answer: object, coins: Coins) -> int:
        try:
            if isinstance(self.label, Number):
                return round((2 * self.label.position(answer) - 1) * UNIT)
            return UNIT if self.label.encode(answer, self.label.size, coins) else -UNIT
        except DomainError:
            what = "a number" if isinstance(self.label, Number) else self.label.expected
            raise DomainError(f"as {LABEL} {what}") from None


@dataclass(frozen=True, slots=True)
class Model(Vector):
    """Features and a label as one vector of norm 1: their products, to fit a linear model.

    Attributes:
        observation: the features and the label.
        radius: the greatest length of the scaled features together, in steps of 1 / `UNIT`; longer
            ones are shortened.

    """

    kind: ClassVar[str] = "model"

    observation: Observation
    radius: int

    @classmethod
    def of(cls, observation: Observation, norm: Fraction | None = None) -> Model:
        """Return the model of features whose length is at most the norm.

        That is the root of half their number, unless the registry says otherwise.
        """
        inputs = len(observation.coordinates)
        radius = isqrt(UNIT**2 * inputs // 2) if norm is None else round(norm * UNIT)
        return cls(length_for(inputs), Fraction(1), observation, radius)

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return self.observation.expected

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return self.observation.definition | {"radius": self.radius}

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[int, ...]:
        """Return a vector of ``inputs`` integers and of norm `UNIT`, up to rounding.

        Raises:
            DomainError: if the answer is no mapping from every feature and the label to a value of
                its domain.

        """
        places, label = self.observation.read(answer, coins)
        scaled = [
            each
            for feature, place in zip(self.observation.features, places, strict=True)
            for each in feature.scaled(place)
        ]
        shortened = clipped([_truncated(value * UNIT, self.radius) for value in scaled])
        return lifted(products(shortened, label), inputs)


@dataclass(frozen=True, slots=True)
class CrossedModel:
    """Features and a yes-or-no label, of which one feature is reported together with the label.

    Attributes:
        observation: the features, all cut into as many parts, and the label.

    """

    kind: ClassVar[str] = "model-of-crosses"
    size: ClassVar[None] = None
    labels: ClassVar[Sequence[int]] = ()

    observation: Observation

    @classmethod
    def of(cls, observation: Observation, bins: int = BINS) -> CrossedModel:
        """Return the model whose numbers are cut into ``bins`` even parts."""
        return cls(replace(observation, features=tuple(replace(each, bins=bins) for each in observation.features)))

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return self.observation.expected

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return self.observation.definition | {"bins": self.observation.features[0].bins}

    @property
    def pairs(self) -> tuple[int, ...]:
        """Of each feature the number of pairs of a cell and a label."""
        return tuple(2 * feature.cells for feature in self.observation.features)

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[int, ...]:  # noqa: ARG002 as every domain
        """Return for each feature 2 * cell + label.

        Raises:
            DomainError: as `Model.encode` does.

        """
        places, label = self.observation.read(answer, coins)
        return tuple(
            2 * feature.cell(place) + (label > 0)
            for feature, place in zip(self.observation.features, places, strict=True)
        )

    def draw(self, inputs: int, coins: Coins) -> tuple[int, ...]:  # noqa: ARG002 as every domain
        """Return a pair of each feature, drawn uniformly, in place of an invalid answer."""
        return tuple(coins.below(pairs) for pairs in self.pairs)


def length_for(inputs: int) -> int:
    """Return the length of the vector of a number of coordinates."""
    return inputs * (inputs + 1) // 2 + 2 * inputs + 1


def products(features: Sequence[int], label: int) -> list[int]:
    """Return label * feature, feature * feature of pairs i <= j, feature and label, all weighted.

    Args:
        features: of norm `UNIT` at most.
        label: from -`UNIT` to `UNIT`.

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
    """Return `UNIT` times the weights of the products: label, square, pair, feature, label alone.

    A pair i < j stands for two equal ones, so that the norm of all is that of the matrix.
    """
    squares = (PRODUCTS**2, SQUARES**2, 2 * SQUARES**2, FEATURES**2, LABELS**2)
    label, square, pair, feature, itself = (isqrt(UNIT**2 * each // _WHOLE) for each in squares)
    return label, square, pair, feature, itself


def _truncated(dividend: int, divisor: int) -> int:
    """Return the quotient rounded towards 0, so that no vector becomes longer."""
    return abs(dividend) // divisor * (-1 if dividend < 0 else 1)
