"""Which channel a definition gets; a build never substitutes another one."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from client_sdk.protocol import Channel, Registry, RegistryError
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross, MeanByGroup
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.kinds.nearest import Nearest
from client_sdk.protocol.kinds.number import Activity, Count, Number, Thresholds
from client_sdk.protocol.kinds.ordinal import Ordinal, OrdinalMean
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import AUTO, NAMES, channel_for
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.one_of import OneOf
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.pair_geometry import PairGeometry
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import OneBit, RandomizedResponse
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.model import CrossedModel, Model, ModelFeature, Observation
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from client_sdk.protocol.text import Text
from client_sdk.protocol.vector import Vector
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CATEGORY, registry_text

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
    "number between thresholds": Thresholds(
        Fraction(0), Fraction(9), "quantiles", thresholds=(Fraction(2), Fraction(5))
    ),
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
OF_CATEGORIES: dict[str, type[Channel]] = {
    "k-ary-randomized-response": KAryRandomizedResponse,
    "cyclic-design": CyclicDesign,
    "projective-geometry": ProjectiveGeometry,
    "balanced-design": BalancedDesign,
}
OF_SCALES = OF_CATEGORIES | {"exponential": Exponential}
OF_MEANS: dict[str, type[Channel]] = {
    "one-bit": OneBit,
    "laplace": Laplace,
    "gaussian": Gaussian,
    "optimal-mean": OptimalMean,
}
OF_DISTRIBUTIONS: dict[str, type[Channel]] = {
    "square-wave": SquareWave,
    "laplace": Laplace,
    "hierarchical": Hierarchical,
}
BUILT: dict[str, dict[str, type[Channel]]] = {
    "boolean": {"randomized-response": RandomizedResponse},
    "category": OF_SCALES,
    "ordinal": OF_SCALES,
    "ordinal of a mean": OF_MEANS,
    "nearest": OF_CATEGORIES,
    "set": OF_CATEGORIES | {"one-of": OneOf, "pair-geometry": PairGeometry},
    "cross": OF_CATEGORIES,
    "mean-by-group": OF_CATEGORIES,
    "number of a mean": OF_MEANS,
    "number of a distribution": OF_DISTRIBUTIONS,
    "number of quantiles": OF_DISTRIBUTIONS,
    "number between thresholds": OF_CATEGORIES,
    "count of a mean": OF_MEANS,
    "count of a distribution": OF_DISTRIBUTIONS | OF_CATEGORIES,
    "count of quantiles": OF_DISTRIBUTIONS | OF_CATEGORIES,
    "activity of a mean": OF_MEANS,
    "activity of a distribution": OF_DISTRIBUTIONS | OF_CATEGORIES,
    "vector": {"rotated-axes": RotatedAxes},
    "text": {"grouped-geometry": GroupedGeometry},
    "model": {"rotated-axes": RotatedAxes},
    "model-of-crosses": {"crosses": Crosses},
}
NAMED = [name for name in NAMES if name != AUTO]


def extras(mechanism: str) -> tuple[Fraction | None, list[list[Fraction]] | None]:
    """Return the delta and the utility that a mechanism takes."""
    return DELTA if mechanism == "gaussian" else None, UTILITY if mechanism == "exponential" else None


@pytest.mark.slow
@for_each("kind", DOMAINS)
@for_each("mechanism", NAMED)
def test_a_named_mechanism_is_taken_as_named_or_refused_with_what_would_be_right(kind: str, mechanism: str) -> None:
    domain, (delta, utility) = DOMAINS[kind], extras(mechanism)
    if mechanism in BUILT[kind]:
        channel = channel_for(domain, HALF, mechanism, delta=delta, utility=utility)
        assert type(channel.last_step) is BUILT[kind][mechanism]
        assert channel.name == mechanism
        return
    with pytest.raises(ValueError, match=r"; (use statistic|remove statistic|use one that does)") as caught:
        channel_for(domain, HALF, mechanism, delta=delta, utility=utility)
    is_of_cells = kind == "number between thresholds" and mechanism in OF_DISTRIBUTIONS
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
        assert type(channel.last_step) is BUILT[kind][channel.name]


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


def test_a_count_that_is_asked_for_by_shares_must_not_be_too_large() -> None:
    with pytest.raises(ValueError, match="has 1000001 shares; at most 1000000 are supported"):
        channel_for(Count(Fraction(10**6), "distribution"), HALF, "k-ary-randomized-response")


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
    [
        (2, "cyclic-design", 1),
        (66_000, "cyclic-design", 1),
        (2000, "cyclic-design", 8),
        (66_000, "balanced-design", 1),
    ],
)
def test_a_mechanism_without_a_design_for_the_domain_is_refused_with_what_auto_would_choose(
    inputs: int, mechanism: str, epsilon: int
) -> None:
    domain = Category(tuple(f"v{index}" for index in range(inputs)))
    with pytest.raises(ValueError, match=f"'{mechanism}' has no design for {inputs} values .*; use 'auto'"):
        channel_for(domain, RequestedEpsilon.parse(epsilon), mechanism)


def test_a_registry_names_the_metric_whose_mechanism_has_no_design() -> None:
    with pytest.raises(RegistryError, match="'cyclic-design' has no design for 2 values") as caught:
        Registry.parse(registry_text(os=CATEGORY | {"values": ["a", "b"], "mechanism": "cyclic-design"}))
    assert [place for place, _ in caught.value.mistakes] == ["metric.os.mechanism"]


def test_channels_are_equal_by_their_law() -> None:
    assert channel_for(Boolean(), EPSILON_1, AUTO) == RandomizedResponse.within(EPSILON_1)
    assert len({channel_for(DOMAINS["category"], EPSILON_1, AUTO), KAryRandomizedResponse.within(EPSILON_1, 3)}) == 1
