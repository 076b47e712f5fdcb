"""The array types of the estimator, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Reports = int | NDArray[np.int64]
"""n: of one tally, or of many, shape (tallies, 1), beside counts or shares of shape (tallies, k)."""

Counts = NDArray[np.int64]
