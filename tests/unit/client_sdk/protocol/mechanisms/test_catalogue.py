"""Which channel a definition gets; a build never substitutes another one."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross, MeanByGroup
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.kinds.nearest import Nearest
from client_sdk.protocol.kinds.number import Activity, Count, Number, Thresholds
from client_sdk.protocol.kinds.ordinal import Ordinal, OrdinalMean
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import AUTO, NAMES, channel_for
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.model import CrossedModel, Model, ModelFeature, Observation
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from client_sdk.protocol.text import Text
from client_sdk.protocol.vector import Vector
from tests.support.core.tables import for_each

EPSILON_1 = RequestedEpsilon.parse(Decimal(1))
HALF = RequestedEpsilon.parse(Decimal("0.5"))
DELTA = Fraction(1, 10**6)
UTILITY = [[Fraction(int(row == column)) for column in range(3)] for row in range(3)]
VALUES = ("a", "b", "c")
STATISTICS = ("mean", "distribution", "quantiles")
MEAN, SPREAD, PARTS = (Number(Fraction(0), Fraction(9), statistic) for statistic in STATISTICS)
COUNT_MEAN, COUNTS, COUNTED_PARTS = (Count(Fraction(9), statistic) for statistic in STATISTICS)
OBSERVATION = Observation((ModelFeature("age", MEAN), ModelFeature("sex", Category(("f", "m")))), Boolean())
DOMAINS: dict[str, Kind] = {
    "boolean": Boolean(),
    "category": Category(VALUES),
    "ordinal": Ordinal(VALUES),
    "ordinal of a mean": OrdinalMean(Ordinal(VALUES)),
    "nearest": Nearest(VALUES, tuple((number,) for number in range(len(VALUES)))),
    "set": Subset(VALUES, 2),
    "cross": Cross(Boolean(), Category(VALUES)),
    "mean-by-group": MeanByGroup(Boolean(), MEAN),
    "number of a mean": MEAN,
    "number of a distribution": SPREAD,
    "number of quantiles": PARTS,
    "number of thresholds": Thresholds(Fraction(0), Fraction(9), "quantiles", thresholds=(Fraction(2), Fraction(5))),
    "count of a mean": COUNT_MEAN,
    "count of a distribution": COUNTS,
    "count of quantiles": COUNTED_PARTS,
    "activity of a mean": Activity(Fraction(7), "mean"),
    "activity of a distribution": Activity(Fraction(7), "distribution"),
    "vector": Vector(3, Fraction(1)),
    "text": Text("abc", 9, cells=2**12),
    "model": Model.with_norm(OBSERVATION),
    "model-of-crosses": CrossedModel(OBSERVATION),
}
LABELS = ("k-ary-randomized-response", "cyclic-design", "projective-geometry", "balanced-design")
MEANS = ("one-bit", "laplace", "gaussian", "optimal-mean")
RANGES = ("square-wave", "laplace", "hierarchical")
BUILT: dict[str, tuple[str, ...]] = {
    "boolean": ("randomized-response",),
    "category": (*LABELS, "exponential"),
    "ordinal": (*LABELS, "exponential"),
    "ordinal of a mean": MEANS,
    "nearest": LABELS,
    "set": (*LABELS, "one-of", "pair-geometry"),
    "cross": LABELS,
    "mean-by-group": LABELS,
    "number of a mean": MEANS,
    "number of a distribution": RANGES,
    "number of quantiles": RANGES,
    "number of thresholds": LABELS,
    "count of a mean": MEANS,
    "count of a distribution": (*RANGES, *LABELS),
    "count of quantiles": (*RANGES, *LABELS),
    "activity of a mean": MEANS,
    "activity of a distribution": (*RANGES, *LABELS),
    "vector": ("rotated-axes",),
    "text": ("grouped-geometry",),
    "model": ("rotated-axes",),
    "model-of-crosses": ("crosses",),
}
NAMED = [name for name in NAMES if name != AUTO]


def is_of(channel: Channel, mechanism: str) -> bool:
    """Whether a channel's last step is of the class that is named after a mechanism."""
    return type(channel.last_step).__name__ == "".join(map(str.capitalize, mechanism.split("-")))


def extras(mechanism: str) -> tuple[Fraction | None, list[list[Fraction]] | None]:
    return DELTA if mechanism == "gaussian" else None, UTILITY if mechanism == "exponential" else None


@pytest.mark.slow
@for_each("kind", DOMAINS)
@for_each("mechanism", NAMED)
def test_a_named_mechanism_is_taken_as_named_or_refused_with_what_would_be_right(kind: str, mechanism: str) -> None:
    domain, (delta, utility) = DOMAINS[kind], extras(mechanism)
    if mechanism in BUILT[kind]:
        channel = channel_for(domain, HALF, mechanism, delta=delta, utility=utility)
        assert is_of(channel, mechanism)
        assert channel.name == mechanism
        return
    with pytest.raises(ValueError, match=r"; (use statistic|remove statistic|use one that does)") as caught:
        channel_for(domain, HALF, mechanism, delta=delta, utility=utility)
    is_of_cells = kind == "number of thresholds" and mechanism in RANGES
    if not is_of_cells and any(mechanism in BUILT[other] for other in BUILT if DOMAINS[other].name == domain.name):
        assert re.search("; (use statistic = |remove statistic)", str(caught.value))
    else:
        article = "an" if domain.name in ("ordinal", "activity") else "a"
        said = f"'{mechanism}' does not support {article} {domain.name}; use one that does: "
        assert str(caught.value).startswith(said)
        assert set(str(caught.value).removeprefix(said).split(", ")) >= set(BUILT[kind])


def test_every_mechanism_of_the_schema_is_built_for_some_kind() -> None:
    assert {name for built in BUILT.values() for name in built} == set(NAMED)


@for_each("kind", DOMAINS)
def test_auto_takes_a_mechanism_that_is_built_for_the_kind(kind: str) -> None:
    for epsilon in (HALF, EPSILON_1, RequestedEpsilon.parse(8)):
        channel = channel_for(DOMAINS[kind], epsilon)
        assert channel.name in BUILT[kind]
        assert is_of(channel, channel.name)


@for_each("mechanism", [name for name in NAMED if name != "gaussian"])
def test_delta_is_for_gaussian_only(mechanism: str) -> None:
    kind = next(kind for kind in DOMAINS if mechanism in BUILT[kind])
    with pytest.raises(ValueError, match=f"'{mechanism}' has no delta; remove it"):
        channel_for(DOMAINS[kind], HALF, mechanism, delta=DELTA)


@for_each("mechanism", [name for name in NAMED if name != "exponential"])
def test_utility_is_for_exponential_only(mechanism: str) -> None:
    kind = next(kind for kind in DOMAINS if mechanism in BUILT[kind])
    with pytest.raises(ValueError, match=f"'{mechanism}' has no utility; remove it, or use 'exponential'"):
        channel_for(DOMAINS[kind], HALF, mechanism, delta=extras(mechanism)[0], utility=UTILITY)


def test_what_a_mechanism_needs_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"'gaussian' needs delta, such as 1e-9: "):
        channel_for(MEAN, HALF, "gaussian")
    with pytest.raises(ValueError, match=r"'exponential' needs utility = .* for a category, which has no order"):
        channel_for(DOMAINS["category"], HALF, "exponential")
    assert channel_for(DOMAINS["ordinal"], HALF, "exponential").symbols == 3


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'magic' is not a mechanism; the mechanisms are: auto, randomized-response"):
        channel_for(Boolean(), EPSILON_1, "magic")


def test_a_channel_that_would_carry_nothing_is_refused() -> None:
    domain = Category(tuple(f"v{index}" for index in range(1000)))
    tiny = RequestedEpsilon(odds=Fraction(10**20 + 1, 10**20), text="1e-20")
    with pytest.raises(ValueError, match="reveals nothing; raise epsilon"):
        channel_for(domain, tiny, "k-ary-randomized-response")


@pytest.mark.parametrize(
    ("inputs", "epsilon", "chosen"),
    [(7, 1, "cyclic-design"), (40, 0.5, "balanced-design"), (5000, 4, "projective-geometry")],
)
def test_naming_what_auto_chooses_gives_the_same_channel(inputs: int, epsilon: float, chosen: str) -> None:
    domain = Category(tuple(f"v{index}" for index in range(inputs)))
    requested = RequestedEpsilon.parse(Decimal(str(epsilon)))
    automatic = channel_for(domain, requested, AUTO)
    assert automatic.name == chosen
    assert automatic == channel_for(domain, requested, chosen)


@pytest.mark.parametrize(
    ("inputs", "mechanism", "epsilon"),
    [(2, "cyclic-design", 1), (66_000, "cyclic-design", 1), (2000, "cyclic-design", 8), (66_000, "balanced-design", 1)],
)
def test_a_mechanism_without_a_design_for_the_domain_is_refused_with_what_auto_would_choose(
    inputs: int, mechanism: str, epsilon: int
) -> None:
    domain = Category(tuple(f"v{index}" for index in range(inputs)))
    with pytest.raises(ValueError, match=f"'{mechanism}' has no design for {inputs} values .*; use 'auto'"):
        channel_for(domain, RequestedEpsilon.parse(epsilon), mechanism)


def test_channels_are_equal_by_their_law() -> None:
    assert channel_for(Boolean(), EPSILON_1, AUTO) == RandomizedResponse.within(EPSILON_1)
    assert len({channel_for(DOMAINS["category"], EPSILON_1, AUTO), KAryRandomizedResponse.within(EPSILON_1, 3)}) == 1
