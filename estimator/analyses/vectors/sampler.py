"""Tallies of vectors, drawn by the law of rotated axes: as devices would, many at a time.

A device reports an axis of all with the probability that leaves the favoured ones their surplus,
and otherwise a favoured one. So only the latter must turn their vector, and devices that share
vector and rotation turn it once. Transforms are exact: integers below 2**53 stand in floats.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.vectors.rotated_axes import ROUNDS, RotatedAxes
from estimator.analyses.vectors.rotated_axes import hadamard, offsets_of, signs_of
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
    axes, others = 2 * channel.dimension, 2 * channel.dimension - channel.favoured
    of_any = generator.binomial(counts, axes * (1 - channel.keep_numerator / COIN_SCALE) / others)
    tally: Counts = _evenly(np.array([of_any.sum()]), channel.symbols, generator)[0]
    owners, rotations, devices = _pairs(counts - of_any, channel.rotations, generator)
    order = np.argsort(rotations, kind="stable")  # so that neighbors share their signs
    at_once = max(1, AT_ONCE // channel.dimension)
    for first in range(0, len(order), at_once):
        part = order[first : first + at_once]
        symbols = 2 * channel.dimension * rotations[part, np.newaxis] + _favoured(
            channel, vectors[owners[part]], rotations[part]
        )
        np.add.at(tally, symbols, _evenly(devices[part], channel.favoured, generator))
    return tally


def _pairs(counts: Counts, rotations: int, generator: np.random.Generator) -> tuple[Counts, Counts, Counts]:
    """Return the pairs of vector and rotation that devices have, and how many devices have each.

    All three arrays have the shape (pairs,).
    """
    many = np.flatnonzero(counts >= rotations)
    of_many = generator.multinomial(counts[many], np.full(rotations, 1 / rotations))
    few = np.repeat(np.arange(len(counts)), np.where(counts < rotations, counts, 0))
    owners = np.concatenate([np.repeat(many, rotations), few])
    drawn = np.concatenate([np.tile(np.arange(rotations), len(many)), generator.integers(rotations, size=len(few))])
    devices = np.concatenate([of_many.ravel(), np.ones(len(few), np.int64)])
    return owners, drawn, devices


def _evenly(counts: Counts, places: int, generator: np.random.Generator) -> Counts:
    """Return how many of each row's devices fall on each place, shape (rows, places)."""
    if counts.max(initial=0) > places:
        by_place: Counts = generator.multinomial(counts, np.full(places, 1 / places))
        return by_place
    rows = np.repeat(np.arange(len(counts)), counts)
    cells = rows * places + generator.integers(places, size=len(rows))
    drawn: Counts = np.bincount(cells, minlength=len(counts) * places).reshape(len(counts), places)
    return drawn


def _favoured(channel: RotatedAxes, vectors: Floats, rotations: Counts) -> Counts:
    """Return the favoured axes of each vector under its rotation, shape (vectors, s)."""
    distinct, at = np.unique(rotations, return_inverse=True)
    turned = vectors
    for step in range(ROUNDS):
        turned = hadamard(turned * signs_of(channel, distinct, step)[at])
    turned = turned + offsets_of(channel, distinct)[at]
    places = np.argsort(-np.abs(turned), axis=1, kind="stable")[:, : channel.favoured]
    favoured: Counts = 2 * places + (np.take_along_axis(turned, places, axis=1) < 0)
    return favoured
