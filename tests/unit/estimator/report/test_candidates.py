"""Which lists of texts a report takes."""

from __future__ import annotations

import pytest

from estimator.errors import RequestError
from estimator.report.report import MOST_CANDIDATES, check_candidates
from tests.support.devices.clients import registry


def test_more_than_a_million_texts_are_refused_before_any_is_read() -> None:
    with pytest.raises(RequestError, match="1,000,001 candidates exceed the limit of 1,000,000; divide them"):
        check_candidates(registry(), ["the"] * (MOST_CANDIDATES + 1))
