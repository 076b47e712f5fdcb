"""From a definition to its channel: which mechanism suits it, and how its channel is built.

A registry may name any of the schema's mechanisms. A build that lacks the mechanism of a definition
refuses the definition. It never substitutes another mechanism, because one registry must mean the
same to every build.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.domain import MAX_CATEGORIES, Boolean, Domain, Filled, Number
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms import auto
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential, Utility, by_distance
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.hierarchical import POINTS as HIERARCHICAL_POINTS
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.hybrid import Hybrid
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import POINTS as LAPLACE_POINTS
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.one_bit import OneBit
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.mechanisms.piecewise import Piecewise
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.mechanisms.square_wave import POINTS as SQUARE_WAVE_POINTS
from client_sdk.protocol.mechanisms.square_wave import SquareWave

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
    "hierarchical",
)
"""Every mechanism of schema 1."""

PERMANENT_MECHANISMS: Final = NAMES[1:6]
"""Mechanisms that can report permanent answers. Their inputs are answers, or the two ends of a
range, to one of which a number is rounded for good."""


@dataclass(frozen=True, slots=True)
class _ChannelRequest:
    """What a definition requires of a mechanism: the arguments of `channel_for`."""

    domain: Domain
    epsilon: RequestedEpsilon
    delta: Fraction | None
    utility: Utility | None

    @property
    def size(self) -> int:
        """The number of inputs, each of which stands for one answer.

        Raises:
            ValueError: if there are infinitely many answers, or too many.

        """
        if self.domain.size is not None and self.domain.size > MAX_CATEGORIES:
            raise ValueError(f"has no channel for {self.domain.size} shares; {MAX_CATEGORIES} are the most")
        if self.domain.size is None:
            raise ValueError('gives every count a share; ask for statistic = "distribution", or let auto choose')
        return self.domain.size


_Builder = Callable[[_ChannelRequest], Channel]


def _k_ary(request: _ChannelRequest) -> Channel:
    return KAryRandomizedResponse.within(request.epsilon, request.size)


def _cyclic_design(request: _ChannelRequest) -> Channel:
    block_size, base_blocks = auto.category_design(auto.CYCLIC, request.size, request.epsilon.odds)
    return CyclicDesign.within(request.epsilon, request.size, block_size, base_blocks)


def _projective_geometry(request: _ChannelRequest) -> Channel:
    prime, dimension = auto.category_design(auto.PROJECTIVE, request.size, request.epsilon.odds)
    return ProjectiveGeometry.within(request.epsilon, request.size, prime, dimension)


def _exponential(request: _ChannelRequest) -> Channel:
    if isinstance(request.domain, Filled):
        raise ValueError(  # noqa: TRY004 as every other mistake of a definition
            "'exponential' has no place on the scale for no answer; remove fill_in, or let auto choose"
        )
    if request.utility is None and request.domain.kind != "ordinal":
        raise ValueError(f"'exponential' needs utility = [[…], …] for a {request.domain.kind}, which has no order")
    return Exponential.within(request.epsilon, request.utility or by_distance(request.size))


def _mean(within: Callable[[RequestedEpsilon], Channel]) -> _Builder:
    """Return a builder that refuses a number whose statistic is not the mean."""

    def build(request: _ChannelRequest) -> Channel:
        _statistic(request, "mean")
        return within(request.epsilon)

    return build


def _square_wave(request: _ChannelRequest) -> Channel:
    domain = _statistic(request, "distribution", "quantiles")
    return SquareWave.within(request.epsilon, domain.points(SQUARE_WAVE_POINTS))


def _hierarchical(request: _ChannelRequest) -> Channel:
    domain = _statistic(request, "quantiles", "distribution")
    return Hierarchical.within(request.epsilon, domain.points(HIERARCHICAL_POINTS))


def _laplace(request: _ChannelRequest) -> Channel:
    return Laplace.within(request.epsilon, _number(request).points(LAPLACE_POINTS))


def _gaussian(request: _ChannelRequest) -> Channel:
    if request.delta is None:
        raise ValueError("'gaussian' needs delta, how often epsilon may not hold, such as delta = 1e-9")
    _statistic(request, "mean")
    return Gaussian.within(request.epsilon, request.delta)


def _number(request: _ChannelRequest) -> Number:
    assert isinstance(request.domain, Number)  # noqa: S101 the table of builders says so
    return request.domain


def _statistic(request: _ChannelRequest, first: str, *others: str) -> Number:
    """Return the number of a request, whose statistic is to be one of some."""
    domain = _number(request)
    if domain.statistic not in (first, *others):
        known = " and ".join((first, *others))
        raise ValueError(f'estimates the {known} only; ask for statistic = "{first}", or let auto choose')
    return domain


_OF_CATEGORIES: Final[dict[str, _Builder]] = {
    "k-ary-randomized-response": _k_ary,
    "cyclic-design": _cyclic_design,
    "projective-geometry": _projective_geometry,
}

_OF_NUMBERS: Final[dict[str, _Builder]] = {
    "one-bit": _mean(OneBit.within),
    "piecewise": _mean(Piecewise.within),
    "hybrid": _mean(Hybrid.within),
    "square-wave": _square_wave,
    "laplace": _laplace,
    "gaussian": _gaussian,
    "hierarchical": _hierarchical,
}

_BUILDERS: Final[dict[str, dict[str, _Builder]]] = {
    "boolean": {"randomized-response": lambda request: RandomizedResponse.within(request.epsilon)},
    "category": _OF_CATEGORIES | {"exponential": _exponential},
    "ordinal": _OF_CATEGORIES | {"exponential": _exponential},
    "set": _OF_CATEGORIES,
    "cross": _OF_CATEGORIES,
    "number": _OF_NUMBERS,
    "count": _OF_NUMBERS | _OF_CATEGORIES,
}
"""The builders of this build, by kind of domain and name of mechanism."""


def channel_for(  # noqa: PLR0913 what a definition may say of its mechanism
    domain: Domain,
    epsilon: RequestedEpsilon,
    mechanism: str = AUTO,
    *,
    delta: Fraction | None = None,
    utility: Utility | None = None,
    permanent: RequestedEpsilon | None = None,
) -> Channel:
    """Return the channel of a definition.

    Args:
        domain: what may be answered.
        epsilon: the most that a report may cost.
        mechanism: the mechanism's name.
        delta: the delta of a mechanism that has one; otherwise None.
        utility: the utility of each reported value for each true value, for a mechanism that takes
            it from the definition; otherwise None.
        permanent: the epsilon of permanent answers if reports are drawn from them; otherwise None.

    Raises:
        ValueError: if the mechanism is unknown, does not suit the kind or the request, or if its
            channel would carry nothing. The message says what would be right.

    """
    if mechanism not in NAMES:
        raise ValueError(f"{mechanism!r} is no mechanism; the mechanisms are: {', '.join(NAMES)}")
    chosen = _automatic(domain, epsilon.odds, is_permanent=permanent is not None) if mechanism == AUTO else mechanism
    builders = _BUILDERS["category" if isinstance(domain, Filled) else domain.kind]
    if chosen not in builders:
        raise ValueError(f"{chosen!r} is not for a {domain.kind}; name one that is: {', '.join(builders)}")
    if delta is not None and chosen != Gaussian.name:
        raise ValueError(f"{chosen!r} has no delta, its epsilon always holds; remove delta")
    if utility is not None and chosen != Exponential.name:
        raise ValueError(f"{chosen!r} takes no utility; remove it, or name 'exponential'")
    channel = builders[chosen](_ChannelRequest(domain, epsilon, delta, utility))
    if channel.worst_ratio <= 1:
        raise ValueError(
            f"at epsilon {epsilon.text} a channel of {channel.inputs} inputs would carry nothing; raise epsilon"
        )
    return channel if permanent is None else _permanent(channel, permanent, epsilon)


def _permanent(channel: Channel, permanent: RequestedEpsilon, epsilon: RequestedEpsilon) -> Permanent:
    if channel.name not in PERMANENT_MECHANISMS:
        raise ValueError(
            f"{channel.name!r} cannot report a permanent answer; it is for: {', '.join(PERMANENT_MECHANISMS)}"
        )
    if epsilon.odds > permanent.odds:
        raise ValueError("a report cannot say more than the permanent answer; let epsilon be at most permanent_epsilon")
    return Permanent(KAryRandomizedResponse.within(permanent, channel.inputs), channel)


def _automatic(domain: Domain, odds: Fraction, *, is_permanent: bool) -> str:
    if isinstance(domain, Boolean):
        return RandomizedResponse.name
    if isinstance(domain, Number) and is_permanent and domain.statistic == "mean":
        return OneBit.name
    if isinstance(domain, Number):
        return auto.number_mechanism(domain.statistic, domain.size, odds)
    return auto.category_mechanism(domain.size, odds)
