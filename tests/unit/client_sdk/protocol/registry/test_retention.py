"""The days for which the collector keeps a metric's tallies; no edition depends on them."""

from __future__ import annotations

import pytest

from client_sdk.protocol.registry.metric_table import MOST_RETENTION_DAYS
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, Field, Toml, mistakes, parsed


@pytest.mark.parametrize("days", [1, 400, MOST_RETENTION_DAYS])
def test_retention_is_read_and_changes_no_edition(days: int) -> None:
    metrics = parsed(kept=BOOLEAN | {"retention": days}, m=BOOLEAN)
    assert (metrics["kept"].retention_days, metrics["m"].retention_days) == (days, None)
    assert metrics["kept"].edition == metrics["m"].edition


@for_each("days", [0, -1, MOST_RETENTION_DAYS + 1, Toml("1.5"), Toml("true"), "9"])
def test_retention_is_a_whole_number_of_days(days: Field) -> None:
    must = f"must be a whole number from 1 to {MOST_RETENTION_DAYS}"
    assert mistakes(m=BOOLEAN | {"retention": days}) == {"metric.m.retention": must}
