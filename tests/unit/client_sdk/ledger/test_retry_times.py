"""How long to wait before an upload is sent again."""

from __future__ import annotations

from client_sdk.ledger.backoff import next_delay_s
from tests.support.core.tables import for_each


@for_each("failures, highest", [(0, 1), (1, 2), (2, 4), (11, 2048), (12, 3600), (33, 3600), (10**6, 3600)])
def test_full_jitter_reaches_from_nothing_to_the_doubled_base_below_an_hour(failures: int, highest: int) -> None:
    assert next_delay_s(failures, 0.0, lambda low, _: low) == 0.0
    assert next_delay_s(failures, 5.0, lambda _, high: high) == 5.0 + highest


def test_what_the_server_asked_for_is_a_minimum() -> None:
    assert next_delay_s(0, 300.0, lambda low, _: low) == 300.0
    assert next_delay_s(0, 300.0, lambda _, high: high) == 301.0
