"""The law of optimal means, whose scores are unbiased exactly.

Small channels go draw by draw, the real ones draw by draw of the first coin's sides and of the
second coin's ranges.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise, product
from pathlib import Path

import numpy as np
import pytest

from client_sdk.protocol import COIN_SCALE, Channel
from client_sdk.protocol.kinds.number import Count, Number
from client_sdk.protocol.mechanisms.catalogue import channel_for
from client_sdk.protocol.mechanisms.optimal_mean import RESOLUTION, STEPS, TABLES, OptimalMean, steps_between
from estimator.decoders import optimal_mean
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import exact_law_of_one_draw
from tests.support.laws.law_checks import CHANNEL_CHECKS, LEAST_USE_OF_EPSILON, Check, Subject, refuses
from tests.support.mutants.optimal_means import optimal_means
from tools.optimal_mean.derive import table_at
from tools.optimal_mean.free import best_scores
from tools.optimal_mean.linear_program import least_variance
from tools.optimal_mean.shapes import Shape

EPSILONS = [
    "0.000001",
    "0.05",
    "0.18",
    "0.5",
    "0.9",
    "1",
    "1.5",
    "2",
    "3",
    "4",
    "5",
    "6.5",
    "8",
    "8.0001",
    "8.5",
    "12",
    "16",
    "20",
]
ODDS = request("1").odds
SMALL = {
    "uneven": OptimalMean.of_total((2, 3, 2), 2, ODDS, 2**12),
    "wide": OptimalMean.of_total((1, 2), 4, ODDS, 2**11),
    "one-bit": OptimalMean.of_total((1,), 1, ODDS, 2**10),
}
MEAN = Number(Fraction(0), Fraction(9), "mean")
PAGE = Path(__file__).parents[2] / "docs" / "research" / "mechanisms.md"


class FirstCoin:
    """Coins of which the first is given, and which remember its bound."""

    def __init__(self, rest: object, first: int) -> None:
        self._rest, self._first, self.bound = rest, first, 0

    def bernoulli(self, numerator: int) -> bool:
        raise AssertionError(numerator)

    def below(self, bound: int) -> int:
        if not self.bound:
            self.bound = bound
            return self._first
        drawn: int = self._rest.below(bound)  # type: ignore[attr-defined] # coins of one draw
        return drawn


@pytest.mark.long
@for_each("check", CHANNEL_CHECKS)
@for_each("name", SMALL)
def test_a_small_channel_obeys_every_law(name: str, check: Check) -> None:
    check(Subject(SMALL[name], ODDS))


@pytest.mark.long
@for_each("name", optimal_means(SMALL["uneven"]))
def test_a_wrong_optimal_mean_is_refused(name: str) -> None:
    subject = Subject(optimal_means(SMALL["uneven"])[name], ODDS)
    assert any(refuses(partial(check, subject)) for check in CHANNEL_CHECKS)


def law_given(channel: OptimalMean, value: int, first: int) -> dict[int, Fraction]:
    """Return the law of the second coin, whose symbols change after each weight only."""
    weights = [channel.heavy] * channel.width + [channel.light] * len(channel.steps)

    def perturb(coins: object) -> int:
        both = FirstCoin(coins, first)
        symbol = channel.perturb(value, both)
        assert both.bound == channel.resolution <= COIN_SCALE
        return symbol

    return exact_law_of_one_draw(perturb, [0, *accumulate(weights)])


@for_each("epsilon", EPSILONS)
def test_a_real_channel_has_its_declared_law(epsilon: str) -> None:
    channel = OptimalMean.within(request(epsilon))
    assert channel.band_total <= COIN_SCALE
    last = channel.inputs - 1
    for value in sorted({0, 1, last // 3, channel.knots[len(channel.knots) // 2], last - 1, last}):
        _, numerator = channel.between(value)
        assert 0 <= numerator <= channel.resolution
        near = law_given(channel, value, channel.resolution - 1) if numerator < channel.resolution else {}
        far = law_given(channel, value, 0) if numerator else {}
        if 0 < numerator < channel.resolution:  # the first coin turns exactly there
            assert law_given(channel, value, numerator - 1) == far
            assert law_given(channel, value, numerator) == near
        part = Fraction(numerator, channel.resolution)
        for symbol in range(channel.symbols):
            mixed = part * far.get(symbol, Fraction(0)) + (1 - part) * near.get(symbol, Fraction(0))
            assert mixed == channel.probability(symbol, value)


@for_each("epsilon", EPSILONS)
def test_a_real_channel_keeps_and_uses_the_epsilon_that_was_asked_for(epsilon: str) -> None:
    channel, odds = OptimalMean.within(request(epsilon)), request(epsilon).odds
    knots = channel.knots  # between two of them laws are mixtures, which reveal no more
    weights = [[channel.weight(symbol, knot) for knot in knots] for symbol in range(channel.symbols)]
    assert max(Fraction(max(row), min(row)) for row in weights) == channel.worst_ratio
    assert 1 + LEAST_USE_OF_EPSILON * (odds - 1) <= channel.worst_ratio <= odds


@for_each("epsilon", EPSILONS)
def test_what_symbols_speak_for_is_on_average_the_answer_exactly(epsilon: str) -> None:
    channel = OptimalMean.within(request(epsilon))
    scores, last = optimal_mean.scores(channel), channel.inputs - 1
    for value in {0, 1, last // 3, last // 2, channel.knots[-2], last}:
        expected = sum(
            (channel.probability(symbol, value) * score for symbol, score in enumerate(scores)), start=Fraction(0)
        )
        assert expected == Fraction(value, last)


def test_scores_that_forget_the_steps_are_biased() -> None:
    channel = OptimalMean.within(request("2"))
    even = [Fraction(symbol, channel.symbols - 1) for symbol in range(channel.symbols)]
    ends = [
        sum(channel.probability(symbol, value) * score for symbol, score in enumerate(even))
        for value in (0, channel.inputs // 4, channel.inputs - 1)
    ]
    assert (ends[1] - ends[0]) / (ends[2] - ends[0]) != Fraction(channel.inputs // 4, channel.inputs - 1)


def worst(channel: Channel) -> float:
    """Return the exact worst variance on a range from -1 to 1."""
    assert isinstance(channel, OptimalMean)
    squares = optimal_mean.decoder(channel).squares
    return 4 * float((squares - np.linspace(0, 1, channel.inputs) ** 2).max())


@pytest.mark.parametrize("epsilon", ["0.05", "0.18", "0.6", "1.1", "2.2"])
def test_the_worst_variance_is_within_1_percent_of_every_unbiased_channel_with_some_scores(epsilon: str) -> None:
    channel = OptimalMean.within(request(epsilon))
    scores = 2 * np.array([float(score) for score in optimal_mean.scores(channel)]) - 1
    scores = np.unique(np.round(np.concatenate([scores, -scores, np.linspace(-1, 1, 31) * scores.max()]), 9))
    assert worst(channel) <= 1.01 * least_variance(float(epsilon), scores, 9)


@pytest.mark.parametrize(
    ("epsilon", "symbols", "width", "most"),
    [(4.7, 64, 14, 1.01), (6.2, 128, 20, 1.01), (8, 224, 19, 1.007)],
)
def test_little_is_lost_between_tables_of_large_epsilons(epsilon: float, symbols: int, width: int, most: float) -> None:
    """The best band of a number of symbols is within .5% of the linear program.

    All scores and places are free. With 224 symbols it is within .3%.
    """
    best, _ = best_scores(Shape(math.exp(epsilon), symbols, width))
    assert worst(OptimalMean.within(request(str(epsilon)))) <= most * best


def test_the_first_tables_are_what_the_command_derives() -> None:
    assert TABLES[1:3] == (table_at(0.18, 8, 4), table_at(0.18 * 3, 8, 4))


def test_steps_between_two_tables_of_one_shape_lie_between_theirs_and_can_be_drawn_together() -> None:
    for below, above in pairwise(TABLES):
        for part in (Fraction(1, 3), Fraction(1, 2), Fraction(1)):
            milliodds = below.milliodds + part * (above.milliodds - below.milliodds)
            steps = steps_between(below, above, milliodds)
            is_mixed = (below.width, len(below.steps)) == (above.width, len(above.steps))
            others = below.steps if is_mixed else above.steps
            assert all(min(ends) <= step <= max(ends) for step, *ends in zip(steps, others, above.steps, strict=True))
            assert RESOLUTION % math.lcm(*steps) == 0
            assert steps == above.steps or (is_mixed and part < 1)


def test_steps_between_two_tables_are_the_nearest_ones_in_exact_fractions() -> None:
    mixed = [
        both for both in pairwise(TABLES) if both[0].width == both[1].width and len(both[0].half) == len(both[1].half)
    ]
    for (below, above), part in zip(mixed, (Fraction(place, 97) for place in range(1, 97)), strict=False):
        milliodds = below.milliodds + part * (above.milliodds - below.milliodds)
        exact = [low + part * (high - low) for low, high in zip(below.steps, above.steps, strict=True)]
        nearest = [min((abs(step * place.denominator - place.numerator), step) for step in STEPS)[1] for place in exact]
        assert list(steps_between(below, above, milliodds)) == nearest


def test_the_page_names_the_digest_of_the_tables() -> None:
    digest = hashlib.sha256(json.dumps(TABLES).encode()).hexdigest()
    assert re.findall(r"\b[0-9a-f]{64}\b", PAGE.read_text(encoding="utf-8")) == [digest]


def test_tables_cover_every_epsilon_up_to_8_and_draw_no_coin_beyond_64_bits() -> None:
    odds = [table.milliodds for table in TABLES]
    assert odds == sorted(odds)
    assert odds[-1] >= 1000 * math.e**8
    assert RESOLUTION <= COIN_SCALE
    assert all(step in STEPS for table in TABLES[1:] for step in table.steps)


def test_auto_takes_it_for_every_mean() -> None:
    for domain, epsilon in product((MEAN, Count(Fraction(9), "mean")), ("0.1", "1", "8", "8.1", "20")):
        assert channel_for(domain, request(epsilon)).name == "optimal-mean"


@pytest.mark.long
def test_beyond_the_tables_the_band_narrows_and_no_width_beside_it_is_much_better() -> None:
    widths = []
    for epsilon in ("8.0001", "8.2", "8.5", "9", "10", "11", "12", "13", "14", "16", "18", "20"):
        channel = OptimalMean.within(request(epsilon))
        widths.append(channel.width)
        assert channel.steps == TABLES[-1].steps
        assert channel.width == min(width_by_cube_root(epsilon), TABLES[-1].width)
        for other in {max(1, channel.width - 1), channel.width + 1}:
            rival = OptimalMean.of_total(channel.steps, other, request(epsilon).odds)
            assert worst(channel) <= 1.1 * worst(rival)
    assert widths == sorted(widths, reverse=True)


def width_by_cube_root(epsilon: str) -> int:
    last = TABLES[-1]
    return max(1, int(last.width * (last.milliodds / 1000 / math.exp(float(epsilon))) ** (1 / 3)))
