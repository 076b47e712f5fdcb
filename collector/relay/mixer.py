"""Mixes uploads: gathers them in batches, and sends each batch in random order.

Each upload is held in memory until the collector has responded to its batch. The mixer runs in one
event loop and writes nothing to disk. `Batch` does no IO, and gets its random order from an
argument.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from client_sdk.protocol.wire.strict_json import MalformedError
from collector.api.batch import MAX_BULK_BYTES, MAX_BULK_UPLOADS, LineAnswer, decode_answers
from collector.counters import (
    ABANDONED,
    ANSWERED,
    BATCHES,
    HELD,
    OLDEST_NS,
    REFUSED,
    RELAYED,
    UNANSWERED,
    UNAVAILABLE,
    WorkerCounters,
)
from collector.log import Event
from collector.relay.forward import CollectorUnavailableError

Waiter = TypeVar("Waiter")
"""The type of the objects that wait for the response to an upload."""

Permute = Callable[[int], list[int]]
"""A function that takes a number n, and returns the numbers from 0 to n - 1 in random order."""

SHORTEST = 0.5
"""The shortest gathering time of a batch, as a fraction of the longest.

The gathering time is random. If it were much shorter, a batch would contain only a few uploads, and
would not hide which device sent which upload.
"""

FORWARDERS = 4
"""The maximum number of batches that are sent at the same time. A slow batch delays no other."""

ANSWER_DEADLINE_S = 25.0
"""The longest time, in seconds, that a device waits for the relay's response.

The SDK gives up after 30 seconds.
"""

_log = logging.getLogger(__name__)


class HeldUpload(NamedTuple, Generic[Waiter]):
    """An upload that the relay holds until the collector has responded.

    Attributes:
        upload: the upload's id.
        body: the encoded upload, in one line.
        waiters: the objects that wait for the response. A device that sends the upload again adds
            another waiter.
    """

    upload: str
    body: bytes
    waiters: list[Waiter]


@dataclass
class Batch(Generic[Waiter]):
    """A batch that is still gathering uploads."""

    _uploads: dict[str, HeldUpload[Waiter]] = field(default_factory=dict)
    _bytes: int = 0

    def add(self, upload: str, body: bytes, waiter: Waiter) -> bool:
        """Add an upload. If the batch already contains an upload with this id, add only the waiter.

        The collector would count only the first body with this id.

        Returns:
            Whether the upload is now in the batch. False if the batch has no space left.
        """
        if upload in self._uploads:
            self._uploads[upload].waiters.append(waiter)
            return True
        size = self._bytes + len(body) + 1
        if size > MAX_BULK_BYTES or len(self._uploads) == MAX_BULK_UPLOADS:
            return False
        self._uploads[upload] = HeldUpload(upload, body, [waiter])
        self._bytes = size
        return True

    @property
    def is_full(self) -> bool:
        """Whether the batch contains the maximum number of uploads."""
        return len(self._uploads) == MAX_BULK_UPLOADS

    def permuted(self, permute: Permute) -> list[HeldUpload[Waiter]]:
        """Return the uploads in a random order, to hide their arrival times."""
        uploads = list(self._uploads.values())
        return [uploads[index] for index in permute(len(uploads))]


def gather_time_s(longest_s: float, uniform: Callable[[float, float], float]) -> float:
    """Return a random gathering time for a batch, in seconds. A full batch is sent earlier."""
    return uniform(SHORTEST * longest_s, longest_s)


class _Left(NamedTuple):
    """A batch that was sent and has no response yet.

    Attributes:
        uploads: the number of uploads in the batch.
        at_ns: the time at which the batch was sent (monotonic clock, nanoseconds).
    """

    uploads: int
    at_ns: int


_Held: TypeAlias = HeldUpload["asyncio.Future[LineAnswer]"]


class Mixer:
    """Gathers uploads, sends them in batches, and passes on the response to each upload."""

    def __init__(
        self,
        post: Callable[[bytes], bytes],
        *,
        gather_s: float,
        uniform: Callable[[float, float], float],
        permute: Permute,
        counters: WorkerCounters | None = None,
    ) -> None:
        """Prepare the mixer. Nothing is sent before the first upload.

        Args:
            post: sends the body of a batch and returns the response, or raises
                CollectorUnavailableError. The mixer calls this function in threads.
            gather_s: maximum number of seconds for which a batch gathers uploads.
            uniform: the source of random times, a function that returns a random float between its
                two arguments.
            permute: the source of random orders.
            counters: counts batches, for the Prometheus metrics.
        """
        self._counters = counters or WorkerCounters()
        self._post = post
        self._gather_s = gather_s
        self._uniform = uniform
        self._permute = permute
        self._threads = ThreadPoolExecutor(FORWARDERS, thread_name_prefix="forward")
        self._idle_threads = asyncio.Semaphore(FORWARDERS)
        self._batch: Batch[asyncio.Future[LineAnswer]] = Batch()
        self._timer: asyncio.TimerHandle | None = None
        self._under_way: dict[asyncio.Task[None], _Left] = {}  # the oldest first
        self._count_under_way()  # resets the values that a worker that died may have left
        self._is_failing = False

    async def deliver(self, upload: str, body: bytes) -> LineAnswer:
        """Hold an encoded upload until the collector has responded, and return the response.

        Raises:
            CollectorUnavailableError: if the collector did not respond in time. A retry is safe.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[LineAnswer] = loop.create_future()
        if not self._batch.add(upload, body, waiter):
            self._leave()
            self._batch.add(upload, body, waiter)
        if self._timer is None:
            self._timer = loop.call_later(gather_time_s(self._gather_s, self._uniform), self._leave)
        if self._batch.is_full:
            self._leave()
        try:
            async with asyncio.timeout(ANSWER_DEADLINE_S):
                return await waiter
        except TimeoutError:
            raise CollectorUnavailableError("the collector does not answer in time") from None

    def _leave(self) -> None:
        """Send the current batch, and begin a new batch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._batch = self._batch, Batch()
        uploads = batch.permuted(self._permute)
        task = asyncio.get_running_loop().create_task(self._send(uploads))
        self._under_way[task] = _Left(len(uploads), time.monotonic_ns())
        self._count_under_way()
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        """Forget a batch that has a response or was given up."""
        del self._under_way[task]
        self._count_under_way()

    def _count_under_way(self) -> None:
        """Update the metrics of batches that wait for a response.

        The batch that is still gathering is not counted, because its size would reveal when uploads
        arrive.
        """
        left = list(self._under_way.values())
        self._counters.put(HELD, sum(batch.uploads for batch in left))
        self._counters.put(OLDEST_NS, left[0].at_ns if left else 0)

    def _count(self, outcome: str, uploads: int) -> None:
        self._counters.add(BATCHES, outcome)
        self._counters.add(RELAYED, ANSWERED if outcome == ANSWERED else UNANSWERED, uploads)

    async def _send(self, uploads: list[_Held]) -> None:
        """Send a batch once a thread is free, and pass the responses to all waiters.

        An upload is left out if its device has stopped waiting, because the device will send it
        again. Otherwise, the relay would hold more and more uploads while a collector hangs.
        """
        async with self._idle_threads:
            waited_for = [upload for upload in uploads if _waiters([upload])]
            if not waited_for:
                self._count(ABANDONED, len(uploads))
                return
            self._counters.add(RELAYED, UNANSWERED, len(uploads) - len(waited_for))
            await self._send_now(waited_for)

    async def _send_now(self, uploads: list[_Held]) -> None:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._threads, self._exchange, uploads)
        except CollectorUnavailableError as error:
            self._note_failure(error)
            self._count(REFUSED if error.is_refusal else UNAVAILABLE, len(uploads))
            for waiter in _waiters(uploads):
                waiter.set_exception(error)
        else:
            self._note_success()
            self._count(ANSWERED, len(uploads))
            for upload, answer in zip(uploads, answers, strict=True):
                for waiter in _waiters([upload]):
                    waiter.set_result(answer)

    def _exchange(self, uploads: list[_Held]) -> list[LineAnswer]:
        """Send a batch, and return the responses in the order of its uploads.

        The mixer calls this method in a thread.
        """
        try:
            answer = self._post(b"".join(upload.body + b"\n" for upload in uploads))
            return decode_answers(answer, [upload.upload for upload in uploads])
        except MalformedError as error:
            raise CollectorUnavailableError(f"the collector's answer does not match the batch: {error}") from error

    def _note_failure(self, error: CollectorUnavailableError) -> None:
        """Log a failure, unless the previous batch also failed.

        A line for every failure would reveal when uploads arrived.
        """
        if not self._is_failing:
            _log.warning(
                "the collector does not accept uploads: %s; devices will send their uploads again",
                error,
                extra=Event.COLLECTOR_DOWN.extra,
            )
        self._is_failing = True

    def _note_success(self) -> None:
        """Log that the collector responds again, if the previous batch failed."""
        if self._is_failing:
            _log.info("the collector accepts uploads again", extra=Event.COLLECTOR_UP.extra)
        self._is_failing = False


def _waiters(uploads: list[_Held]) -> list[asyncio.Future[LineAnswer]]:
    """Return the futures of all devices that are still waiting."""
    return [waiter for upload in uploads for waiter in upload.waiters if not waiter.done()]
