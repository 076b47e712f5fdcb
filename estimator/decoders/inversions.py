"""A table with the functions that decode tallies and draw random tallies, for each mechanism.

The table also has a function for the probability that a report causes the full privacy loss. Such a
report multiplies an observer's odds of the true answer against another answer by e**epsilon. All
functions use the same integer parameters as the mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

from client_sdk.protocol.channel import COIN_SCALE, Channel
from estimator.decoders import (
    block_designs,
    exponential,
    hierarchical,
    noise,
    one_of,
    optimal_mean,
    pair_geometry,
    permanent,
    projective_geometry,
    sampling,
    square_wave,
    support,
)
from estimator.decoders.decoder import ChannelLaw, Decoder, Inverse
from estimator.decoders.sampling import Blocks, Sampler

REMEMBERED: Final = 16
"""The maximum number of inverses in the cache. A large inverse takes tens of megabytes."""


def _everything(_: Channel) -> float:
    return 1.0


def _kept(channel: Any) -> Fraction:  # noqa: ANN401 a channel with a probability to keep
    return Fraction(channel.keep_numerator, COIN_SCALE)


class Inversion(NamedTuple):
    """A row of the table: the functions for one mechanism, each called with a channel.

    Attributes:
        inverse: returns the inverse, which maps a tally to the shares of the inputs. None if shares
            of single inputs are not estimated, as on a grid of numbers.
        decoder: returns the decoder, which maps a tally to a mean. None if inputs are not points of
            a grid.
        law: returns the distribution of the symbols. None if inputs are not points of a grid.
        blocks: returns each input's block of more likely symbols. None if symbols have more than
            two different probabilities for an input.
        sampler: returns the sampler, which draws random tallies. None if tallies are drawn from the
            blocks or from a table of probabilities.
        extreme: returns the largest probability, for any two answers, that a report multiplies the
            odds of the true answer against the other answer by e**epsilon. The default is the upper
            bound 1.
        likelier: returns the total probability of the more likely symbols for any input. If
            ``likelier`` is None, privacy is computed for the least private channel with the same
            epsilon.
        parts: returns the channels that the mechanism combines. Each device draws one of these
            channels with equal probabilities. None for other mechanisms.
    """

    inverse: Callable[[Any], Inverse] | None = None
    decoder: Callable[[Any], Decoder] | None = None
    law: Callable[[Any], ChannelLaw] | None = None
    blocks: Callable[[Any], Blocks] | None = None
    sampler: Callable[[Any], Sampler] | None = None
    extreme: Callable[[Any], float] = _everything
    likelier: Callable[[Any], Fraction] | None = None
    parts: Callable[[Any], Sequence[Channel]] | None = None


_ONE_BIT: Final = Inversion(support.binary_support, blocks=sampling.of_names)

INVERSIONS: Final[Mapping[str, Inversion]] = {
    "randomized-response": _ONE_BIT,
    "one-bit": _ONE_BIT,  # the inputs are the two ends of the range, so the share of the high end is the mean
    "k-ary-randomized-response": Inversion(
        support.k_ary_support,
        blocks=sampling.of_names,
        extreme=support.extreme,
        likelier=_kept,
    ),
    "cyclic-design": Inversion(
        block_designs.cyclic_inverse,
        blocks=sampling.of_block_design,
        extreme=block_designs.cyclic_extreme,
        likelier=_kept,
    ),
    "balanced-design": Inversion(
        block_designs.balanced_inverse,
        blocks=sampling.of_block_design,
        extreme=block_designs.balanced_extreme,
        likelier=_kept,
    ),
    "projective-geometry": Inversion(
        projective_geometry.inverse,
        blocks=sampling.of_geometry,
        extreme=projective_geometry.extreme,
        likelier=_kept,
    ),
    "exponential": Inversion(exponential.inverse),
    "laplace": Inversion(decoder=noise.laplace_decoder, law=noise.law),
    "gaussian": Inversion(decoder=noise.gaussian_decoder, law=noise.law),
    "square-wave": Inversion(
        decoder=square_wave.decoder,
        law=square_wave.SquareWaveLaw,
        blocks=sampling.of_square_wave,
        extreme=square_wave.extreme,
        likelier=lambda channel: Fraction(channel.width * channel.heavy, channel.total),
    ),
    "optimal-mean": Inversion(
        decoder=optimal_mean.decoder,
        law=optimal_mean.law,
        sampler=sampling.by_bands,
        extreme=optimal_mean.extreme,
        likelier=lambda channel: Fraction(channel.width * channel.heavy, channel.band_total),
    ),
    "hierarchical": Inversion(
        decoder=hierarchical.decoder,
        law=hierarchical.law,
        sampler=lambda channel: sampling.level_by_level(channel, sampler_of),
        parts=lambda channel: [level.channel for level in channel.levels],
    ),
    "one-of": Inversion(
        one_of.inverse,
        sampler=sampling.by_metric,
        extreme=support.extreme,
        likelier=_kept,
    ),
    "pair-geometry": Inversion(pair_geometry.inverse, sampler=pair_geometry.sampler),
    "rotated-axes": Inversion(extreme=support.extreme),
    "grouped-geometry": Inversion(),
    "crosses": Inversion(parts=lambda channel: channel.features),
}
"""The row of each mechanism, keyed by the mechanism's name."""


def inversion_of(channel: Channel) -> Inversion:
    """Return the row of a channel's mechanism in `INVERSIONS`.

    For a channel with permanent answers, the result is the row of the second step's mechanism.
    """
    return INVERSIONS.get(channel.last_step.name, Inversion())


def has_inverse(channel: Channel) -> bool:
    """Return whether the share of each input of a channel is estimated."""
    return inversion_of(channel).inverse is not None


@lru_cache(maxsize=REMEMBERED)
def inverse_of(channel: Channel) -> Inverse:
    """Return the inverse of a channel, which maps a tally of symbols to the shares of inputs.

    Raises:
        TypeError: if the shares of this channel's inputs are not estimated.
    """
    inverse = inversion_of(channel).inverse
    if inverse is None:
        raise TypeError(f"{channel.name} has no labels")
    if channel.permanent_nanos:
        return permanent.two_step(channel, inverse_of(channel.last_step))
    return inverse(channel.last_step)


def decoder_of(channel: Channel) -> Decoder | None:
    """Return the decoder of a channel. Returns None unless the inputs are points of a grid."""
    decoder = inversion_of(channel).decoder
    return None if decoder is None else decoder(channel)


def grid_law(channel: Channel) -> ChannelLaw:
    """Return the distribution of a channel on a grid.

    Raises:
        TypeError: if the inputs are not the points of a grid.
    """
    law = inversion_of(channel).law
    if law is None:
        raise TypeError(f"{channel.name} has no grid")
    return law(channel)


def extreme_of(channel: Channel) -> float:
    """Return the probability that a report causes the full privacy loss that epsilon allows.

    Such a report multiplies an observer's odds of the true answer against another answer by
    e**epsilon. The result is the largest such probability over all pairs of answers.

    If answers are sets, the computation assumes that one symbol favors as many members of the true
    answer as possible. The result is then the probability for a single member, multiplied by
    (1 - 1 / r) / (1 - 1 / e**epsilon). Here, r is the largest ratio of a symbol's probabilities for
    two different members.
    """
    row, step = inversion_of(channel), channel.last_step
    if row.parts is None:
        return row.extreme(step) * float((1 - 1 / step.worst_ratio) / (1 - 1 / channel.worst_ratio))
    parts = row.parts(channel)
    return sum(map(extreme_of, parts)) / len(parts)


def blocks_of(channel: Channel) -> Blocks | None:
    """Return the blocks of a channel.

    Returns None if symbols have more than two different probabilities for an input.
    """
    of_channel = inversion_of(channel).blocks
    return None if of_channel is None else of_channel(channel)


def sampler_of(channel: Channel) -> Sampler:
    """Return a function that draws random tallies of a channel.

    The function takes the number of devices with each input. For sets, the function takes the
    number of devices that drew each member.
    """
    if channel.permanent_nanos:
        first, second = sampler_of(permanent.first_step(channel)), sampler_of(channel.last_step)
        return lambda inputs, generator: second(first(inputs, generator), generator)
    channel = channel.last_step
    sampler, of_channel = inversion_of(channel).sampler, blocks_of(channel)
    if sampler is not None:
        return sampler(channel)
    return sampling.by_table(channel) if of_channel is None else sampling.by_blocks(channel, of_channel)
