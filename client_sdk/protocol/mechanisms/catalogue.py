"""From a definition to its channel: which mechanism suits it, and how its channel is built.

A registry may name any of the schema's mechanisms. A build that lacks the mechanism of a definition
refuses the definition. It never substitutes another mechanism, because one registry must mean the
same to every build.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.mechanisms import auto
from client_sdk.protocol.mechanisms.mechanism import ChannelRequest, Mechanism
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.mechanism import Utility

AUTO: Final = "auto"
ONE_BIT: Final = "one-bit"

_OF_NUMBERS: Final = ("mean", "distribution", "quantiles")

MECHANISMS: Final[Mapping[str, Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism(
            "randomized-response",
            "client_sdk.protocol.mechanisms.randomized_response:RandomizedResponse",
            "yes-or-no",
            is_permanent=True,
        ),
        Mechanism(
            "k-ary-randomized-response",
            "client_sdk.protocol.mechanisms.k_ary_randomized_response:KAryRandomizedResponse",
            "labels",
            is_permanent=True,
        ),
        Mechanism(
            "cyclic-design", "client_sdk.protocol.mechanisms.cyclic_design:CyclicDesign", "labels", is_permanent=True
        ),
        Mechanism(
            "projective-geometry",
            "client_sdk.protocol.mechanisms.projective_geometry:ProjectiveGeometry",
            "labels",
            is_permanent=True,
        ),
        Mechanism(ONE_BIT, "client_sdk.protocol.mechanisms.one_bit:OneBit", "grid", ("mean",), is_permanent=True),
        Mechanism(
            "square-wave",
            "client_sdk.protocol.mechanisms.square_wave:SquareWave",
            "grid",
            ("distribution", "quantiles"),
        ),
        Mechanism("laplace", "client_sdk.protocol.mechanisms.laplace:Laplace", "grid", _OF_NUMBERS),
        Mechanism(
            "gaussian",
            "client_sdk.protocol.mechanisms.gaussian:Gaussian",
            "grid",
            ("mean",),
            options=frozenset({"delta"}),
        ),
        Mechanism(
            "exponential",
            "client_sdk.protocol.mechanisms.exponential:Exponential",
            "labels",
            options=frozenset({"utility"}),
        ),
        Mechanism(
            "hierarchical",
            "client_sdk.protocol.mechanisms.hierarchical:Hierarchical",
            "grid",
            ("quantiles", "distribution"),
        ),
        Mechanism(
            "balanced-design",
            "client_sdk.protocol.mechanisms.balanced.design:BalancedDesign",
            "labels",
            is_permanent=True,
        ),
        Mechanism("optimal-mean", "client_sdk.protocol.mechanisms.optimal_mean:OptimalMean", "grid", ("mean",)),
        Mechanism("rotated-axes", "client_sdk.protocol.vectors.rotated_axes:RotatedAxes", "ball"),
        Mechanism("grouped-geometry", "client_sdk.protocol.texts.grouped_geometry:GroupedGeometry", "cells"),
        Mechanism("crosses", "client_sdk.protocol.models.crosses:Crosses", "features"),
    )
}
"""Every mechanism, by its name."""

NAMES: Final = (AUTO, *MECHANISMS)
"""What a registry may name."""


def channel_for(  # noqa: PLR0913 what a definition may say of its mechanism
    kind: Kind,
    epsilon: RequestedEpsilon,
    mechanism: str = AUTO,
    *,
    delta: Fraction | None = None,
    utility: Utility | None = None,
    permanent: RequestedEpsilon | None = None,
    has_no_answer: bool = False,
) -> Channel:
    """Return the channel of a definition.

    Args:
        kind: what may be answered.
        epsilon: the most that a report may cost.
        mechanism: the mechanism's name.
        delta: the delta of a mechanism that has one; otherwise None.
        utility: the utility of each reported value for each true value, for a mechanism that takes
            it from the definition; otherwise None.
        permanent: the epsilon of permanent answers if reports are drawn from them; otherwise None.
        has_no_answer: whether there is one input more, for no answer.

    Raises:
        ValueError: if the mechanism is unknown, does not suit the kind or the request, or if its
            channel would carry nothing. The message says what would be right.

    """
    if mechanism not in NAMES:
        raise ValueError(f"{mechanism!r} is no mechanism; the mechanisms are: {', '.join(NAMES)}")
    request = ChannelRequest(kind, epsilon, has_no_answer, delta, utility)
    chosen = MECHANISMS[_automatic(request, is_permanent=permanent is not None) if mechanism == AUTO else mechanism]
    _check(chosen, request)
    channel = chosen.build(request)
    if channel.worst_ratio <= 1:
        raise ValueError(
            f"at epsilon {epsilon.text} a channel of {channel.inputs} inputs would carry nothing; raise epsilon"
        )
    return channel if permanent is None else _permanent(channel, permanent, epsilon)


def _check(mechanism: Mechanism, request: ChannelRequest) -> None:
    """Refuse a request that does not suit a mechanism.

    Raises:
        ValueError: saying what would.

    """
    kind, name = request.kind, mechanism.name
    is_of_labels = mechanism.shape == "labels" and "labels" not in request.shapes
    if is_of_labels and kind.unshared and mechanism.is_open_to(kind):
        raise ValueError(kind.unshared)
    if mechanism.statistics and kind.statistic not in mechanism.statistics and mechanism.is_open_to(kind):
        known = " and ".join(mechanism.statistics)
        first = next(each for each in mechanism.statistics if each in kind.statistics)
        raise ValueError(f'estimates the {known} only; ask for statistic = "{first}", or let auto choose')
    if not mechanism.takes(request):
        fit = [each.name for each in MECHANISMS.values() if each.takes(request)]
        article = "an" if kind.name[0] in "ao" else "a"
        raise ValueError(f"{name!r} is not for {article} {kind.name}; name one that is: {', '.join(fit)}")
    if request.delta is not None and "delta" not in mechanism.options:
        raise ValueError(f"{name!r} has no delta, its epsilon always holds; remove delta")
    if request.utility is not None and "utility" not in mechanism.options:
        raise ValueError(f"{name!r} takes no utility; remove it, or name 'exponential'")


def _automatic(request: ChannelRequest, *, is_permanent: bool) -> str:
    fit = [each.name for each in MECHANISMS.values() if each.takes(request)]
    if len(fit) == 1:
        return fit[0]
    kind = request.kind
    if "grid" in request.shapes and is_permanent and kind.statistic == "mean":
        return ONE_BIT
    if "grid" in request.shapes:
        return auto.number_mechanism(kind.statistic, kind.size, request.epsilon.odds)
    return auto.category_mechanism(request.size, request.epsilon.odds)


def _permanent(channel: Channel, permanent: RequestedEpsilon, epsilon: RequestedEpsilon) -> Channel:
    from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse  # noqa: PLC0415 1 ms
    from client_sdk.protocol.mechanisms.permanent import Permanent  # noqa: PLC0415 1 ms

    able = [each.name for each in MECHANISMS.values() if each.is_permanent]
    if channel.name not in able:
        raise ValueError(f"{channel.name!r} cannot report a permanent answer; it is for: {', '.join(able)}")
    if epsilon.odds > permanent.odds:
        raise ValueError("a report cannot say more than the permanent answer; let epsilon be at most permanent_epsilon")
    return Permanent(KAryRandomizedResponse.within(permanent, channel.inputs), channel)
