"""A random member of a set is reported. The draw itself makes the set more private.

An input is a padded set of m elements, which are inputs of a channel with K inputs. One element is
drawn uniformly and sent through this channel. The distribution for a set is therefore the mean of
the distributions for its elements.

With k-ary randomized response, a symbol favors a single input, and therefore at most one of m
different elements. If the channel's worst ratio is r, the worst ratio of sets is 1 + (r - 1) / m.
Therefore r may be as large as 1 + m (e**epsilon - 1). The symbols of all m elements are then
e**epsilon times as likely as other symbols. Dummies must differ, too, so there are m dummies, and K
is k + m.

With a design, a symbol favors many inputs, possibly all elements of a set. The worst ratio of sets
is then r, and a single dummy is enough. In this case, K is k + 1, and the empty set contains the
dummy m times.

Sources: Wang, Huang, Nie, Wang, Xu & Yang 2018, "PrivSet: set-valued data analyses with locale
differential privacy" (all members are favored alike); Qin, Yang, Yu, Khalil, Xiao & Ren 2016,
"Heavy hitter estimation over set-valued data with local differential privacy", section 4 (a member
is drawn from a padded set).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from client_sdk.protocol.channel import Channel, Coins
from client_sdk.protocol.mechanisms.designs import K_ARY
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest, Mechanism


@dataclass(frozen=True, slots=True)
class DrawnMember(Channel):
    """The channel from a padded set to the report of one of its members.

    Attributes:
        member: the channel from a drawn member to a symbol.
        drawn: m, the number of members in a padded set, one of which is drawn.
        favored: the maximum number of members that a symbol favors: 1 or m.

    """

    member: Channel
    drawn: int
    favored: int

    @classmethod
    def build(cls, mechanism: Mechanism, request: ChannelRequest) -> DrawnMember:
        """Return the channel of sets in which a mechanism for labels reports the drawn member."""
        if mechanism.name != K_ARY:
            return cls(mechanism.build(request), request.kind.drawn, request.kind.drawn)
        return cls.favoring_all(request.epsilon, request.size - 1, request.kind.drawn)

    @classmethod
    def favoring_all(cls, epsilon: RequestedEpsilon, values: int, drawn: int) -> DrawnMember:
        """Return the channel that favors all members of a set of k values, by k-ary response."""
        of_member = epsilon._replace(odds=odds_of_member(epsilon.odds, drawn))
        return cls(KAryRandomizedResponse.within(of_member, values + drawn), drawn, 1)

    @property
    def name(self) -> str:
        """The name of the mechanism that reports the drawn member."""
        return self.member.name

    @property
    def inputs(self) -> int:
        """K, the number of values and dummies."""
        return self.member.inputs

    @property
    def symbols(self) -> int:
        """The number of symbols of the member's channel."""
        return self.member.symbols

    @property
    def integers(self) -> Mapping[str, int | tuple[int, ...]]:
        """The integers that define the member's channel, and m."""
        return {**self.member.integers, "drawn": self.drawn}

    @property
    def worst_ratio(self) -> Fraction:
        """The ratio between a set with the most favored members and a set without any."""
        return 1 + (self.member.worst_ratio - 1) * self.favored / self.drawn

    @property
    def last_step(self) -> Channel:
        """The channel from the drawn member to a symbol."""
        return self.member

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given) for a padded set of m inputs."""
        return sum((self.member.probability(symbol, each) for each in given), Fraction(0)) / self.drawn

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the members for which a symbol is most likely."""
        return self.member.likeliest(symbol)

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return the symbol of a random member; the draw is the same for every set."""
        return self.member.perturb(value[coins.below(self.drawn)], coins)


def odds_of_member(odds: Fraction, drawn: int) -> Fraction:
    """Return the worst ratio for a member's k-ary response that gives sets the ratio ``odds``."""
    return 1 + (odds - 1) * drawn
