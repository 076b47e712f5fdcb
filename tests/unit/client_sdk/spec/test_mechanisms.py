"""Which channel a definition gets, and that a build never takes another one than the definition means."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from client_sdk.spec import Boolean, Category, Channel, Domain, Number, Registry, RegistryError
from client_sdk.spec.epsilon import RequestedEpsilon
from client_sdk.spec.mechanisms import AUTO, NAMES, channel_for
from client_sdk.spec.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.spec.mechanisms.one_bit import OneBit
from client_sdk.spec.mechanisms.randomized_response import RandomizedResponse
from tests.support.definitions import CATEGORY, registry_text

ONE = RequestedEpsilon.parse(Decimal(1))
HALF = RequestedEpsilon.parse(Decimal("0.5"))
MEAN = Number(Fraction(0), Fraction(9), "mean")
DOMAINS: dict[str, Domain] = {"boolean": Boolean(), "category": Category(("a", "b", "c")), "number": MEAN}
BUILT: dict[tuple[str, str], type[Channel]] = {
    ("boolean", "randomized-response"): RandomizedResponse,
    ("category", "k-ary-randomized-response"): KAryRandomizedResponse,
    ("number", "one-bit"): OneBit,
}


@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("mechanism", [name for name in NAMES if name != AUTO])
def test_a_named_mechanism_is_taken_as_named_or_refused(kind: str, mechanism: str) -> None:
    if (kind, mechanism) in BUILT:
        channel = channel_for(DOMAINS[kind], HALF, mechanism)
        assert type(channel) is BUILT[kind, mechanism]
        assert channel.name == mechanism
    else:
        with pytest.raises(ValueError, match=f"names '{mechanism}', which this build does not have for a {kind}"):
            channel_for(DOMAINS[kind], HALF, mechanism)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'magic' is no mechanism; the mechanisms are: auto, randomized-response"):
        channel_for(Boolean(), ONE, "magic")


@pytest.mark.parametrize(
    ("domain", "chosen"),
    [
        (Category(tuple(f"v{index}" for index in range(64))), "cyclic-design"),
        (Category(tuple(f"v{index}" for index in range(1024))), "projective-geometry"),
        (MEAN, "hybrid"),
        (Number(Fraction(0), Fraction(9), "distribution"), "square-wave"),
    ],
)
def test_auto_refuses_a_choice_that_this_build_lacks_and_names_what_it_has(domain: Domain, chosen: str) -> None:
    with pytest.raises(ValueError, match=f"auto chooses '{chosen}', which this build does not have") as caught:
        channel_for(domain, ONE, AUTO)
    available = next(name for kind, name in BUILT if kind == domain.kind)
    assert str(caught.value).endswith(available)


def test_a_channel_that_would_carry_nothing_is_refused() -> None:
    domain = Category(tuple(f"v{index}" for index in range(1000)))
    tiny = RequestedEpsilon(odds=Fraction(10**20 + 1, 10**20), text="1e-20")
    with pytest.raises(ValueError, match="would carry nothing; raise epsilon"):
        channel_for(domain, tiny, "k-ary-randomized-response")


def test_a_registry_names_the_metric_whose_mechanism_is_missing() -> None:
    values = [f"v{index}" for index in range(64)]
    with pytest.raises(RegistryError, match="auto chooses 'cyclic-design'") as caught:
        Registry.parse(registry_text(os=CATEGORY | {"values": values}))
    assert [place for place, _ in caught.value.mistakes] == ["metric.os.mechanism"]


def test_channels_are_equal_by_their_law() -> None:
    assert channel_for(Boolean(), ONE, AUTO) == RandomizedResponse.within(ONE)
    assert len({channel_for(DOMAINS["category"], ONE, AUTO), KAryRandomizedResponse.within(ONE, 3)}) == 1
