"""Which channel a definition gets, and that a build never takes another one than the definition means."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from client_sdk.spec import Boolean, Category, Channel, Domain, Number, Registry, RegistryError, mechanisms
from client_sdk.spec.epsilon import RequestedEpsilon
from client_sdk.spec.mechanisms import AUTO, NAMES, channel_for
from client_sdk.spec.mechanisms.cyclic_design import CyclicDesign
from client_sdk.spec.mechanisms.hybrid import Hybrid
from client_sdk.spec.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.spec.mechanisms.one_bit import OneBit
from client_sdk.spec.mechanisms.piecewise import Piecewise
from client_sdk.spec.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.spec.mechanisms.randomized_response import RandomizedResponse
from tests.support.definitions import CATEGORY, registry_text

ONE = RequestedEpsilon.parse(Decimal(1))
HALF = RequestedEpsilon.parse(Decimal("0.5"))
MEAN = Number(Fraction(0), Fraction(9), "mean")
DOMAINS: dict[str, Domain] = {"boolean": Boolean(), "category": Category(("a", "b", "c")), "number": MEAN}
BUILT: dict[tuple[str, str], type[Channel]] = {
    ("boolean", "randomized-response"): RandomizedResponse,
    ("category", "k-ary-randomized-response"): KAryRandomizedResponse,
    ("category", "cyclic-design"): CyclicDesign,
    ("category", "projective-geometry"): ProjectiveGeometry,
    ("number", "one-bit"): OneBit,
    ("number", "piecewise"): Piecewise,
    ("number", "hybrid"): Hybrid,
}


@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("mechanism", [name for name in NAMES if name != AUTO])
def test_a_named_mechanism_is_taken_as_named_or_refused(kind: str, mechanism: str) -> None:
    if (kind, mechanism) in BUILT:
        channel = channel_for(DOMAINS[kind], HALF, mechanism)
        assert type(channel) is BUILT[kind, mechanism]
        assert channel.name == mechanism
    elif (kind, mechanism) == ("number", "square-wave"):
        with pytest.raises(ValueError, match="estimates the distribution only"):
            channel_for(MEAN, HALF, mechanism)
    else:
        with pytest.raises(ValueError, match=f"names '{mechanism}', which this build does not have for a {kind}"):
            channel_for(DOMAINS[kind], HALF, mechanism)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'magic' is no mechanism; the mechanisms are: auto, randomized-response"):
        channel_for(Boolean(), ONE, "magic")


def test_auto_refuses_a_choice_that_a_build_lacks_and_names_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(mechanisms._BUILDERS, ("number", "hybrid"))
    with pytest.raises(ValueError, match="auto chooses 'hybrid', which this build does not have") as caught:
        channel_for(MEAN, ONE, AUTO)
    assert "name one that it has: one-bit, piecewise" in str(caught.value)


def test_a_channel_that_would_carry_nothing_is_refused() -> None:
    domain = Category(tuple(f"v{index}" for index in range(1000)))
    tiny = RequestedEpsilon(odds=Fraction(10**20 + 1, 10**20), text="1e-20")
    with pytest.raises(ValueError, match="would carry nothing; raise epsilon"):
        channel_for(domain, tiny, "k-ary-randomized-response")


@pytest.mark.parametrize(
    ("inputs", "epsilon", "chosen"),
    [(40, 2, "cyclic-design"), (58, 3, "cyclic-design"), (1024, 1, "projective-geometry")],
)
def test_naming_what_auto_chooses_gives_the_same_channel(inputs: int, epsilon: int, chosen: str) -> None:
    domain = Category(tuple(f"v{index}" for index in range(inputs)))
    requested = RequestedEpsilon.parse(epsilon)
    automatic = channel_for(domain, requested, AUTO)
    assert automatic.name == chosen
    assert automatic == channel_for(domain, requested, chosen)


@pytest.mark.parametrize(
    ("inputs", "mechanism", "epsilon"),
    [(2, "cyclic-design", 1), (66_000, "cyclic-design", 1), (2000, "cyclic-design", 8)],
)
def test_a_mechanism_without_a_design_for_the_domain_is_refused_with_what_auto_would_choose(
    inputs: int, mechanism: str, epsilon: int
) -> None:
    domain = Category(tuple(f"v{index}" for index in range(inputs)))
    with pytest.raises(ValueError, match=f"'{mechanism}' has no design for {inputs} values .* auto would choose"):
        channel_for(domain, RequestedEpsilon.parse(epsilon), mechanism)


def test_a_registry_names_the_metric_whose_mechanism_has_no_design() -> None:
    with pytest.raises(RegistryError, match="'cyclic-design' has no design for 2 values") as caught:
        Registry.parse(registry_text(os=CATEGORY | {"values": ["a", "b"], "mechanism": "cyclic-design"}))
    assert [place for place, _ in caught.value.mistakes] == ["metric.os.mechanism"]


def test_channels_are_equal_by_their_law() -> None:
    assert channel_for(Boolean(), ONE, AUTO) == RandomizedResponse.within(ONE)
    assert len({channel_for(DOMAINS["category"], ONE, AUTO), KAryRandomizedResponse.within(ONE, 3)}) == 1
