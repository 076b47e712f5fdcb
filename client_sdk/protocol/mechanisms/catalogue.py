"""From a definition to its channel: which mechanism suits it, and how its channel is built.

A registry may name any of the schema's mechanisms. A build that lacks the mechanism of a definition
refuses the definition. It never substitutes another mechanism, because one registry must mean the
same to every build.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.domain import (
    MAX_CATEGORIES,
    Boolean,
    CrossedModel,
    Domain,
    Filled,
    Number,
    OrdinalMean,
    Text,
    Vector,
)
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms import auto, designs
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.permanent import Permanent

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.exponential import Utility

AUTO: Final = "auto"
RANDOMIZED_RESPONSE: Final = "randomized-response"
ONE_BIT: Final = "one-bit"
GAUSSIAN: Final = "gaussian"
EXPONENTIAL: Final = "exponential"
BALANCED_DESIGN: Final = "balanced-design"
ROTATED_AXES: Final = "rotated-axes"
GROUPED_GEOMETRY: Final = "grouped-geometry"
CROSSES: Final = "crosses"

NAMES: Final = (
    AUTO,
    RANDOMIZED_RESPONSE,
    "k-ary-randomized-response",
    "cyclic-design",
    "projective-geometry",
    ONE_BIT,
    "square-wave",
    "laplace",
    GAUSSIAN,
    EXPONENTIAL,
    "hierarchical",
    BALANCED_DESIGN,
    "optimal-mean",
    ROTATED_AXES,
    GROUPED_GEOMETRY,
    CROSSES,
)
"""Every mechanism that a registry may name."""

PERMANENT_MECHANISMS: Final = (*NAMES[1:6], BALANCED_DESIGN)
"""Mechanisms that can report permanent answers. Their inputs are answers, or the two ends of a
range, to one of which a number is rounded for good."""


class _ChannelRequest(NamedTuple):
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
        if isinstance(self.domain, OrdinalMean):
            raise ValueError("gives every value a share; remove statistic, or let auto choose")  # noqa: TRY004 as above
        if self.domain.size is None:
            raise ValueError('gives every count a share; ask for statistic = "distribution", or let auto choose')
        return self.domain.size


_Builder = Callable[[_ChannelRequest], Channel]


# Each builder imports its mechanism, so that a device loads only those that its registry needs.


def _randomized_response(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse  # noqa: PLC0415 1 ms

    return RandomizedResponse.within(request.epsilon)


def _k_ary(request: _ChannelRequest) -> Channel:
    return KAryRandomizedResponse.within(request.epsilon, request.size)


def _cyclic_design(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign  # noqa: PLC0415 3 ms

    block_size, base_blocks = _design(request, designs.CYCLIC)
    return CyclicDesign.within(request.epsilon, request.size, block_size, base_blocks)


def _projective_geometry(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry  # noqa: PLC0415 3 ms

    prime, dimension = _design(request, designs.PROJECTIVE)
    return ProjectiveGeometry.within(request.epsilon, request.size, prime, dimension)


def _design(request: _ChannelRequest, name: str) -> tuple[int, ...]:
    """Return the design of a named mechanism, which may have none for that many values."""
    design = designs.category_design(name, request.size, request.epsilon.odds)
    if design is None:
        chosen = auto.category_mechanism(request.size, request.epsilon.odds)
        raise ValueError(
            f"{name!r} has no design for {request.size} values at this epsilon; auto would choose {chosen!r}"
        )
    return design


def _balanced_design(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.balanced.choice import MAX_SYMBOLS, balanced_choice  # noqa: PLC0415 2 ms
    from client_sdk.protocol.mechanisms.balanced.design import BalancedDesign  # noqa: PLC0415 2 ms

    design = balanced_choice(request.size, request.epsilon.odds)
    if design is None:
        chosen = auto.category_mechanism(request.size, request.epsilon.odds)
        raise ValueError(
            f"{BALANCED_DESIGN!r} has no design for {request.size} values with {MAX_SYMBOLS} symbols or fewer; "
            f"auto would choose {chosen!r}"
        )
    return BalancedDesign.within(request.epsilon, request.size, design.points, design.block_size, design.order)


def _exponential(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.exponential import Exponential, by_distance  # noqa: PLC0415 4 ms

    if isinstance(request.domain, Filled):
        raise ValueError(  # noqa: TRY004 as every other mistake of a definition
            "'exponential' has no place on the scale for no answer; remove fill_in, or let auto choose"
        )
    if request.utility is None and request.domain.kind != "ordinal":
        raise ValueError(f"'exponential' needs utility = [[…], …] for a {request.domain.kind}, which has no order")
    size = request.size
    return Exponential.within(request.epsilon, request.utility or by_distance(size))


def _one_bit(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.one_bit import OneBit  # noqa: PLC0415 2 ms

    _statistic(request, "mean")
    return OneBit.within(request.epsilon)


def _optimal_mean(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean  # noqa: PLC0415 3 ms

    _statistic(request, "mean")
    return OptimalMean.within(request.epsilon)


def _square_wave(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.square_wave import POINTS, SquareWave  # noqa: PLC0415 4 ms

    domain = _statistic(request, "distribution", "quantiles")
    return SquareWave.within(request.epsilon, domain.points(POINTS))


def _hierarchical(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.hierarchical import POINTS, Hierarchical  # noqa: PLC0415 7 ms

    domain = _statistic(request, "quantiles", "distribution")
    return Hierarchical.within(request.epsilon, domain.points(POINTS))


def _laplace(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.laplace import POINTS, Laplace  # noqa: PLC0415 4 ms

    domain = _statistic(request, "mean", "distribution", "quantiles")
    return Laplace.within(request.epsilon, domain.points(POINTS))


def _gaussian(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.gaussian import Gaussian  # noqa: PLC0415 5 ms

    if request.delta is None:
        raise ValueError(
            "'gaussian' needs delta, by how much a chance may exceed e^epsilon times another, such as delta = 1e-9"
        )
    _statistic(request, "mean")
    return Gaussian.within(request.epsilon, request.delta)


def _rotated_axes(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.rotated.axes import RotatedAxes  # noqa: PLC0415 3 ms
    from client_sdk.protocol.mechanisms.rotated.sizes import rotations_for  # noqa: PLC0415 1 ms

    assert isinstance(request.domain, Vector)  # noqa: S101 the table of builders says so
    return RotatedAxes.within(request.epsilon, *rotations_for(request.domain.length, request.epsilon.odds))


def _grouped_geometry(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.grouped.geometry import GroupedGeometry  # noqa: PLC0415 3 ms
    from client_sdk.protocol.mechanisms.grouped.sizes import geometry_for  # noqa: PLC0415 1 ms

    domain = request.domain
    assert isinstance(domain, Text)  # noqa: S101 the table of builders says so
    prime, dimension, points = geometry_for(request.epsilon.odds, domain.cells)
    weights = tuple(group.weight for group in domain.groups(points))
    return GroupedGeometry.within(request.epsilon, prime, dimension, weights)


def _crosses(request: _ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.crossed.crosses import Crosses  # noqa: PLC0415 6 ms

    assert isinstance(request.domain, CrossedModel)  # noqa: S101 the table of builders says so
    return Crosses.within(request.epsilon, request.domain.pairs)


def _statistic(request: _ChannelRequest, first: str, *others: str) -> Number:
    """Return the number of a request, whose statistic is to be one of some."""
    domain = request.domain
    if not isinstance(domain, Number) or domain.statistic not in (first, *others):
        known = " and ".join((first, *others))
        raise ValueError(f'estimates the {known} only; ask for statistic = "{first}", or let auto choose')
    return domain


_OF_CATEGORIES: Final[dict[str, _Builder]] = {
    "k-ary-randomized-response": _k_ary,
    "cyclic-design": _cyclic_design,
    "projective-geometry": _projective_geometry,
    BALANCED_DESIGN: _balanced_design,
}

_OF_MEANS: Final[dict[str, _Builder]] = {
    ONE_BIT: _one_bit,
    "laplace": _laplace,
    GAUSSIAN: _gaussian,
    "optimal-mean": _optimal_mean,
}

_OF_NUMBERS: Final[dict[str, _Builder]] = _OF_MEANS | {"square-wave": _square_wave, "hierarchical": _hierarchical}

_BUILDERS: Final[dict[str, dict[str, _Builder]]] = {
    "boolean": {RANDOMIZED_RESPONSE: _randomized_response},
    "category": _OF_CATEGORIES | {EXPONENTIAL: _exponential},
    "ordinal": _OF_CATEGORIES | {EXPONENTIAL: _exponential} | _OF_MEANS,
    "nearest": _OF_CATEGORIES,
    "set": _OF_CATEGORIES,
    "cross": _OF_CATEGORIES,
    "mean-by-group": _OF_CATEGORIES,
    "number": _OF_NUMBERS,
    "count": _OF_NUMBERS | _OF_CATEGORIES,
    "activity": _OF_NUMBERS | _OF_CATEGORIES,
    "vector": {ROTATED_AXES: _rotated_axes},
    "text": {GROUPED_GEOMETRY: _grouped_geometry},
    "model": {ROTATED_AXES: _rotated_axes},
    "model-of-crosses": {CROSSES: _crosses},
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
    chosen = mechanism
    if mechanism == AUTO:
        chosen = _automatic(domain, epsilon.odds, is_permanent=permanent is not None)
    builders = _BUILDERS["category" if isinstance(domain, Filled) else domain.kind]
    if chosen not in builders:
        article = "an" if domain.kind[0] in "ao" else "a"
        raise ValueError(f"{chosen!r} is not for {article} {domain.kind}; name one that is: {', '.join(builders)}")
    if delta is not None and chosen != GAUSSIAN:
        raise ValueError(f"{chosen!r} has no delta, its epsilon always holds; remove delta")
    if utility is not None and chosen != EXPONENTIAL:
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
    if isinstance(domain, Boolean | Vector | Text | CrossedModel):
        return _only_mechanism(domain)
    if isinstance(domain, Number) and is_permanent and domain.statistic == "mean":
        return ONE_BIT
    if isinstance(domain, Number):
        return auto.number_mechanism(domain.statistic, domain.size, odds)
    return auto.category_mechanism(domain.size, odds)


def _only_mechanism(domain: Boolean | Vector | Text | CrossedModel) -> str:
    match domain:
        case Boolean():
            return RANDOMIZED_RESPONSE
        case Vector():
            return ROTATED_AXES
        case Text():
            return GROUPED_GEOMETRY
        case CrossedModel():
            return CROSSES
