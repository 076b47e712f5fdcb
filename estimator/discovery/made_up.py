"""How many made-up reports put a text on the list that nobody has."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from client_sdk.protocol.domain.text import Text
from client_sdk.protocol.domain.text_groups import step_bits
from estimator.discovery.candidates import CHANCE_SURVIVORS, deviation
from estimator.discovery.group_tables import GroupTables
from estimator.discovery.power import SHORT
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import z_of


def made_up_reports(domain: Text, tables: GroupTables, candidates: int) -> int:
    """Return about how many reports must be made up, all in support of one short text, to list it half of the time."""
    return math.ceil(float(made_up_by_group(domain, tables, candidates).sum()))


def made_up_by_group(domain: Text, tables: GroupTables, candidates: int) -> Floats:
    """Return how many of them each group needs.

    Those who make up reports choose the group and the symbol freely: enough for each level that the text needs, and
    enough for all groups that confirm it, which must not contradict each other.

    Args:
        domain: the question, with ``discover = true``.
        tables: what the groups said.
        candidates: how many texts are tested.

    """
    sizes, reports = [group.bits for group in domain.groups(tables.cells)], tables.reports
    end = min(domain.bits, (min(SHORT, domain.max_length) + 1) * domain.letter_bits)
    levels = next(place for place, bits in enumerate(sizes) if bits >= end) + 1
    margin = NormalDist().inv_cdf(0.5 ** (1 / (levels + 1)))  # so that each of them is passed at once half of the time
    later = deviation(CHANCE_SURVIVORS << step_bits(tables.cells))
    deviations = np.array([deviation(1 << sizes[0]), *[later] * (levels - 1)]) + margin
    confirming = reports[levels:]
    of_confirming = (z_of(max(1, candidates)) + margin) * confirming / math.sqrt(max(1, int(confirming.sum())))
    needed: Floats = np.append(deviations * np.sqrt(reports[:levels]), of_confirming)
    return needed * math.sqrt(tables.by_chance / (1 - tables.by_chance))
