from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from http import HTTPStatus

import pytest

from client_sdk.protocol import Upload, Verdict
from collector.api.batch import (
    MAX_BULK_BYTES,
    MAX_BULK_UPLOADS,
    LineAnswer,
    LineProblem,
    UploadVerdict,
    decode_batch,
    encode_answers,
)
from collector.relay import mixer
from collector.relay.forward import CollectorUnavailableError
from collector.relay.mixer import Batch, Mixer, gather_time_s
from tests.support.core.tables import for_each
from tests.support.services.collecting import report, upload


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
    assert batch.add("0", b"", 1), "a request that waits for an upload of the batch needs no room"


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


def accept(body: bytes) -> bytes:
    """Answer like a collector that counts everything."""
    uploads = [line for line in decode_batch(body) if isinstance(line, Upload)]
    return encode_answers([UploadVerdict(sent.id, Verdict(len(sent.reports))) for sent in uploads])


class Collector:
    """Answers batches in the given ways in turn, repeating the last one, and records them."""

    def __init__(self, *ways: Callable[[bytes], bytes]) -> None:
        self.batches: list[bytes] = []
        self._ways = list(ways)

    def post(self, body: bytes) -> bytes:
        self.batches.append(body)
        return (self._ways.pop(0) if len(self._ways) > 1 else self._ways[0])(body)


def mixing(collector: Collector, gather_s: float = 0.01) -> Mixer:
    return Mixer(
        collector.post,
        gather_s=gather_s,
        uniform=lambda _, high: high,
        permute=lambda number: list(reversed(range(number))),
    )


async def deliver(mixing: Mixer, *uploads: Upload) -> list[LineAnswer | BaseException]:
    return await asyncio.gather(*(mixing.deliver(sent.id, sent.encode()) for sent in uploads), return_exceptions=True)


def answered(sent: Upload) -> UploadVerdict:
    return UploadVerdict(sent.id, Verdict(len(sent.reports)))


def test_uploads_that_come_together_leave_in_one_batch_in_another_order_and_each_gets_its_own_verdict() -> None:
    collector = Collector(accept)
    first, second = upload(report()), upload(report(), report("os"))
    assert asyncio.run(deliver(mixing(collector), first, second)) == [answered(first), answered(second)]
    assert collector.batches == [second.encode() + b"\n" + first.encode() + b"\n"]


@pytest.mark.slow
def test_a_batch_that_is_full_leaves_at_once() -> None:
    collector = Collector(accept)
    uploads = [upload() for _ in range(2 * MAX_BULK_UPLOADS)]
    assert asyncio.run(deliver(mixing(collector, gather_s=600.0), *uploads)) == [answered(sent) for sent in uploads]
    assert [len(decode_batch(batch)) for batch in collector.batches] == [MAX_BULK_UPLOADS] * 2


def test_an_upload_that_does_not_fit_in_leaves_with_the_next_batch() -> None:
    collector = Collector(accept)
    uploads = [upload(*[report("os", 3)] * 256) for _ in range(100)]
    assert asyncio.run(deliver(mixing(collector), *uploads)) == [answered(sent) for sent in uploads]
    assert len(collector.batches) > 1
    assert max(map(len, collector.batches)) <= MAX_BULK_BYTES


def test_a_device_that_sends_an_upload_again_while_it_is_held_gets_the_same_answer_and_it_is_sent_once() -> None:
    collector = Collector(accept)
    sent = upload()
    assert asyncio.run(deliver(mixing(collector), sent, sent, sent)) == [answered(sent)] * 3
    assert len(decode_batch(collector.batches[0])) == 1


def test_an_upload_that_the_collector_cannot_count_now_does_not_take_the_others_with_it() -> None:
    problem = LineProblem(1, HTTPStatus.SERVICE_UNAVAILABLE, "store_unavailable", "later")
    first, second = upload(), upload()
    collector = Collector(lambda _: encode_answers([problem, answered(first)]))
    assert asyncio.run(deliver(mixing(collector), first, second)) == [answered(first), problem]


def fail(_: bytes) -> bytes:
    raise CollectorUnavailableError("it cannot be reached")


@for_each(
    "answer",
    [
        fail,
        lambda _: b"",
        lambda body: accept(body)[:-1],
        lambda body: b"\n".join(reversed(accept(body).splitlines())) + b"\n",
        lambda body: accept(body) + accept(body),
        lambda _: b"<html>Please log in</html>\n" * 2,
    ],
)
def test_an_answer_that_does_not_match_the_request_is_not_guessed(answer: Callable[[bytes], bytes]) -> None:
    answers = asyncio.run(deliver(mixing(Collector(answer)), upload(), upload()))
    assert [type(answer) for answer in answers] == [CollectorUnavailableError] * 2


def test_the_collectors_failing_is_logged_once_a_row_for_a_line_each_would_tell_when_uploads_came(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def deliver_often() -> None:
        patient = mixing(Collector(fail, fail, accept, fail))
        for _ in range(4):
            await deliver(patient, upload())

    caplog.set_level("INFO", "collector")
    asyncio.run(deliver_often())
    failing = "the collector does not accept uploads: it cannot be reached; devices will send their uploads again"
    assert caplog.messages == [failing, "the collector accepts uploads again", failing]


def test_a_device_is_asked_to_retry_before_it_gives_up_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixer, "ANSWER_DEADLINE_S", 0.01)
    end = threading.Event()

    def hang(body: bytes) -> bytes:
        end.wait()
        return accept(body)

    async def wait_in_vain() -> list[LineAnswer | BaseException]:
        answers = await deliver(mixing(Collector(hang), gather_s=0.001), upload())
        end.set()
        return answers

    (answer,) = asyncio.run(wait_in_vain())
    assert isinstance(answer, CollectorUnavailableError)


def test_uploads_that_nobody_waits_for_any_more_are_not_kept_for_a_collector_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mixer, "ANSWER_DEADLINE_S", 0.05)
    end = threading.Event()

    def hang(body: bytes) -> bytes:
        end.wait()
        return accept(body)

    collector = Collector(hang)
    late = upload()

    async def flood() -> list[LineAnswer | BaseException]:
        mixed = mixing(collector, gather_s=0.001)
        for _ in range(mixer.FORWARDERS + 20):
            await deliver(mixed, upload())
        monkeypatch.setattr(mixer, "ANSWER_DEADLINE_S", 30.0)
        coming = asyncio.create_task(deliver(mixed, late))
        await asyncio.sleep(0)
        end.set()
        return await coming

    assert asyncio.run(flood()) == [answered(late)]
    assert len(collector.batches) == mixer.FORWARDERS + 1


def test_a_device_that_went_away_does_not_keep_the_others_from_their_answers() -> None:
    staying, gone = upload(), upload()

    async def lose_answer() -> LineAnswer:
        def post(body: bytes) -> bytes:
            loop.call_soon_threadsafe(leaving.cancel)
            return accept(body)

        loop = asyncio.get_running_loop()
        mixed = mixing(Collector(post))
        answer = asyncio.create_task(mixed.deliver(staying.id, staying.encode()))
        leaving = asyncio.create_task(mixed.deliver(gone.id, gone.encode()))
        return await answer

    assert asyncio.run(lose_answer()) == answered(staying)
