"""Laplace and Gaussian noise inverted: scores have the mean of the input, and the variance that is
stated.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.laplace import Laplace
from estimator.decoders import noise
from estimator.decoders.decoder import Decoder
from estimator.decoders.inversions import decoder_of
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import check_held, drawn_tallies, intervals_of_means, promised
from tests.support.estimates.inverses import PRECISION, requested

Noise = Laplace | Gaussian

BENT = Fraction(1, 2**32)
"""A bound on how far the integers of Laplace's table bend the expectation: see the docstring of the
inverse.
"""

DELTA = Fraction(1, 10**4)

NOISES: dict[str, Noise] = {
    **{f"laplace {k} at {e}": Laplace.within(requested(e), k) for k in (2, 3, 9, 257) for e in ("0.5", "2", "8")},
    **{f"gaussian {k} at {e}": Gaussian.within(requested(e), DELTA, k) for k in (2, 9) for e in ("0.5", "2", "8")},
    "gaussian as registries have it": Gaussian.within(requested(2), DELTA),
}
FEW_PLACES = [name for name, channel in NOISES.items() if channel.inputs <= 9]


def decoder(channel: Noise) -> Decoder:
    mean_decoder = decoder_of(channel)
    assert mean_decoder is not None
    return mean_decoder


def spoken(channel: Noise) -> list[Fraction]:
    """Return the score of each symbol, exactly; for Gaussian noise these are the places
    themselves.
    """
    if isinstance(channel, Laplace):
        return noise.laplace_scores(channel)
    return [Fraction(symbol - channel.reach, channel.inputs - 1) for symbol in range(channel.symbols)]


def moment(channel: Noise, given: int, power: int) -> Fraction:
    weighted = (channel.weight(y, given) * answer**power for y, answer in enumerate(spoken(channel)))
    return sum(weighted, Fraction(0)) / channel.total


@for_each("name", NOISES)
def test_the_decoder_has_the_floats_nearest_to_the_exact_answers(name: str) -> None:
    channel = NOISES[name]
    assert decoder(channel).scores.tolist() == [float(answer) for answer in spoken(channel)]


@for_each("name", FEW_PLACES)
def test_the_expected_answer_is_the_input(name: str) -> None:
    channel = NOISES[name]
    for given in range(channel.inputs):
        off = moment(channel, given, 1) - Fraction(given, channel.inputs - 1)
        assert off == 0 if isinstance(channel, Gaussian) else abs(off) < BENT


def test_the_expected_answer_of_a_fine_grid_is_the_input_at_its_ends_and_between() -> None:
    channel = NOISES["laplace 257 at 0.5"]
    for given in (0, 1, 128, 255, 256):
        assert abs(moment(channel, given, 1) - Fraction(given, 256)) < BENT


@for_each("name", NOISES)
def test_the_table_is_the_law_of_the_channel(name: str) -> None:
    channel = NOISES[name]
    for given in {0, channel.inputs // 2, channel.inputs - 1}:
        exact = [float(channel.probability(symbol, given)) for symbol in range(channel.symbols)]
        # sums of one rounded weight for each place
        assert np.allclose(noise.table(channel)[given], exact, rtol=2 * channel.symbols * PRECISION, atol=0)


@for_each("name", FEW_PLACES)
def test_the_expected_square_and_so_the_variance_are_those_of_the_law(name: str) -> None:
    channel = NOISES[name]
    exact = [float(moment(channel, given, 2)) for given in range(channel.inputs)]
    assert np.allclose(decoder(channel).squares, exact, rtol=4 * channel.symbols * PRECISION, atol=0)


@for_each("name", ["laplace 257 at 0.5", "laplace 257 at 8", "gaussian 9 at 2", "gaussian 9 at 8"])
@for_each("reports", [10, 49, 50, 1000])
@for_each("truth", [0.0, 0.5])
def test_an_interval_holds_the_mean_as_often_as_promised(name: str, reports: int, truth: float) -> None:
    """Drawn, because there are too many tallies of these channels to sum. Half of the people are at
    either end, or all at one.
    """
    channel, right = NOISES[name], promised(reports)
    law = (1 - truth) * noise.table(channel)[0] + truth * noise.table(channel)[-1]
    ends = (intervals_of_means(decoder(channel), batch, reports) for batch in drawn_tallies(law, reports, 5))
    check_held(((lows <= truth) & (truth <= highs) for lows, highs in ends), right)
