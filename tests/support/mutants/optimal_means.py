"""Wrong perturbations of an optimal mean."""

from __future__ import annotations

from collections.abc import Callable

from client_sdk.protocol import Channel, Coins
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from tests.support.laws.declared_law import PerturbsOtherwise

Way = Callable[[OptimalMean, int, Coins], int]


def optimal_means(right: OptimalMean) -> dict[str, Channel]:
    """Return channels that declare the law of the right one and perturb otherwise."""

    def mutant(way: Way) -> Channel:
        return PerturbsOtherwise(right, lambda value, coins: way(right, value, coins))

    return {name: mutant(way) for name, way in WAYS.items()}


def _symbol(channel: OptimalMean, band: int, coins: Coins) -> int:
    drawn = coins.below(channel.band_total)
    in_band = channel.width * channel.heavy
    if drawn < in_band:
        return band + drawn // channel.heavy
    other = (drawn - in_band) // channel.light
    return other if other < band else other + channel.width


def _always_the_band_before(channel: OptimalMean, value: int, coins: Coins) -> int:
    coins.below(channel.resolution)
    return _symbol(channel, channel.between(value)[0], coins)


def _even_knots(channel: OptimalMean, value: int, coins: Coins) -> int:
    coins.below(channel.resolution)
    return _symbol(channel, value * len(channel.steps) // (channel.inputs - 1), coins)


def _one_coin_for_both(channel: OptimalMean, value: int, coins: Coins) -> int:
    band, numerator = channel.between(value)
    drawn = coins.below(channel.band_total)
    band += drawn % channel.resolution < numerator
    in_band = channel.width * channel.heavy
    if drawn < in_band:
        return band + drawn // channel.heavy
    other = (drawn - in_band) // channel.light
    return other if other < band else other + channel.width


def _band_not_left_out(channel: OptimalMean, value: int, coins: Coins) -> int:
    band, numerator = channel.between(value)
    band += coins.below(channel.resolution) < numerator
    drawn = coins.below(channel.band_total)
    in_band = channel.width * channel.heavy
    return band + drawn // channel.heavy if drawn < in_band else (drawn - in_band) // channel.light


def _coins_by_input(channel: OptimalMean, value: int, coins: Coins) -> int:
    band, numerator = channel.between(value)
    if numerator:
        band += coins.below(channel.resolution) < numerator
    return _symbol(channel, band, coins)


def _never_lies(channel: OptimalMean, value: int, coins: Coins) -> int:
    band, numerator = channel.between(value)
    band += coins.below(channel.resolution) < numerator
    return band + coins.below(channel.band_total) * channel.width // channel.band_total


WAYS: dict[str, Way] = {
    "always the band before": _always_the_band_before,
    "even knots": _even_knots,
    "one coin for both draws": _one_coin_for_both,
    "a band that is not left out": _band_not_left_out,
    "coins that tell the input": _coins_by_input,
    "never a symbol beside the band": _never_lies,
}
