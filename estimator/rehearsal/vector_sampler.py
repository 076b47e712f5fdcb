"""Tallies of vectors, drawn by the law of rotated axes: as devices would, many at a time.

A device reports an axis of all with the probability that leaves the favoured ones their surplus,
and otherwise a favoured one. Transforms are exact: integers below 2**53 stand in floats.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.mechanisms.rotated.axes import ROUNDS, RotatedAxes, offsets
from estimator.estimates.rotated_axes import hadamard, signs_of
from estimator.statistics.arrays import Counts, Floats

AT_ONCE: Final = 2**20
"""Coordinates that are turned at once, which take some megabytes."""


def sampled_tally(channel: RotatedAxes, vectors: Floats, counts: Counts, generator: np.random.Generator) -> Counts:
    """Return a tally of devices, shape (B * 2D,).

    Args:
        channel: with the rotations of a window.
        vectors: what devices encode, as whole numbers, shape (vectors, D).
        counts: how many devices have each vector, shape (vectors,).
        generator: of the chances.

    """
    devices = np.repeat(np.arange(len(vectors)), counts)
    rotations = generator.integers(channel.rotations, size=len(devices))
    signs = [signs_of(channel, np.arange(channel.rotations), step) for step in range(ROUNDS)]
    moved = np.array([offsets(channel.dimension, at, channel.window) for at in range(channel.rotations)], float)
    tally = np.zeros(channel.symbols, dtype=np.int64)
    at_once = max(1, AT_ONCE // channel.dimension)
    for first in range(0, len(devices), at_once):
        part = slice(first, first + at_once)
        turned = vectors[devices[part]]
        for of_round in signs:
            turned = hadamard(turned * of_round[rotations[part]])
        turned += moved[rotations[part]]
        symbols = 2 * channel.dimension * rotations[part] + _axes(channel, turned, generator)
        tally += np.bincount(symbols, minlength=channel.symbols)
    return tally


def _axes(channel: RotatedAxes, turned: Floats, generator: np.random.Generator) -> Counts:
    """Return an axis for each turned vector."""
    rows, axes = np.arange(len(turned)), 2 * channel.dimension
    largest = np.argsort(-np.abs(turned), axis=1, kind="stable")[:, : channel.favoured]
    places = largest[rows, generator.integers(channel.favoured, size=len(turned))]
    favoured = 2 * places + (turned[rows, places] < 0)
    other = (1 - channel.keep_numerator / COIN_SCALE) / (axes - channel.favoured)
    is_any = generator.random(len(turned)) < axes * other
    drawn: Counts = np.where(is_any, generator.integers(axes, size=len(turned)), favoured)
    return drawn
