"""Sets: a device draws one element of its padded set and reports only this element.

A set contains at most m of k values. Smaller sets are padded with *dummies*, which are inputs that
represent no value. The device draws one of the m elements of the *padded set* uniformly. A channel
with K inputs, called the *member's channel*, perturbs this element.

A symbol *favors* its most likely inputs. The *worst ratio* is the largest ratio of a symbol's
probabilities for two inputs, or for two sets. The member's channel has the worst ratio r.

With k-ary randomized response, a symbol favors one input, and thus at most one of m different
elements. The worst ratio for two sets is then only 1 + (r - 1) / m. Therefore r may be 1 + m
(e**epsilon - 1). The symbols that favor any of the m elements are then e**epsilon times as likely
as other symbols. The dummies of a set must differ, so there are m dummies, and K = k + m.

With a block design, a symbol may favor all elements of a set. The worst ratio for two sets is then
r. One dummy is enough, so K = k + 1. The empty set is padded with m copies of the dummy.

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
    """The channel from a padded set to a report about one element.

    Attributes:
        member: the channel from the drawn element to a symbol.
        drawn: m, the number of elements in a padded set.
        favored: the maximum number of elements of a set that one symbol favors: 1 or m.
    """

    member: Channel
    drawn: int
    favored: int

    @classmethod
    def build(cls, mechanism: Mechanism, request: ChannelRequest) -> DrawnMember:
        """Return the channel for a request about sets; ``mechanism`` perturbs the drawn member."""
        if mechanism.name != K_ARY:
            return cls(mechanism.build(request), request.kind.drawn, request.kind.drawn)
        return cls.favoring_all(request.epsilon, request.size - 1, request.kind.drawn)

    @classmethod
    def favoring_all(cls, epsilon: RequestedEpsilon, values: int, drawn: int) -> DrawnMember:
        """Return the channel that perturbs the drawn element by k-ary randomized response."""
        of_member = epsilon._replace(odds=odds_of_member(epsilon.odds, drawn))
        return cls(KAryRandomizedResponse.within(of_member, values + drawn), drawn, 1)

    @property
    def name(self) -> str:
        """The name of the mechanism that reports the drawn member."""
        return self.member.name

    @property
    def inputs(self) -> int:
        """The number of values and dummies."""
        return self.member.inputs

    @property
    def symbols(self) -> int:
        """The number of symbols of the channel that perturbs the drawn member."""
        return self.member.symbols

    @property
    def integers(self) -> Mapping[str, int | tuple[int, ...]]:
        """The integers that define the member's channel, and the size of a padded set."""
        return {**self.member.integers, "drawn": self.drawn}

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio of a symbol's probabilities for two sets."""
        return 1 + (self.member.worst_ratio - 1) * self.favored / self.drawn

    @property
    def last_step(self) -> Channel:
        """The channel from the drawn member to a symbol."""
        return self.member

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` is a padded set of inputs."""
        return sum((self.member.probability(symbol, each) for each in given), Fraction(0)) / self.drawn

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the most likely members for a symbol."""
        return self.member.likeliest(symbol)

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return a symbol for a randomly drawn member. The draw does not depend on the set."""
        return self.member.perturb(value[coins.below(self.drawn)], coins)


def odds_of_member(odds: Fraction, drawn: int) -> Fraction:
    """Return the worst ratio of the k-ary randomized response for a drawn member.

    The worst ratio for padded sets of ``drawn`` elements is then ``odds``.
    """
    return 1 + (odds - 1) * drawn
