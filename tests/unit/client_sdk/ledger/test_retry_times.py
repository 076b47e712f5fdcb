"""How long to wait before an upload is sent again."""

from __future__ import annotations

from client_sdk.ledger.backoff import BACKOFF_CEILING_S, next_delay_s
from tests.support.core.tables import for_each


@for_each("failures", [0, 1, 2, 9, 10, 50, 10**6])
def test_full_jitter_reaches_from_nothing_to_the_doubled_base_below_the_ceiling(failures: int) -> None:
    highest = min(BACKOFF_CEILING_S, 1.0 * 2 ** min(failures, 64))
    assert next_delay_s(failures, 0.0, lambda low, _: low) == 0.0
    assert next_delay_s(failures, 0.0, lambda _, high: high) == highest


def test_what_the_server_asked_for_is_a_minimum() -> None:
    assert next_delay_s(0, 300.0, lambda low, _: low) == 300.0
    assert next_delay_s(0, 300.0, lambda _, high: high) == 301.0


def test_after_many_failures_an_hour_passes_at_most_beyond_what_was_asked_for() -> None:
    delays = [next_delay_s(failures, 5.0, lambda _, high: high) - 5 for failures in (0, 1, 2, 11, 12, 33, 2000)]
    assert delays == [1, 2, 4, 2048, 3600, 3600, 3600]
