"""The catalog of mechanisms, and the choice of a mechanism for each metric.

A registry may name a metric's mechanism. A version of Hearsay that lacks this mechanism refuses the
metric, because a registry must have the same meaning in every version.

With ``mechanism = "auto"``, this module chooses the mechanism. For a given kind and epsilon, this
choice changes only with the registry's schema number. For k values, balanced designs have the
smallest variance, or nearly the smallest variance. ``auto`` prefers a mechanism with fewer symbols
if its variance exceeds the minimum by at most 0.5%.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.kinds.kind import MAX_CATEGORIES, Kind
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.kinds.grid import Grid
    from client_sdk.protocol.mechanisms.designs import Candidate

Utility = Sequence[Sequence[Fraction]]
"""A square table of utilities: a row for each true value, a column for each reported value. A
larger utility means a more useful report."""

GOOD_ENOUGH = Fraction(1005, 1000)
"""The largest acceptable ratio of a mechanism's variance to the minimum. A variance that is 0.5%
larger costs as much precision as losing 200 of 40,000 devices."""

FEW_COUNTS = 32
"""If a metric has at most this many possible counts, ``auto`` selects a mechanism for categories.
The shares of categories are estimated without bias. For more possible counts, ``auto`` selects a
mechanism for numbers."""

CACHED = 64
"""The maximum number of cached channels. A new release of a registry usually requests the same
channels as before."""


class ChannelRequest(NamedTuple):
    """The properties of a metric that determine its channel.

    Attributes:
        kind: the definition of the possible answers.
        epsilon: the requested epsilon.
        has_no_answer: whether the channel has an input for "no answer". If so, devices also report
            about windows in which nothing was recorded.
        delta: the metric's delta; None if unset.
        utility: the metric's table of utilities; None if unset.
    """

    kind: Kind
    epsilon: RequestedEpsilon
    has_no_answer: bool = False
    delta: Fraction | None = None
    utility: Utility | None = None

    @property
    def shapes(self) -> tuple[str, ...]:
        """The possible forms of the inputs, such as ``labels``."""
        return ("labels",) if self.has_no_answer else self.kind.shapes

    @property
    def size(self) -> int:
        """The number of inputs, if each input represents one answer.

        Raises:
            ValueError: if an input does not represent a single answer, or if more than
                `MAX_CATEGORIES` answers are possible.
        """
        size = self.kind.size
        if size is None:
            raise ValueError(self.kind.unshared)
        if size > MAX_CATEGORIES:
            raise ValueError(f"has {size} shares; at most {MAX_CATEGORIES} are supported")
        return size + self.has_no_answer

    def points(self, most: int) -> int:
        """Return the number of grid points to which numbers are rounded: at most ``most``."""
        return cast("Grid", self.kind).points(most)  # only mechanisms for grids call this


class Mechanism(NamedTuple):
    """A mechanism that a registry may name.

    Attributes:
        name: the mechanism's name in the registry.
        builder: the channel's class, written as ``module:class``. The module is imported on first
            use, so that a device loads only the mechanisms of its registry.
        shape: the supported form of inputs, one of `Kind.shapes`.
        statistics: the statistics that can be estimated from reports about numbers, such as
            ``mean``; empty if inputs are not numbers.
        options: the keys of a metric's definition that only this mechanism uses, such as ``delta``.
        is_permanent: whether the mechanism supports permanent answers. A device draws a permanent
            answer once and reuses it in later reports. Each input of a mechanism for permanent
            answers is an answer, or the lower or upper end of a number's range.
    """

    name: str
    builder: str
    shape: str
    statistics: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    is_permanent: bool = False

    def takes(self, request: ChannelRequest) -> bool:
        """Whether the mechanism supports the shape and the kind of a request."""
        return self.shape in request.shapes and self.is_open_to(request.kind)

    def is_open_to(self, kind: Kind) -> bool:
        """Whether a kind allows the mechanism's statistics and options."""
        may_ask = not self.statistics or bool({*self.statistics} & {*kind.statistics})
        return may_ask and not self.options & kind.refused.keys()

    def build(self, request: ChannelRequest) -> Channel:
        """Return the mechanism's channel for a request.

        Raises:
            ValueError: if the mechanism has no channel for the request. The message says how to fix
                the metric's definition.
        """
        module, _, name = self.builder.partition(":")
        return built_once(getattr(import_module(module), name).build, request)


@lru_cache(maxsize=CACHED)
def built_once(build: Callable[[ChannelRequest], Channel], request: ChannelRequest) -> Channel:
    """Return the channel that a mechanism builds. Equal requests get the same object."""
    return build(request)


AUTO: Final = "auto"
ONE_OF: Final = "one-of"
ONE_BIT: Final = "one-bit"
PAIRS: Final = "pair-geometry"

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
        Mechanism(
            ONE_BIT, "client_sdk.protocol.mechanisms.randomized_response:OneBit", "grid", ("mean",), is_permanent=True
        ),
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
            "client_sdk.protocol.mechanisms.balanced_design:BalancedDesign",
            "labels",
            is_permanent=True,
        ),
        Mechanism("optimal-mean", "client_sdk.protocol.mechanisms.optimal_mean:OptimalMean", "grid", ("mean",)),
        Mechanism("rotated-axes", "client_sdk.protocol.mechanisms.rotated_axes:RotatedAxes", "ball"),
        Mechanism("grouped-geometry", "client_sdk.protocol.mechanisms.grouped_geometry:GroupedGeometry", "cells"),
        Mechanism(ONE_OF, "client_sdk.protocol.mechanisms.one_of:OneOf", "members"),
        Mechanism(PAIRS, "client_sdk.protocol.mechanisms.pair_geometry:PairGeometry", "members"),
        Mechanism("crosses", "client_sdk.protocol.mechanisms.crosses:Crosses", "features"),
    )
}
"""A mapping from the name of each mechanism to the mechanism."""

NAMES: Final = (AUTO, *MECHANISMS)
"""The mechanism names that a registry may contain."""


def channel_for(  # noqa: PLR0913 everything that a definition may say about its mechanism
    kind: Kind,
    epsilon: RequestedEpsilon,
    mechanism: str = AUTO,
    *,
    delta: Fraction | None = None,
    utility: Utility | None = None,
    permanent: RequestedEpsilon | None = None,
    has_no_answer: bool = False,
) -> Channel:
    """Return the channel for a metric's definition.

    Raises:
        ValueError: if the mechanism is unknown or does not support the kind or the request, or if
            its channel would carry no information. The message says what to change.
    """
    if mechanism not in NAMES:
        raise ValueError(f"{mechanism!r} is not a mechanism; the mechanisms are: {', '.join(NAMES)}")
    rows = None if utility is None else tuple(map(tuple, utility))
    request = ChannelRequest(kind, epsilon, has_no_answer, delta, rows)
    chosen = MECHANISMS[_automatic(request, is_permanent=permanent is not None) if mechanism == AUTO else mechanism]
    _check(chosen, request)
    channel = _of_sets(chosen, request) if kind.drawn and chosen.shape == "labels" else chosen.build(request)
    if channel.worst_ratio <= 1:
        raise ValueError(
            f"with {channel.inputs} possible inputs, a report at epsilon {epsilon.text} reveals nothing; raise epsilon"
        )
    return channel if permanent is None else _permanent(channel, permanent, epsilon)


def _check(mechanism: Mechanism, request: ChannelRequest) -> None:
    """Raise a ValueError with advice if a mechanism does not support a request."""
    kind, name = request.kind, mechanism.name
    is_of_labels = mechanism.shape == "labels" and "labels" not in request.shapes
    if is_of_labels and kind.unshared and mechanism.is_open_to(kind):
        raise ValueError(kind.unshared)
    if mechanism.statistics and kind.statistic not in mechanism.statistics and mechanism.is_open_to(kind):
        known = " and ".join(mechanism.statistics)
        first = next(each for each in mechanism.statistics if each in kind.statistics)
        raise ValueError(f'can only estimate the {known}; use statistic = "{first}", or mechanism = "auto"')
    if not mechanism.takes(request):
        fit = [each.name for each in MECHANISMS.values() if each.takes(request)]
        article = "an" if kind.name[0] in "ao" else "a"
        raise ValueError(f"{name!r} does not support {article} {kind.name}; use one that does: {', '.join(fit)}")
    if request.delta is not None and "delta" not in mechanism.options:
        raise ValueError(f"{name!r} has no delta; remove it")
    if request.utility is not None and "utility" not in mechanism.options:
        raise ValueError(f"{name!r} has no utility; remove it, or use 'exponential'")


@lru_cache(maxsize=CACHED)
def _automatic(request: ChannelRequest, *, is_permanent: bool) -> str:
    fit = [each.name for each in MECHANISMS.values() if each.takes(request)]
    if len(fit) == 1:
        return fit[0]
    kind = request.kind
    if "grid" in request.shapes and is_permanent and kind.statistic == "mean":
        return ONE_BIT
    if "grid" in request.shapes:
        return number_mechanism(kind.statistic, kind.size, request.epsilon.odds)
    if kind.drawn:
        return set_mechanism(request.size - 1, kind.drawn, request.epsilon.odds)
    return category_mechanism(request.size, request.epsilon.odds)


def _of_sets(mechanism: Mechanism, request: ChannelRequest) -> Channel:
    from client_sdk.protocol.mechanisms.drawn_member import DrawnMember  # noqa: PLC0415 takes 1 ms

    return DrawnMember.build(mechanism, request)


def _permanent(channel: Channel, permanent: RequestedEpsilon, epsilon: RequestedEpsilon) -> Channel:
    from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse  # noqa: PLC0415 takes 1 ms
    from client_sdk.protocol.mechanisms.permanent import Permanent  # noqa: PLC0415 takes 1 ms

    able = [each.name for each in MECHANISMS.values() if each.is_permanent]
    if channel.name not in able:
        raise ValueError(f"{channel.name!r} cannot report a permanent answer; it is for: {', '.join(able)}")
    if epsilon.odds > permanent.odds:
        raise ValueError(
            "epsilon must be at most permanent_epsilon: a report cannot reveal more than the permanent answer"
        )
    return Permanent(KAryRandomizedResponse.within(permanent, channel.inputs), channel)


def category_mechanism(inputs: int, odds: Fraction) -> str:
    """Return the mechanism that ``auto`` chooses for answers with ``inputs`` possible values.

    The choice applies to categories, ordinals, pairs, small counts and sets. ``odds`` is
    e**epsilon.
    """
    from client_sdk.protocol.mechanisms import designs  # noqa: PLC0415 takes 2 ms

    if designs.best_subset_size(inputs, odds) == 1:
        return designs.K_ARY  # minimum variance, and only as many symbols as values
    candidates = [*designs.by_name(inputs, odds), *_balanced(inputs, odds)]
    least = min(candidate.variance for candidate in candidates)
    good = (candidate for candidate in candidates if candidate.variance <= GOOD_ENOUGH * least)
    return min(good, key=lambda candidate: candidate.symbols).name


def set_mechanism(values: int, drawn: int, odds: Fraction) -> str:
    """Return the mechanism that ``auto`` chooses for sets.

    Three types of mechanisms are compared by the variance of a rare value's estimated share.

    * k-ary randomized response reports members more often than other values.
    * A block design reports a block, usually one that contains a randomly drawn member. With
      ``pair-geometry``, the block usually contains one of two drawn members. For many values and a
      small epsilon, a block design has the smallest variance.
    * ``one-of`` reports whether one randomly drawn value is a member. ``one-of`` has the smallest
      variance if sets may contain most of the values.
    """
    from client_sdk.protocol.mechanisms import designs, pair_geometry  # noqa: PLC0415 6 ms

    gap = (odds - 1) ** 2
    favoring_all = (values + drawn * odds - 1) / gap
    asking_one = values * odds / gap
    block_size = designs.best_subset_size(values + 1, odds)
    favoring_one = drawn**2 * designs.rare_variance(values + 1, block_size, odds)
    blocks = pair_geometry.best_blocks(values, drawn, odds)
    if asking_one < min(favoring_all, favoring_one):
        return ONE_OF
    if blocks is not None and blocks.rare_variance(odds) * GOOD_ENOUGH < min(favoring_all, favoring_one):
        return PAIRS
    return designs.K_ARY if favoring_all <= GOOD_ENOUGH * favoring_one else category_mechanism(values + 1, odds)


def _balanced(inputs: int, odds: Fraction) -> Iterator["Candidate"]:
    from client_sdk.protocol.mechanisms.balanced_design import UNIT, balanced_choice  # noqa: PLC0415 2 ms
    from client_sdk.protocol.mechanisms.designs import Candidate  # noqa: PLC0415 2 ms

    design = balanced_choice(inputs, odds)
    if design is not None:
        yield Candidate(Fraction(design.variance, UNIT), design.symbols, "balanced-design")


def number_mechanism(statistic: str, answers: int | None, odds: Fraction) -> str:
    """Return the mechanism that ``auto`` chooses for a number or a count.

    ``answers`` is the number of possible counts; None if ``statistic`` is ``mean``, or if the
    numbers are not counts.
    """
    if statistic == "mean":
        return "optimal-mean"
    if answers is not None and answers <= FEW_COUNTS:
        return category_mechanism(answers, odds)
    return "square-wave" if statistic == "distribution" else "hierarchical"
