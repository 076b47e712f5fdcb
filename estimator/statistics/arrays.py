"""The array types of the estimator, by content."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Reports = int | NDArray[np.int64]
"""n: of one tally, or of many, with shape (tallies, 1) beside counts or shares of (tallies, k)."""

Counts = NDArray[np.int64]
