"""The privacy loss of one report of each channel, for its worst pair of answers.

If every symbol separates two answers either by the whole epsilon or not at all, the loss has three
values, and the worst pair of answers is the one with the fewest symbols in common. A report of a
tree is one of a random level, and reveals no more than if the answers were such a pair on all
levels. A set or a rounded number is a mixture of inputs, which by convexity reveals no more than
its worst pair of inputs. Every other channel is treated as the worst one of its epsilon.
"""

from __future__ import annotations

import numpy as np

from client_sdk.protocol.channel import Channel, epsilon_nanos
from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.mechanisms.balanced.design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import PAIR, CyclicDesign
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from client_sdk.protocol.models.crosses import Crosses
from client_sdk.protocol.vectors.rotated_axes import RotatedAxes
from estimator.privacy.composition import PrivacyLoss

ROUNDED = 1 + 2.0**-48
"""A probability times this is above the exact one, whatever the rounding of floats."""


def loss_of(channel: Channel) -> PrivacyLoss:
    """Return the privacy loss of one report, whatever was reported before."""
    step = channel.instantaneous if isinstance(channel, Permanent) else channel
    worst = PrivacyLoss.worst(as_float(epsilon_nanos(step)), float(step.delta) * ROUNDED)
    return worst._replace(extreme=min(worst.extreme, _extreme(step) * ROUNDED))


def _extreme(channel: Channel) -> float:  # noqa: PLR0911 one a mechanism
    """Return the largest probability that a report separates two answers by the whole epsilon."""
    match channel:
        case KAryRandomizedResponse() | RotatedAxes():  # opposite vectors favour disjoint axes
            return float(channel.keep_numerator / COIN_SCALE)
        case ProjectiveGeometry():
            common = (channel.orthogonal - 1) // channel.prime
            return float(channel.keep_numerator / COIN_SCALE * (channel.orthogonal - common) / channel.orthogonal)
        case CyclicDesign() | BalancedDesign():
            return float(channel.keep_numerator / COIN_SCALE * _apart(channel))
        case SquareWave():
            return min(channel.width, channel.inputs - 1) * channel.heavy / channel.total
        case OptimalMean():
            return min(channel.width, len(channel.steps)) * channel.heavy / channel.band_total
        case Crosses():
            return sum(_extreme(feature) for feature in channel.features) / len(channel.features)
        case Hierarchical():
            return sum(_extreme(level.channel) for level in channel.levels) / len(channel.levels)
    return 1.0


def _apart(channel: CyclicDesign | BalancedDesign) -> float:
    """Return the largest fraction of an answer's blocks that do not hold another given answer."""
    if isinstance(channel, BalancedDesign):
        return (channel.points - channel.block_size) / (channel.points - 1)
    if channel.block_size == PAIR:
        return 1 - 1 / (channel.inputs - 1)
    indicators = np.zeros((channel.base_blocks, channel.inputs))
    for index, indicator in enumerate(indicators):
        indicator[list(channel.base_block(index))] = 1
    common = np.fft.irfft((np.abs(np.fft.rfft(indicators)) ** 2).sum(axis=0), n=channel.inputs)[1:]
    return 1 - round(float(common.min())) / (channel.base_blocks * channel.block_size)
