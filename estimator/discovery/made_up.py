"""How many made-up reports put a text on the list that nobody has."""

from __future__ import annotations

import math

import numpy as np

from client_sdk.protocol.domain.text import Text
from client_sdk.protocol.domain.text_groups import CONFIRMING, STEP_BITS
from estimator.discovery.candidates import CHANCE_SURVIVORS, deviation
from estimator.discovery.group_tables import GroupTables
from estimator.statistics.confidence import z_of


def made_up_reports(domain: Text, tables: GroupTables, candidates: int) -> int:
    """Return about how many reports must be made up, all in support of one text, to list it half of the time.

    Those who make up reports choose the group and the symbol freely: enough of them so that the text survives each
    level, and enough more so that the confirming groups confirm it.

    Args:
        domain: the question, with ``discover = true``.
        tables: what the groups said.
        candidates: how many texts are tested.

    """
    chance, levels = tables.by_chance, tables.reports[:-CONFIRMING]
    first = 1 << domain.groups(tables.cells)[0].bits
    later = CHANCE_SURVIVORS << STEP_BITS
    needed = [deviation(first), *[deviation(later)] * (len(levels) - 1), z_of(max(1, candidates))]
    reports = np.append(levels, tables.reports[-CONFIRMING:].sum())
    noise = np.sqrt(reports * chance * (1 - chance))
    return math.ceil(float((np.array(needed) * noise).sum()) / (1 - chance))
