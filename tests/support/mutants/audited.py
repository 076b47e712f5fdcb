"""Every right and every wrong device of the tests as an audit sees it: exact laws, pairs of them, a
claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations

import pytest

from client_sdk.protocol import Channel, Coins, Metric
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.epsilon import as_float, float_ceiling
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms import exponential
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.audit.attack import PrivacyClaim
from estimator.audit.run import extremes
from tests.support.devices.definitions import NUMBER, SET, metric_of
from tests.support.laws import bands
from tests.support.laws.coins import exact_law
from tests.support.laws.group_mean_checks import GROUP_MEAN_MUTANTS, GroupMeanSubject
from tests.support.laws.group_mean_checks import Report as GroupMeanReport
from tests.support.laws.group_mean_checks import right_report as right_report_of_means
from tests.support.laws.metrics_of_means import by_group
from tests.support.laws.permanents import RandomFunction, asking, reports_of
from tests.support.laws.set_checks import SET_MUTANTS, Report, SetSubject, right_report
from tests.support.laws.text_checks import TEXT_MUTANTS, TEXTS, TextSubject, toy
from tests.support.laws.text_checks import Report as TextReport
from tests.support.laws.text_checks import right_report as right_report_of_texts
from tests.support.laws.utilities import ASYMMETRIC
from tests.support.mutants import block_designs, mechanisms, noise, optimal_means, trees
from tests.support.mutants.audits import Law, laws, true_epsilon
from tests.support.mutants.permanent_answers import PERMANENT_MUTANTS, MakeFunction
from tests.support.mutants.rounding import ROUNDING_MUTANTS, Rounding

EPSILON = RequestedEpsilon.parse(Decimal(1))
K_ARY = KAryRandomizedResponse.within(EPSILON, 5)
BINARY = RandomizedResponse.within(EPSILON)
PAIRS, BLOCKS = CyclicDesign.within(EPSILON, 6, 2, 5), CyclicDesign.within(EPSILON, 7, 3, 2)
BALANCED, WEIGHTED = BalancedDesign.within(EPSILON, 7, 7, 3, 1), BalancedDesign.within(EPSILON, 6, 6, 3, 1)
GEOMETRY = ProjectiveGeometry.within(EPSILON, 13, 3, 3)
LAPLACE = Laplace.within(EPSILON, 4, 2**10)
GAUSSIAN = Gaussian(4, 5, (40, 33, 18, 7, 2, 1), Fraction(3))
SQUARE_WAVE = SquareWave.within(EPSILON, 4, 2**12)
OPTIMAL_MEAN = OptimalMean.of_total((2, 3, 2), 2, EPSILON.odds, 2**8)
TREE = Hierarchical.within(EPSILON, 5)
PAIRS_AND_BLOCKS = Hierarchical(7, (1, 2, 3), (1, 3, 2), Hierarchical.within(EPSILON, 7).keep_numerators)
GROUP_MEANS = by_group(Category(("a", "b", "c")), 3)
SETS = metric_of(SET, mechanism="k-ary-randomized-response")
MEAN = metric_of(NUMBER, epsilon=2, permanent_epsilon=2)
"""The epsilon of a permanent answer that is one of two ends."""

YES_OR_NO = asking(2, epsilon='"ln 3"', permanent='"ln 3"').metric("m")
THREE = asking(3, epsilon="1", permanent="1").metric("m")

HISTORIES: dict[str, tuple[Metric, tuple[Sequence[object], Sequence[object]]]] = {
    "a permanent answer drawn anew": (YES_OR_NO, ([False] * 3, [True] * 3)),
    "a rounding offset drawn anew": (MEAN, ([0] * 5, [4.5] * 5)),
    "the same coins for all answers": (THREE, ("aaa", "bbb")),
    "a permanent answer that never lies": (YES_OR_NO, ([False] * 2, [True] * 2)),
}
"""The evidence against a wrong permanent answer, if any: a metric, and two histories that never
change.
"""


@dataclass(frozen=True)
class Audited:
    """The laws that an audit tells apart, and the claim about them.

    Attributes:
        laws: of each answer.
        pairs: of answers, by place, that an audit plays.
        claim: of the device.
        delta: exact.

    """

    laws: Sequence[Law]
    pairs: Sequence[tuple[int, int]]
    claim: PrivacyClaim
    delta: Fraction = Fraction(0)

    def truth(self, pair: tuple[int, int]) -> float:
        """Return the smallest valid epsilon of a pair of answers."""
        return true_epsilon(self.laws[pair[0]], self.laws[pair[1]], self.delta)

    @cached_property
    def excess(self) -> float:
        """The excess of any two answers' true epsilon over the claim."""
        return max(map(self.truth, combinations(range(len(self.laws)), 2))) - self.claim.epsilon


def _of_channel(channel: Channel) -> Audited:
    """The ends, and two inputs between them, as the audit plays them."""
    ends = sorted({0, 1, channel.inputs // 2, channel.inputs - 1})
    claim = PrivacyClaim(as_float(epsilon_nanos(channel)), float_ceiling(channel.delta))
    return Audited(laws(channel), list(combinations(ends, 2)), claim, channel.delta)


def _of_set(metric: Metric, report: Report) -> Audited:
    subject = SetSubject(metric, bands.request("1"), report)
    answers = list(subject.answers())
    played = [answers.index(tuple(answer.value)) for answer in extremes(metric)]  # type: ignore[arg-type] # sets
    claim = PrivacyClaim(as_float(metric.epsilon_nanos))
    return Audited([subject.law(answer) for answer in answers], list(combinations(played, 2)), claim)


def _of_group_means(report: GroupMeanReport) -> Audited:
    subject = GroupMeanSubject(GROUP_MEANS, report)
    answers = list(subject.answers())
    played = [answers.index(tuple(answer.value)) for answer in extremes(GROUP_MEANS)]  # type: ignore[arg-type] # pairs
    claim = PrivacyClaim(as_float(GROUP_MEANS.epsilon_nanos))
    return Audited([subject.law(answer) for answer in answers], list(combinations(played, 2)), claim)


def _of_text(report: TextReport) -> Audited:
    """Among others, texts that differ in length and in their first letter are played."""
    subject = TextSubject(toy(), report)
    played = [TEXTS.index(str(answer.value)) for answer in extremes(subject.metric)]
    claim = PrivacyClaim(as_float(subject.metric.epsilon_nanos))
    return Audited([subject.law(text) for text in TEXTS], list(combinations(played, 2)), claim)


def _of_rounding(rounding: Rounding, channel: Channel) -> Audited:
    """Seven places of a range, rounded to the channel's inputs and reported by it."""
    places = [Fraction(place, 6) * (channel.inputs - 1) for place in range(7)]

    def perturb(place: Fraction, coins: Coins) -> int:
        return channel.perturb(rounding(place, channel.inputs, coins), coins)

    ends = list(combinations((0, 1, 3, 6), 2))
    return Audited([exact_law(partial(perturb, place)) for place in places], ends, _of_channel(channel).claim)


@contextmanager
def _tables() -> Iterator[dict[str, Channel]]:
    """Yield a table whose every draw can be replayed and the wrong ones beside it, until the
    context ends.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exponential, "TOTAL", 2**12)
        right = Exponential.within(EPSILON, ASYMMETRIC)
        yield {"": right} | noise.of_tables(right)


def _of_table(name: str) -> Audited:
    with _tables() as tables:
        return _of_channel(tables[name])


def _of_history(metric: Metric, histories: Sequence[Sequence[object]], make: MakeFunction) -> Audited:
    """Two histories of permanent answers that never change."""
    laws = [exact_law(partial(reports_of, metric, history, function=make)) for history in histories]
    claimed = min(len(histories[0]) * metric.epsilon_nanos, metric.channel.permanent_nanos)
    return Audited(laws, [(0, 1)], PrivacyClaim(as_float(claimed)))


RIGHT_CHANNELS: dict[str, Channel] = {
    "k-ary": K_ARY,
    "binary": BINARY,
    "pairs": PAIRS,
    "blocks": BLOCKS,
    "balanced": BALANCED,
    "weighted": WEIGHTED,
    "geometry": GEOMETRY,
    "laplace": LAPLACE,
    "gaussian": GAUSSIAN,
    "square wave": SQUARE_WAVE,
    "optimal mean": OPTIMAL_MEAN,
    "tree": TREE,
    "tree of pairs and blocks": PAIRS_AND_BLOCKS,
}

WRONG_CHANNELS: dict[str, Channel] = {
    **{f"k-ary: {name}": make(K_ARY) for name, make in mechanisms.CHANNEL_MUTANTS.items()},
    **{f"binary: {name}": make(BINARY) for name, make in mechanisms.BINARY_MUTANTS.items()},
    **{f"pairs: {name}": mutant for name, mutant in block_designs.cyclic(PAIRS).items()},
    **{f"blocks: {name}": mutant for name, mutant in block_designs.cyclic(BLOCKS).items()},
    **{f"balanced: {name}": mutant for name, mutant in block_designs.balanced(BALANCED).items()},
    **{f"weighted: {name}": mutant for name, mutant in block_designs.balanced(WEIGHTED).items()},
    **{f"geometry: {name}": mutant for name, mutant in block_designs.projective(GEOMETRY).items()},
    **{f"laplace: {name}": mutant for name, mutant in noise.of_laplace(LAPLACE).items()},
    **{f"gaussian: {name}": mutant for name, mutant in noise.of_gaussian(GAUSSIAN).items()},
    **{f"square wave: {name}": bands.mutant(SQUARE_WAVE, way) for name, way in bands.BAND_MUTANTS.items()},
    **{f"optimal mean: {name}": mutant for name, mutant in optimal_means.optimal_means(OPTIMAL_MEAN).items()},
    **{f"tree: {name}": mutant for name, mutant in trees.hierarchical(TREE).items()},
}

with _tables() as _named:
    _TABLES = tuple(name for name in _named if name)

RIGHT: dict[str, Callable[[], Audited]] = {
    **{name: partial(_of_channel, channel) for name, channel in RIGHT_CHANNELS.items()},
    "table": partial(_of_table, ""),
    "set": partial(_of_set, SETS, right_report),
    "mean by group": partial(_of_group_means, right_report_of_means),
    "text": partial(_of_text, right_report_of_texts),
    **{f"permanent: {name}": partial(_of_history, *shown, RandomFunction) for name, shown in HISTORIES.items()},
}

MUTANTS: dict[str, Callable[[], Audited]] = {
    **{name: partial(_of_channel, channel) for name, channel in WRONG_CHANNELS.items()},
    **{f"table: {name}": partial(_of_table, name) for name in _TABLES},
    **{f"set: {name}": partial(_of_set, SETS, report) for name, report in SET_MUTANTS.items()},
    **{f"mean by group: {name}": partial(_of_group_means, report) for name, report in GROUP_MEAN_MUTANTS.items()},
    **{f"text: {name}": partial(_of_text, report) for name, report in TEXT_MUTANTS.items()},
    **{f"rounding: {name}": partial(_of_rounding, way, K_ARY) for name, way in ROUNDING_MUTANTS.items()},
    **{
        f"permanent: {name}": partial(_of_history, *shown, PERMANENT_MUTANTS[name]) for name, shown in HISTORIES.items()
    },
}


@cache
def right(name: str) -> Audited:
    """Return a right device."""
    return RIGHT[name]()


@cache
def mutant(name: str) -> Audited:
    """Return a wrong one."""
    return MUTANTS[name]()
