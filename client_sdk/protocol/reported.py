"""What a report says, in words: the answers that make its symbol likeliest.

It says nothing about the answer that was given, beyond what the report itself reveals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.domain.label import Label
from client_sdk.protocol.domain.mean_by_group import MeanByGroup
from client_sdk.protocol.domain.model import CrossedModel
from client_sdk.protocol.domain.number import Number
from client_sdk.protocol.domain.ordinal_mean import OrdinalMean
from client_sdk.protocol.domain.vector import Vector
from client_sdk.protocol.mechanisms.balanced.design import BalancedDesign
from client_sdk.protocol.mechanisms.crossed.crosses import Crosses
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.grouped.geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.sentences import Sentences

SHOWN: Final = 3
"""The most answers to name of those that one report speaks for."""

STEPS: Final = 1000
"""Numbers are written with as many decimals as tell a thousandth of their range apart."""


def reported(metric: Metric, symbol: int, say: Sentences) -> str:
    """Return in words what the report of a symbol says."""
    if isinstance(metric.domain, Vector):
        return _axis(symbol, metric.channel, say)
    if isinstance(metric.channel, GroupedGeometry):
        return _some_cells(symbol, metric.channel, say)
    if isinstance(metric.channel, Crosses):
        return _drawn(symbol, metric, say)
    channel = metric.channel.instantaneous if isinstance(metric.channel, Permanent) else metric.channel
    inputs = likeliest(channel, symbol)
    if isinstance(metric.domain, Number):
        return _range(metric.domain, channel.inputs, inputs, say)
    domain, labels = metric.domain, metric.domain.labels
    words = []
    for each in islice(inputs, SHOWN + 1):
        if each >= len(labels):
            words.append(say("reported.padding"))
        elif isinstance(domain, MeanByGroup):
            group, point = divmod(each, domain.points)
            number = _point(domain.second, domain.points, point, say)
            words.append(f"{_word(domain.first.labels[group], say)}, {number}")
        else:
            words.append(_word(labels[each], say))
    return _either(words, say)


def _word(label: Label, say: Sentences) -> str:
    """Return a value of a domain in words; a pair has a comma."""
    match label:
        case None:
            return say("reported.nothing")
        case bool():
            return say("reported.true" if label else "reported.false")
        case tuple():
            return ", ".join(_word(part, say) for part in label)
    return str(label)


def _either(named: list[str], say: Sentences) -> str:
    """Return answers as alternatives, the first few if they are many."""
    if len(named) > SHOWN:
        return say("reported.or_others", first=", ".join(named[:SHOWN]))
    return say("reported.or", first=", ".join(named[:-1]), last=named[-1]) if len(named) > 1 else named[0]


def _axis(symbol: int, channel: Channel, say: Sentences) -> str:
    """Return a symbol's random direction in words: its rotation and axis, as they are counted."""
    rotation, axis = divmod(symbol, 2 * channel.inputs)
    return say("reported.against" if axis % 2 else "reported.along", axis=str(axis // 2), rotation=str(rotation))


def _some_cells(symbol: int, channel: GroupedGeometry, say: Sentences) -> str:
    """Return the many cells that a symbol of a text speaks for."""
    group, point = divmod(symbol, channel.inputs)
    held = channel.geometry.orthogonal
    return say("reported.texts", held=held, cells=channel.inputs, point=str(point), group=str(group))


def _drawn(symbol: int, metric: Metric, say: Sentences) -> str:
    """Return what a symbol says of the feature that was drawn, together with the label."""
    assert isinstance(metric.channel, Crosses)  # noqa: S101 whoever asks has looked
    assert isinstance(metric.domain, CrossedModel)  # noqa: S101 the only domain of crosses
    place, own = metric.channel.feature_of(symbol)
    feature = metric.domain.observation.features[place]
    cells = islice(likeliest(metric.channel.features[place], own), SHOWN + 1)
    named = [
        say("reported.labeled", answer=feature.labels[cell // 2], label=_word(cell % 2 > 0, say)) for cell in cells
    ]
    return say("reported.feature", feature=feature.name, answers=_either(named, say))


def likeliest(channel: Channel, symbol: int) -> Sequence[int]:  # noqa: PLR0911 one a family
    """Return the inputs that give a symbol its greatest probability, in rising order.

    Of the many inputs of a hyperplane only the first few are returned.
    """
    match channel:
        case RandomizedResponse() | KAryRandomizedResponse():
            return (symbol,)
        case CyclicDesign():
            base, shift = divmod(symbol, channel.inputs)
            return sorted((value + shift) % channel.inputs for value in channel.base_block(base))
        case BalancedDesign():
            base, shift = divmod(symbol, channel.points)
            held = sorted((value + shift) % channel.points for value in channel.base_block(base))
            return [value for value in held if value < channel.inputs] or range(channel.inputs)
        case ProjectiveGeometry():
            kept = Fraction(channel.keep_numerator, COIN_SCALE) / channel.orthogonal
            return _first(each for each in range(channel.inputs) if channel.probability(symbol, each) == kept)
        case OptimalMean():
            first, last = (min(max(symbol + end, 0), len(channel.steps)) for end in (1 - channel.width, 0))
            return range(channel.knots[first], channel.knots[last] + 1)
        case SquareWave():
            return range(max(0, symbol - channel.width + 1), min(channel.inputs, symbol + 1))
        case AdditiveNoise():
            return (min(max(symbol - channel.reach, 0), channel.inputs - 1),)
    chances = [channel.probability(symbol, given) for given in range(channel.inputs)]
    greatest = max(chances)
    return [given for given, chance in enumerate(chances) if chance == greatest]


def _first(inputs: Iterable[int]) -> list[int]:
    return list(islice(inputs, SHOWN + 1))


def _range(domain: Number, points: int, inputs: Sequence[int], say: Sentences) -> str:
    low, high = (_point(domain, points, end, say) for end in (inputs[0], inputs[-1]))
    return low if low == high else say("reported.range", low=low, high=high)


def _point(domain: Number, points: int, place: int, say: Sentences) -> str:
    """Return a point of an even grid; of a scale, the name of its step."""
    number = domain.low + (domain.high - domain.low) * Fraction(place, points - 1)
    if isinstance(domain, OrdinalMean):
        return domain.scale.values[round(number) - 1]
    decimals = 0
    while (domain.high - domain.low) * 10**decimals < STEPS:
        decimals += 1
    return say.number(number, decimals)
