from __future__ import annotations

import pytest

from collector.api.batch import MAX_BULK_BYTES, MAX_BULK_UPLOADS
from collector.relay.mixer import Batch, gather_time_s


def backwards(number: int) -> list[int]:
    return list(reversed(range(number)))


def test_uploads_leave_in_the_order_that_the_permutation_says() -> None:
    batch: Batch[str] = Batch()
    for name in "abc":
        assert batch.add(name, name.encode(), f"device {name}")
    assert [(line.upload, line.body, line.waiters) for line in batch.permuted(backwards)] == [
        ("c", b"c", ["device c"]),
        ("b", b"b", ["device b"]),
        ("a", b"a", ["device a"]),
    ]


def test_an_upload_that_comes_twice_is_sent_once_as_it_came_first_and_both_wait() -> None:
    batch: Batch[int] = Batch()
    assert batch.add("a", b"first", 1)
    assert batch.add("a", b"second", 2)
    ((upload, body, waiters),) = batch.permuted(backwards)
    assert (upload, body, waiters) == ("a", b"first", [1, 2])


def test_a_batch_holds_a_thousand_uploads() -> None:
    batch: Batch[int] = Batch()
    for number in range(MAX_BULK_UPLOADS):
        assert not batch.is_full
        assert batch.add(str(number), b"", number)
    assert batch.is_full
    assert not batch.add("one more", b"", 0)
    assert batch.add("0", b"", 1), "whoever waits for an upload of the batch needs no room"


@pytest.mark.parametrize(("beyond", "fits"), [(0, True), (1, False)])
def test_a_batch_holds_as_many_bytes_as_the_collector_takes(beyond: int, *, fits: bool) -> None:
    batch: Batch[int] = Batch()
    assert batch.add("a", bytes(MAX_BULK_BYTES // 2 - 1), 1)
    assert batch.add("b", bytes(MAX_BULK_BYTES // 2 - 1 + beyond), 2) is fits
    sent = b"".join(line.body + b"\n" for line in batch.permuted(backwards))
    assert len(sent) <= MAX_BULK_BYTES


def test_a_batch_gathers_for_a_random_time_that_is_long_enough_to_mix() -> None:
    assert gather_time_s(10.0, lambda low, _: low) == 5.0
    assert gather_time_s(10.0, lambda _, high: high) == 10.0
