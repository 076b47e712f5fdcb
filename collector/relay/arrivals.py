"""Limits the bodies that are arriving. Lives in one event loop.

A device sends head and body together, so its body arrives within moments. A client that announces a
body and keeps it back costs a connection and up to the largest body. So there is a limit of time
and a limit of bodies. If there is one body too many, the oldest wait ends, once it has lasted a
moment. An attacker who blocks the others is more likely to be the oldest than a device. Many
devices that come at once are not ended for that: their bodies are there, and only not read yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from collector.api.problem import Problem, ProblemError

BODY_DEADLINE_S = 15.0
"""How long the body of an upload may take: 64 KiB over a very slow line."""

MOMENT_S = 0.5
"""How long the oldest body may take, however many others come."""

TURN_S = 0.01
"""How long a body that is one too many waits before it looks for a place again."""

MAX_ARRIVING = 512
"""Bodies that may arrive at once: 32 MiB of the largest.

This is half of the connections that a relay has besides those of held uploads, so there is always a
connection left for the next client.
"""


class Arrivals:
    """Limits how many bodies may arrive at once, and how long each may take."""

    def __init__(self, max_bodies: int = MAX_ARRIVING, deadline_s: float = BODY_DEADLINE_S) -> None:
        """Take the limits: bodies at once, and seconds for each."""
        self._max_bodies = max_bodies
        self._deadline_s = deadline_s
        self._waits: dict[asyncio.Timeout, float] = {}  # the oldest first, and when each began

    @asynccontextmanager
    async def receiving(self) -> AsyncIterator[None]:
        """Receive one body while the context is entered.

        Raises:
            ProblemError: 408 if it takes too long, or if it is the oldest when there is one too
                many.

        """
        clock_s = asyncio.get_running_loop().time
        while len(self._waits) >= self._max_bodies:
            oldest, since_s = next(iter(self._waits.items()))
            if clock_s() - since_s >= MOMENT_S:
                del self._waits[oldest]
                oldest.reschedule(clock_s())
            else:
                await asyncio.sleep(TURN_S)
        try:
            async with asyncio.timeout(self._deadline_s) as wait:
                self._waits[wait] = clock_s()
                try:
                    yield
                finally:
                    self._waits.pop(wait, None)
        except TimeoutError:
            raise ProblemError(Problem.BODY_TOO_SLOW) from None
