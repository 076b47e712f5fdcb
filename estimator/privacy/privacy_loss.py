"""The privacy loss of one report of each channel, for its worst pair of answers.

If every symbol separates two answers either by the whole epsilon or not at all, the loss has three
values, and the worst pair of answers is the one with the fewest symbols in common. A report of a
tree is one of a random level, and reveals no more than if the answers were such a pair on all
levels. A set or a rounded number is a mixture of inputs, which by convexity reveals no more than
its worst pair of inputs. Every other channel is treated as the worst one of its epsilon.
"""

from __future__ import annotations

from client_sdk.protocol.channel import Channel, epsilon_nanos
from client_sdk.protocol.epsilon import as_float
from estimator.decoders.inversions import extreme_of
from estimator.privacy.composition import PrivacyLoss

ROUNDED = 1 + 2.0**-48
"""A probability times this is above the exact one, whatever the rounding of floats."""


def loss_of(channel: Channel) -> PrivacyLoss:
    """Return the privacy loss of one report, whatever was reported before."""
    step = channel.last_step
    worst = PrivacyLoss.worst(as_float(epsilon_nanos(step)), float(step.delta) * ROUNDED)
    return worst._replace(extreme=min(worst.extreme, extreme_of(step) * ROUNDED))
