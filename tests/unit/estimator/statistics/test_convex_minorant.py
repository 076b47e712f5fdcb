"""The greatest convex function below values, against every line between two of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.decoders.decoder import convex_minorant

WHOLE = st.lists(st.integers(-100, 100), min_size=1, max_size=9)


@pytest.mark.slow
@settings(derandomize=True, max_examples=200, deadline=None)
@given(WHOLE)
def test_it_is_the_least_of_all_lines_between_two_values_and_of_the_value_itself(values: list[int]) -> None:
    minorant = convex_minorant(np.array(values, dtype=np.float64))
    for place, value in enumerate(values):
        lines = [
            values[first] + (values[last] - values[first]) * (place - first) / (last - first)
            for first, last in combinations(range(len(values)), 2)
            if first <= place <= last
        ]
        assert minorant[place] == pytest.approx(min([value, *lines]), abs=1e-9)


def test_convex_values_stay_as_they_are() -> None:
    values = np.arange(-20, 21, dtype=np.float64) ** 2
    assert convex_minorant(values).tolist() == values.tolist()
