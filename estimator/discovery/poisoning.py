"""How many made-up reports put a text on the list that nobody has."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from client_sdk.protocol.texts.groups import CONFIRMING
from client_sdk.protocol.texts.text import Text
from estimator.discovery.group_tables import GroupTables
from estimator.discovery.power import SHORT, deviation_to_confirm, least_sums
from estimator.statistics.arrays import Floats


def made_up_reports(domain: Text, tables: GroupTables) -> int:
    """Return about how many reports must be made up to list a short text half of the time.

    All of them support that text.
    """
    return math.ceil(float(made_up_by_group(domain, tables).sum()))


def made_up_by_group(domain: Text, tables: GroupTables) -> Floats:
    """Return how many of them each group needs.

    Those who make up reports choose the group and the symbol freely: enough for each level that the
    text needs, and enough for all groups that confirm it, which must not contradict each other.

    Args:
        domain: the question, with ``discover = true``.
        tables: what the groups said.

    """
    sizes, reports = [group.bits for group in domain.groups(tables.cells)], tables.reports
    end = min(domain.bits, (min(SHORT, domain.max_length) + 1) * domain.letter_bits)
    levels = next(place for place, bits in enumerate(sizes) if bits >= end) + 1
    # with this margin all of them are passed at once half of the time
    margin = NormalDist().inv_cdf(0.5 ** (1 / (levels + 1)))
    sums = [max(0.0, bar + margin * math.sqrt(j)) for j, bar in enumerate(least_sums(sizes[:levels]), 1)]
    deviations = np.maximum(0, np.diff(sums, prepend=0.0))
    confirming = reports[levels:]
    to_confirm = deviation_to_confirm(len(sizes) - CONFIRMING - levels + 1) + margin
    of_confirming = to_confirm * confirming / math.sqrt(max(1, int(confirming.sum())))
    needed: Floats = np.append(deviations * np.sqrt(reports[:levels]), of_confirming)
    return needed * math.sqrt(tables.by_chance / (1 - tables.by_chance))
