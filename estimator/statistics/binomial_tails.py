"""The upper tail of a binomial law, by its sum.

``scipy.special.betainc`` agrees to a part in 10**4 at a billion reports, and to more digits at
fewer, but its import takes 160 ms, as long as the rest of a decoder's work.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

ENOUGH: Final = 40.0
"""The standard deviations above its first term at which the sum ends at the latest: what is left is
below a part in 10**15.
"""


def upper_tail(count: int, reports: int, chance: float) -> float:
    """Return the probability of at least ``count`` successes.

    The first term comes from logarithms of factorials, which a billion reports make wrong by a part
    in 10**5. Each other term is the one before times a ratio that falls.

    Args:
        count: above ``reports * chance``, at most ``reports``.
        reports: n, at least 1.
        chance: of each, above 0 and below 1.

    """
    odds, failures = chance / (1 - chance), reports - count
    factorials = math.lgamma(reports + 1) - math.lgamma(count + 1) - math.lgamma(failures + 1)
    first = math.exp(factorials + count * math.log(chance) + failures * math.log1p(-chance))
    terms = min(failures, 100 + math.ceil(ENOUGH * math.sqrt(reports * chance * (1 - chance))))
    later = np.arange(count, count + terms, dtype=np.float64)
    return min(1.0, first * (1 + float(np.cumprod((reports - later) / (later + 1) * odds).sum())))
