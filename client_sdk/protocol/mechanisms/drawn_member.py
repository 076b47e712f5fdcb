"""Sets: a device draws one member of its set, and reports only this member.

A set contains at most m of k values. If it contains fewer, it is padded with *dummies*, which are
inputs that represent no value. The result is a *padded set* of m elements. One element is drawn
uniformly, and perturbed by a channel with K inputs, called the member's channel. The distribution
of the symbol is therefore the mean of the distributions for the m elements.

A symbol *favors* the inputs for which it is most likely. The *worst ratio* is the largest ratio of
a symbol's probabilities for two inputs, or for two sets. With k-ary randomized response, a symbol
favors a single input, and therefore at most one of m different elements. If the worst ratio of the
member's channel is r, the worst ratio of sets is only 1 + (r - 1) / m. Therefore r may be as large
as 1 + m (e**epsilon - 1). The symbols of all m elements are then e**epsilon times as likely as
other symbols. Because the dummies in a set must differ, too, there are m dummies, and K is k + m.

With a block design, a symbol favors many inputs, possibly all elements of a set. The worst ratio of
sets is then r, and a single dummy is enough. In this case, K is k + 1, and the empty set is padded
to m times the same dummy.

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
    """The channel from a padded set to a report about one of its elements.

    Attributes:
        member: the channel from the drawn element to a symbol.
        drawn: m, the number of elements in a padded set, one of which is drawn.
        favored: the maximum number of elements of a set that the same symbol favors, which is 1 or
            m.

    """

    member: Channel
    drawn: int
    favored: int

    @classmethod
    def build(cls, mechanism: Mechanism, request: ChannelRequest) -> DrawnMember:
        """Return the channel for a question about sets; ``mechanism`` perturbs the drawn member."""
        if mechanism.name != K_ARY:
            return cls(mechanism.build(request), request.kind.drawn, request.kind.drawn)
        return cls.favoring_all(request.epsilon, request.size - 1, request.kind.drawn)

    @classmethod
    def favoring_all(cls, epsilon: RequestedEpsilon, values: int, drawn: int) -> DrawnMember:
        """Return the channel that perturbs the drawn member by k-ary randomized response.

        A report then names any member of the set e**epsilon times as often as any other value.

        Args:
            epsilon: the requested epsilon.
            values: the number of values.
            drawn: the number of elements in a padded set.

        """
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
        """The largest ratio of a symbol's probabilities for two sets.

        It occurs if the symbol favors as many elements of the first set as possible, and no element
        of the second set.
        """
        return 1 + (self.member.worst_ratio - 1) * self.favored / self.drawn

    @property
    def last_step(self) -> Channel:
        """The channel from the drawn member to a symbol."""
        return self.member

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` is a padded set of inputs."""
        return sum((self.member.probability(symbol, each) for each in given), Fraction(0)) / self.drawn

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the members for which a symbol is most likely."""
        return self.member.likeliest(symbol)

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return a symbol for a randomly drawn member. The draw does not depend on the set."""
        return self.member.perturb(value[coins.below(self.drawn)], coins)


def odds_of_member(odds: Fraction, drawn: int) -> Fraction:
    """Return the worst ratio of the k-ary randomized response that perturbs a drawn member.

    The worst ratio for padded sets of ``drawn`` elements is then ``odds``.
    """
    return 1 + (odds - 1) * drawn
