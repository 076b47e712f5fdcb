"""Tallies of texts, drawn by their law: each group by itself, by the law of its geometry."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from client_sdk.protocol.texts.grouped_geometry import GroupedGeometry
from client_sdk.protocol.texts.text import Text
from estimator.decoders.inversions import sampler_of
from estimator.statistics.arrays import Counts


def sampled_texts(
    kind: Text, channel: GroupedGeometry, devices: Mapping[int, int], generator: np.random.Generator
) -> Counts:
    """Return a tally, shape (symbols,).

    Args:
        kind: the question.
        channel: its channel.
        devices: how many report each text, by its integer.
        generator: of the chances.

    """
    weights = np.array(channel.weights)
    cells = np.array([kind.cells_of(number, channel.inputs) for number in devices], dtype=np.int64)
    counts = np.array(list(devices.values()), dtype=np.int64)
    of_groups = generator.multinomial(counts, weights / weights.sum()).reshape(len(counts), len(weights))
    cells, draw = cells.reshape(of_groups.shape), sampler_of(channel.geometry)
    inputs = [np.bincount(*group, channel.inputs).astype(np.int64) for group in zip(cells.T, of_groups.T, strict=True)]
    return np.concatenate([draw(of_group, generator) for of_group in inputs])
