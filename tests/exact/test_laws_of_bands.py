"""The law of square waves: small channels draw by draw, the real ones range by range."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import pytest

from client_sdk.protocol import COIN_SCALE
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import channel_for, square_wave
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.decoders import square_wave as inverse
from tests.support.core.tables import for_each
from tests.support.laws.bands import (
    BAND_MUTANTS,
    REPLAYED,
    Way,
    ends_of_draws,
    expected_answer,
    mutant,
    request,
)
from tests.support.laws.coins import exact_law_of_one_draw
from tests.support.laws.law_checks import CHANNEL_CHECKS, LEAST_USE_OF_EPSILON, Check, Subject, law, refuses

EPSILONS = ["0.01", "0.25", "0.5", "1", "1.5", "2", "3", "4", "5", "8", "20"]
SMALL = {text: SquareWave.within(request(text), 4, REPLAYED) for text in ("0.5", "2")}


@for_each("check", CHANNEL_CHECKS)
@for_each("epsilon", SMALL)
def test_a_small_channel_obeys_every_law(epsilon: str, check: Check) -> None:
    check(Subject(SMALL[epsilon], request(epsilon).odds))


@pytest.mark.parametrize("epsilon", SMALL)
def test_the_law_range_by_range_is_the_law_draw_by_draw(epsilon: str) -> None:
    channel = SMALL[epsilon]
    for value in range(channel.inputs):
        perturb = partial(channel.perturb, value)
        assert exact_law_of_one_draw(perturb, ends_of_draws(channel)) == law(channel, value)


@for_each("epsilon", EPSILONS)
def test_a_real_channel_has_its_declared_law(epsilon: str) -> None:
    channel = SquareWave.within(request(epsilon))
    assert channel.total <= COIN_SCALE
    for value in (0, 1, channel.inputs // 2, channel.inputs - 1):
        observed = exact_law_of_one_draw(partial(channel.perturb, value), ends_of_draws(channel))
        assert sum(observed.values()) == 1
        assert observed == {symbol: channel.probability(symbol, value) for symbol in range(channel.symbols)}


@for_each("epsilon", EPSILONS)
def test_a_real_channel_uses_the_epsilon_that_was_asked_for(epsilon: str) -> None:
    channel, odds = SquareWave.within(request(epsilon)), request(epsilon).odds
    corners = [
        [channel.weight(symbol, value) for symbol in range(channel.symbols)] for value in (0, channel.inputs - 1)
    ]
    worst = max(Fraction(max(pair), min(pair)) for pair in zip(*corners, strict=True))
    # between the first and the last input, weights are monotone or have one turning point
    assert worst == channel.worst_ratio
    assert LEAST_USE_OF_EPSILON * odds <= channel.worst_ratio <= odds


@for_each("epsilon", EPSILONS)
def test_what_symbols_speak_for_is_on_average_the_answer_exactly(epsilon: str) -> None:
    channel = SquareWave.within(request(epsilon))
    answers = inverse.scores(channel)
    last = channel.inputs - 1
    for value in (0, 1, 511 % last, last):
        assert expected_answer(channel, answers, value) == Fraction(value, last)
    small = SquareWave.within(request(epsilon), 5)
    assert [expected_answer(small, inverse.scores(small), value) for value in range(5)] == [
        Fraction(x, 4) for x in range(5)
    ]


def test_a_decoder_that_forgets_its_slope_is_biased() -> None:
    channel = SquareWave.within(request("1"), 5)
    wrong = [Fraction(symbol, channel.symbols - 1) for symbol in range(channel.symbols)]
    assert expected_answer(channel, wrong, 4) != 1


@pytest.mark.parametrize("way", BAND_MUTANTS.values(), ids=BAND_MUTANTS)
def test_a_wrong_band_is_refused(way: Way) -> None:
    right = SquareWave.within(request("1"), 4, REPLAYED)
    subject = Subject(mutant(right, way), request("1").odds)
    assert any(refuses(partial(check, subject)) for check in CHANNEL_CHECKS)


@for_each("epsilon", EPSILONS)
def test_the_width_follows_from_the_formula_at_100_digits(epsilon: str) -> None:
    odds = request(epsilon).odds
    with localcontext(prec=100):
        requested = Decimal(epsilon)
        e = requested.exp()
        wave = 256 * (requested * e - e + 1) / (e * (e - 1 - requested))
        assert square_wave.best_width(257, odds) == max(1, int(wave + Decimal("0.5")))


def test_weights_that_the_total_cannot_resolve_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        SquareWave.within(request("20"), 1025, 2**16)


def test_a_mechanism_for_another_statistic_is_refused() -> None:
    mean, distribution = (Number(Fraction(0), Fraction(9), statistic) for statistic in ("mean", "distribution"))
    for domain, name, statistic in (
        (mean, "square-wave", "distribution and quantiles"),
        (mean, "hierarchical", "quantiles and distribution"),
        (distribution, "one-bit", "mean"),
        (distribution, "optimal-mean", "mean"),
    ):
        with pytest.raises(ValueError, match=f"can only estimate the {statistic};"):
            channel_for(domain, request("1"), name)


def test_auto_takes_the_grid_that_is_promised() -> None:
    channel = channel_for(Number(Fraction(0), Fraction(9), "distribution"), request("1"), "auto")
    assert isinstance(channel, SquareWave)
    assert channel.inputs == 257


def test_rows_have_one_total() -> None:
    channel = SquareWave(inputs=5, width=3, light=2, heavy=7)
    for value in range(5):
        assert sum(channel.weight(symbol, value) for symbol in range(channel.symbols)) == channel.total
