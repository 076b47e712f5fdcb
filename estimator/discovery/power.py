"""The probability of finding a text that a given share of people have.

At each level of the search, up to the length of the text, the text's prefix must be among the
prefixes with the strongest evidence. The groups of devices that were not used for these levels must
then confirm the text.

Three assumptions simplify the computation:

* The number of reports that support a text's cell is normally distributed.
* Two texts never have the same hash.
* The text shares no prefix with other texts, which is the worst case.

`made_up_reports` estimates the number of fabricated reports that make the search list a text that
nobody has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, inf, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from client_sdk.protocol.mechanisms.grouped_geometry import CONFIRMING, GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.decoders.grouped_geometry import cell_support
from estimator.discovery.prefix_search import SURVIVORS, GroupTables, risks_of
from estimator.results.metric import LeastShare
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import bisected, z_of

OFTEN: Final = 0.9
"""The probability of finding a text that has the smallest share stated in a plan."""

SHORT: Final = 6
"""The number of letters of a short text in plans. Longer texts are harder to find, because their
prefixes must survive more levels.
"""

RANK: Final = 16
"""The assumed rank of a barely detectable text among the candidates of its level."""

_NORMAL: Final = NormalDist()

_POINTS: Final = 301
"""The number of grid points in `_passed`."""

_FARTHEST: Final = 9.0
"""The largest absolute value of a standard normal variable in numerical sums. Larger values are
left out, because their probability is less than the relative rounding error.
"""

_MOST_REPORTS: Final = 1e12


class Power:
    """The probabilities of finding texts, for the definition and the channel of one metric."""

    def __init__(self, domain: Text, channel: GroupedGeometry) -> None:
        """Prepare the groups, and the probabilities that a report supports a cell."""
        self._domain, self._support = domain, cell_support(channel).support
        self._groups, self._weight = domain.groups(channel.inputs), sum(channel.weights)

    def chance_to_find(self, share: float, letters: int, reports: float) -> float:
        """Return the probability that a text with a given share is found and confirmed.

        Args:
            share: the share of people with the text, above 0.
            letters: the number of letters of the text. May be 0.
            reports: the number of reports in the tally.
        """
        bits = min(self._domain.bits, (letters + 1) * self._domain.letter_bits)
        levels = self._groups[:-CONFIRMING]
        needed = next(place for place, group in enumerate(levels) if group.bits >= bits) + 1
        own, other = float(self._support.own), float(self._support.other)
        supported = other + (own - other) * share
        error = sqrt(max(1e-9, supported * (1 - supported)))
        means = [sqrt(reports * group.weight / self._weight) * (supported - other) / error for group in levels[:needed]]
        scale = sqrt(other * (1 - other)) / error
        survives = _passed(means, [scale * bar for bar in least_sums([group.bits for group in levels[:needed]])])
        rest = sum(group.weight for group in self._groups[needed:])
        confirming = deviation_to_confirm(len(levels) - needed + 1)
        return survives * self._stands_out(share, reports * rest / self._weight, confirming)

    def chance_to_see(self, share: float, letters: int, reports: float) -> float:
        """Return the probability that the interval of a text's share lies above 0.

        An analyst requests the text, so no search is needed. The arguments have the same
        meaning as in `chance_to_find`.
        """
        bits = min(self._domain.bits, (letters + 1) * self._domain.letter_bits)
        weight = sum(group.weight for group in self._groups if group.bits >= bits)
        return self._stands_out(share, reports * weight / self._weight, z_of(1))

    def least_share(self, letters: int, reports: float) -> float | None:
        """Return the smallest share of a text that is found with probability `OFTEN`.

        Return None if even the share 1 is too small.
        """
        return _least(lambda share: self.chance_to_find(share, letters, reports), 1.0)

    def least_shares(self, reports: float) -> tuple[LeastShare, ...]:
        """Return the smallest shares at which the search often finds a short and a long text.

        "Often" means with probability `OFTEN`. If answers are lists of texts, the share of a text
        is the share of devices whose list contains the text.
        """
        lengths = dict.fromkeys((min(SHORT, self._domain.max_length), self._domain.max_length))
        return tuple(LeastShare(letters, self.least_share(letters, reports)) for letters in lengths)

    def reports_to_find(self, share: float, letters: int) -> int | None:
        """Return the number of reports at which a text is found with probability `OFTEN`.

        Return None if more than `_MOST_REPORTS` would be needed.
        """
        return _whole(_least(lambda reports: self.chance_to_find(share, letters, reports), _MOST_REPORTS))

    def reports_to_see(self, share: float, letters: int) -> int | None:
        """Return the number of reports at which a text is detected with probability `OFTEN`.

        A requested text is detected if the interval of its share lies above 0. Return None if more
        than `_MOST_REPORTS` would be needed.
        """
        return _whole(_least(lambda reports: self.chance_to_see(share, letters, reports), _MOST_REPORTS))

    def _stands_out(self, share: float, reports: float, deviations: float) -> float:
        """Return the probability that support for a text's cell exceeds chance by ``deviations``.

        Chance is the expected number of supporting reports if nobody has the text. The unit of
        ``deviations`` is the standard error.
        """
        own, other = float(self._support.own), float(self._support.other)
        supported, chance = other + (own - other) * share, other
        margin = reports * (supported - chance) - deviations * (reports * chance * (1 - chance)) ** 0.5
        return _NORMAL.cdf(margin / max(1e-9, (reports * supported * (1 - supported)) ** 0.5))


def least_sums(sizes: Sequence[int]) -> list[float]:
    """Return, for each level, the minimum evidence with which a prefix survives the level.

    ``sizes`` contains the number of bits of a prefix at each level. The evidence is a sum over this
    level and all earlier levels. Each level contributes the prefix's support above chance, in
    standard errors. Among all possible prefixes, only `SURVIVORS` are expected to reach the minimum
    by chance.
    """
    return [sqrt(j) * _deviation_to_survive(bits) for j, bits in enumerate(sizes, 1)]


@lru_cache
def _deviation_to_survive(bits: int) -> float:
    """Return the support with which a prefix survives, in standard errors above chance.

    ``bits`` is the number of bits of the prefix.
    """
    chance = SURVIVORS / 2**bits
    return -inf if chance >= 1 else -_NORMAL.inv_cdf(chance)


@lru_cache
def deviation_to_confirm(levels_left: int) -> float:
    """Return the support that confirms a text, in standard errors above chance.

    ``levels_left`` is 1 if the last level found the text, 2 for the level before it, and so on.
    """
    return -_NORMAL.inv_cdf(risks_of(SURVIVORS, levels_left)[RANK - 1])


def _passed(means: Sequence[float], bars: Sequence[float]) -> float:
    """Return the probability that a running sum of normal variables is never below its minimum.

    ``means`` contains the mean of each variable, and ``bars`` the minimum of the sum at each step.
    """
    grid = np.linspace(-1, 1, _POINTS) * 8 * sqrt(len(means))
    kernel, density = _kernel(len(means)), np.zeros(_POINTS)
    density[_POINTS // 2] = 1
    total = 0.0
    for mean, bar in zip(means, bars, strict=True):
        total += mean
        density = np.convolve(density, kernel, "same") * (grid + total >= bar)
    return float(density.sum())


@lru_cache
def _kernel(levels: int) -> Floats:
    grid = np.linspace(-1, 1, _POINTS) * 8 * sqrt(levels)
    weights: Floats = np.exp(-(grid[np.abs(grid) <= _FARTHEST] ** 2) / 2)
    weights /= weights.sum()
    return weights


def _least(chance: Callable[[float], float], most: float) -> float | None:
    """Return the smallest argument, up to ``most``, at which ``chance`` returns at least `OFTEN`.

    ``chance`` must be an increasing function. Return None if even ``most`` is too small.
    """
    return None if chance(most) < OFTEN else bisected(lambda argument: chance(argument) >= OFTEN, 0.0, most)


def _whole(number: float | None) -> int | None:
    return None if number is None else ceil(number)


def made_up_reports(domain: Text, tables: GroupTables) -> int:
    """Estimate how many fabricated reports make the search list a text that nobody has.

    All fabricated reports support the same short text. With the returned number of reports, about
    half of all attempts succeed.
    """
    return math.ceil(float(made_up_by_group(domain, tables).sum()))


def made_up_by_group(domain: Text, tables: GroupTables) -> Floats:
    """Return the numbers of fabricated reports that `made_up_reports` adds up, shape (groups,).

    Attackers can choose the group and the symbol of each fabricated report. Attackers need enough
    reports at each level up to the length of the text. They also need enough reports in every group
    that confirms the text. If the confirming groups contradicted each other, the text would be
    listed as unclear.
    """
    sizes, reports = [group.bits for group in domain.groups(tables.law.points)], tables.reports
    end = min(domain.bits, (min(SHORT, domain.max_length) + 1) * domain.letter_bits)
    levels = next(place for place, bits in enumerate(sizes) if bits >= end) + 1
    # if each of the steps exceeds its limit by this margin on average, half of all attempts succeed
    margin = NormalDist().inv_cdf(0.5 ** (1 / (levels + 1)))
    sums = [max(0.0, bar + margin * math.sqrt(j)) for j, bar in enumerate(least_sums(sizes[:levels]), 1)]
    deviations = np.maximum(0, np.diff(sums, prepend=0.0))
    confirming = reports[levels:]
    to_confirm = deviation_to_confirm(len(sizes) - CONFIRMING - levels + 1) + margin
    of_confirming = to_confirm * confirming / math.sqrt(max(1, int(confirming.sum())))
    needed: Floats = np.append(deviations * np.sqrt(reports[:levels]), of_confirming)
    return needed * math.sqrt(tables.law.by_chance / (1 - tables.law.by_chance))
