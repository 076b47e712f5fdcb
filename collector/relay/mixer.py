"""Holds uploads until the batch that they leave with is answered. Lives in one event loop; nothing touches the disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from client_sdk.protocol import MalformedError
from collector.api.batch import Answered, LineProblem, decode_answers
from collector.relay.batch import Batch, Line, Permute, gather_time_s
from collector.relay.forward import CollectorUnavailableError

FORWARDERS = 4
"""Batches under way at once: more than one, so that a slow one does not hold up the others."""

ANSWER_DEADLINE_S = 25.0
"""How long a device waits for its answer at most: the SDK gives up after 30 seconds."""

LineAnswer = Answered | LineProblem
_Held = Line["asyncio.Future[LineAnswer]"]

_log = logging.getLogger(__name__)


class Mixer:
    """Gathers uploads, sends them in batches in a random order, and answers each."""

    def __init__(
        self,
        post: Callable[[bytes], bytes],
        *,
        gather_s: float,
        uniform: Callable[[float, float], float],
        permute: Permute,
    ) -> None:
        """Take what it works with; nothing is sent before the first upload.

        Args:
            post: delivers the body of a batch and returns the answer; called in threads; raises
                CollectorUnavailableError.
            gather_s: seconds for which a batch gathers at most.
            uniform: the source of random times: a float between two others.
            permute: the source of random orders.

        """
        self._post = post
        self._gather_s = gather_s
        self._uniform = uniform
        self._permute = permute
        self._threads = ThreadPoolExecutor(FORWARDERS, thread_name_prefix="forward")
        self._idle_threads = asyncio.Semaphore(FORWARDERS)
        self._batch: Batch[asyncio.Future[LineAnswer]] = Batch()
        self._timer: asyncio.TimerHandle | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_failing = False

    async def deliver(self, upload: str, body: bytes) -> LineAnswer:
        """Hold an upload until the collector has answered it.

        Args:
            upload: its id.
            body: it, on one line.

        Raises:
            CollectorUnavailableError: if the collector did not answer, or not in time; sending it again is safe.

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
            raise CollectorUnavailableError("it does not answer in time") from None

    def _leave(self) -> None:
        """Send the batch that gathers, and begin another."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._batch = self._batch, Batch()
        task = asyncio.get_running_loop().create_task(self._send(batch.permuted(self._permute)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _send(self, lines: list[_Held]) -> None:
        """Send a batch when its turn comes, and tell everybody who waits.

        Of one that comes too late nothing is sent: its devices were told to send theirs again. Or else a collector
        that hangs would be brought ever older batches, and ever more of them would be held for it.
        """
        async with self._idle_threads:
            lines = [line for line in lines if _waiters([line])]
            if lines:
                await self._send_now(lines)

    async def _send_now(self, lines: list[_Held]) -> None:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._threads, self._exchange, lines)
        except CollectorUnavailableError as error:
            self._note_failure(error)
            for waiter in _waiters(lines):
                waiter.set_exception(error)
        else:
            self._is_failing = False
            for line, answer in zip(lines, answers, strict=True):
                for waiter in _waiters([line]):
                    waiter.set_result(answer)

    def _exchange(self, lines: list[_Held]) -> list[LineAnswer]:
        """Send a batch and return the answers in the same order. Runs in a thread."""
        try:
            answer = self._post(b"".join(line.body + b"\n" for line in lines))
            return decode_answers(answer, [line.upload for line in lines])
        except MalformedError as error:
            raise CollectorUnavailableError(f"its answer is not one to what was sent: {error}") from error

    def _note_failure(self, error: CollectorUnavailableError) -> None:
        """Log the first failure of a row: a line each would tell when uploads came."""
        if not self._is_failing:
            _log.warning("the collector does not take uploads: %s; devices will send theirs again", error)
        self._is_failing = True


def _waiters(lines: list[_Held]) -> list[asyncio.Future[LineAnswer]]:
    """Return whoever still waits."""
    return [waiter for line in lines for waiter in line.waiters if not waiter.done()]
