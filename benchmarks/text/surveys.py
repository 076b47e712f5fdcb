"""A survey that asks a population for texts, and the survey's random tallies.

Devices are divided into groups at random. In each group, a text is hashed to one of several cells.
A device reports symbols that probably support the cell of its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.text.populations import LETTERS, Population
from client_sdk.protocol import Metric
from client_sdk.protocol.mechanisms.grouped_geometry import LIMB_BITS, MODULUS, GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.decoders.grouped_geometry import cell_support
from estimator.decoders.inversions import sampler_of
from estimator.decoders.sampling import Sampler
from estimator.discovery.prefix_search import GroupTables
from estimator.discovery.texts import Texts, discover
from estimator.statistics.arrays import Counts
from tests.support.devices.definitions import Field, metric_of

TEXT: Final[dict[str, Field]] = {
    "purpose": "Which texts are there?",
    "kind": "text",
    "letters": LETTERS,
    "discover": True,
    "window": "day",
}
"""The definition of the metric, except max_length and epsilon."""

WHOLE: Final = 10**6
"""The maximum number of devices for which whole tallies are drawn. A draw takes most of a second
per million devices.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """A survey of a population, and the cell of each string in each group.

    Attributes:
        cells: the cell of each string in each group, shape (strings, groups).
        sample: a function that draws the tally of one group from the number of devices in each
            cell.

    """

    metric: Metric
    population: Population
    cells: NDArray[np.int64]
    sample: Sampler

    @classmethod
    def asked(cls, population: Population, epsilon: float, **more: Field) -> Survey:
        """Return a survey of a population. Omitted parameters of the metric have defaults."""
        metric = metric_of(TEXT, max_length=population.max_length, epsilon=epsilon, **more)
        assert isinstance(metric.kind, Text)
        channel = _channel(metric)
        return cls(metric, population, _cells(metric.kind, population, channel.inputs), sampler_of(channel.geometry))

    def drawn(self, devices: int, generator: np.random.Generator) -> Counts:
        return np.concatenate([self.sample(inputs, generator) for inputs in self._inputs(devices, generator)])

    def tables(self, devices: int, generator: np.random.Generator) -> GroupTables:
        """Return the number of reports that support each cell of each group, for a random sample.

        For up to `WHOLE` devices, the numbers are computed from a random tally. For more devices,
        see `by_cell`.
        """
        if devices <= WHOLE:
            return GroupTables.from_counts(_channel(self.metric), self.drawn(devices, generator))
        return self.by_cell(devices, generator)

    def by_cell(self, devices: int, generator: np.random.Generator) -> GroupTables:
        """Return the same numbers as `tables`, each drawn separately, without a tally.

        Each number has its exact distribution. Only the correlation between two cells is lost. This
        correlation is small for the mechanism's block design.
        """
        law = cell_support(_channel(self.metric))
        own, other = float(law.support.own), float(law.support.other)
        inputs = self._inputs(devices, generator)
        supported = [
            generator.binomial(of_cell, own) + generator.binomial(of_cell.sum() - of_cell, other) for of_cell in inputs
        ]
        return GroupTables(np.array([of_cell.sum() for of_cell in inputs]), np.array(supported), law)

    def _inputs(self, devices: int, generator: np.random.Generator) -> list[Counts]:
        """Return the number of devices in each cell of each group.

        A device's group does not depend on its string. One multinomial draw therefore divides the
        devices with one string among the groups.
        """
        channel = _channel(self.metric)
        weights = np.array(channel.weights) / sum(channel.weights)
        by_group = generator.multinomial(self.population.drawn(devices, generator), weights).T
        return [
            np.bincount(cells, strings, channel.inputs).astype(np.int64)
            for cells, strings in zip(self.cells.T, by_group, strict=True)
        ]


def decoded(metric: Metric, tally: Counts) -> Texts:
    assert isinstance(metric.kind, Text)
    return discover(metric.kind, GroupTables.from_counts(_channel(metric), tally))


def _channel(metric: Metric) -> GroupedGeometry:
    assert isinstance(metric.channel, GroupedGeometry)
    return metric.channel


def _cells(domain: Text, population: Population, cells: int) -> NDArray[np.int64]:
    """Return the cells of all strings, shape (strings, groups), like `Text.cells_of`.

    A call of `Text.cells_of` for each string would take seconds.
    """
    numbers = np.array([domain.number_of(text) for text in population.strings], dtype=object)
    columns = []
    for group in domain.groups(cells):
        received = numbers >> domain.bits - group.bits
        summand, *multipliers = group.multipliers
        hashed = np.full(len(numbers), summand)
        for place, multiplier in enumerate(multipliers):
            limbs = (received >> LIMB_BITS * place & (1 << LIMB_BITS) - 1).astype(np.int64)
            hashed += limbs * multiplier % MODULUS
        columns.append(hashed % MODULUS % cells)
    return np.array(columns).T
