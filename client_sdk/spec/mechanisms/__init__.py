"""The mechanisms: one file each, with its law, its perturbation and its source.

A registry may name any of the schema's mechanisms. A build that lacks the one that a definition needs refuses the
definition; it never takes another one instead, because two builds must mean the same by the same registry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from client_sdk.spec.channel import Channel
from client_sdk.spec.domain import Boolean, Category, Domain, Number
from client_sdk.spec.epsilon import RequestedEpsilon
from client_sdk.spec.mechanisms import choice
from client_sdk.spec.mechanisms.cyclic_design import CyclicDesign
from client_sdk.spec.mechanisms.hybrid import Hybrid
from client_sdk.spec.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.spec.mechanisms.one_bit import OneBit
from client_sdk.spec.mechanisms.piecewise import Piecewise
from client_sdk.spec.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.spec.mechanisms.randomized_response import RandomizedResponse
from client_sdk.spec.mechanisms.square_wave import SquareWave

AUTO: Final = "auto"

NAMES: Final = (
    AUTO,
    "randomized-response",
    "k-ary-randomized-response",
    "cyclic-design",
    "projective-geometry",
    "one-bit",
    "piecewise",
    "hybrid",
    "square-wave",
    "laplace",
    "gaussian",
    "exponential",
)
"""Every mechanism of schema 1, whether or not this build has it."""

_Builder = Callable[[Domain, RequestedEpsilon], Channel]


def _for_statistic(statistic: str, within: Callable[[RequestedEpsilon], Channel]) -> _Builder:
    """Return a builder that refuses a number of which another statistic is asked."""

    def build(domain: Domain, epsilon: RequestedEpsilon) -> Channel:
        if not isinstance(domain, Number) or domain.statistic != statistic:
            raise ValueError(f'estimates the {statistic} only; ask for statistic = "{statistic}", or let auto choose')
        return within(epsilon)

    return build


def _cyclic_design(domain: Domain, epsilon: RequestedEpsilon) -> Channel:
    block_size, base_blocks = choice.category_design(choice.CYCLIC, domain.size, epsilon.odds)
    return CyclicDesign.within(epsilon, domain.size, block_size, base_blocks)


def _projective_geometry(domain: Domain, epsilon: RequestedEpsilon) -> Channel:
    prime, dimension = choice.category_design(choice.PROJECTIVE, domain.size, epsilon.odds)
    return ProjectiveGeometry.within(epsilon, domain.size, prime, dimension)


_BUILDERS: Final[dict[tuple[str, str], _Builder]] = {
    ("boolean", "randomized-response"): lambda _, epsilon: RandomizedResponse.within(epsilon),
    ("category", "k-ary-randomized-response"): lambda domain, epsilon: KAryRandomizedResponse.within(
        epsilon, domain.size
    ),
    ("category", "cyclic-design"): _cyclic_design,
    ("category", "projective-geometry"): _projective_geometry,
    ("number", "one-bit"): _for_statistic("mean", OneBit.within),
    ("number", "piecewise"): _for_statistic("mean", Piecewise.within),
    ("number", "hybrid"): _for_statistic("mean", Hybrid.within),
    ("number", "square-wave"): _for_statistic("distribution", SquareWave.within),
}
"""What this build has: how to make the channel of a kind and a mechanism."""


def channel_for(domain: Domain, epsilon: RequestedEpsilon, mechanism: str) -> Channel:
    """Return the channel of a definition.

    Raises:
        ValueError: saying what would be right, if the mechanism is unknown, does not suit the kind, or is not in
            this build.

    """
    if mechanism not in NAMES:
        raise ValueError(f"{mechanism!r} is no mechanism; the mechanisms are: {', '.join(NAMES)}")
    chosen = _automatic(domain, epsilon) if mechanism == AUTO else mechanism
    builder = _BUILDERS.get((domain.kind, chosen))
    if builder is None:
        available = ", ".join(name for kind, name in _BUILDERS if kind == domain.kind)
        how = "auto chooses" if mechanism == AUTO else "names"
        message = (
            f"{how} {chosen!r}, which this build does not have for a {domain.kind}; name one that it has: {available}"
        )
        raise ValueError(message)
    channel = builder(domain, epsilon)
    if channel.worst_ratio <= 1:
        raise ValueError(
            f"at epsilon {epsilon.text} the channel of {domain.size} inputs would carry nothing; raise epsilon"
        )
    return channel


def _automatic(domain: Domain, epsilon: RequestedEpsilon) -> str:
    if isinstance(domain, Boolean):
        return RandomizedResponse.name
    if isinstance(domain, Category):
        return choice.category_mechanism(domain.size, epsilon.odds)
    return choice.number_mechanism(domain.statistic, epsilon.odds)
