"""Limits the bodies that are arriving. Lives in one event loop.

A device sends head and body together, so its body arrives within moments. A client that announces a
body and keeps it back costs a connection and up to the largest body. So there is a limit of time
and a limit of bodies. If there is one body too many, the oldest wait ends. An attacker who blocks
the others is more likely to be the oldest than a device.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from collector.api.problem import Problem, ProblemError

BODY_DEADLINE_S = 15.0
"""How long the body of an upload may take: 64 KiB over a very slow line."""

MAX_ARRIVING = 512
"""Bodies that may arrive at once: 32 MiB of the largest. This is half of the connections that a
relay has besides those of held uploads, so there is always a connection left for the next
client."""


class Arrivals:
    """Limits how many bodies may arrive at once, and how long each may take."""

    def __init__(self, max_bodies: int = MAX_ARRIVING, deadline_s: float = BODY_DEADLINE_S) -> None:
        """Take the limits: bodies at once, and seconds for each."""
        self._max_bodies = max_bodies
        self._deadline_s = deadline_s
        self._waits: dict[asyncio.Timeout, None] = {}  # the oldest first

    @asynccontextmanager
    async def receiving(self) -> AsyncIterator[None]:
        """Receive one body while the context is entered.

        Raises:
            ProblemError: 408 if it takes too long, or if it is the oldest when there is one too
                many.

        """
        if len(self._waits) == self._max_bodies:
            oldest = next(iter(self._waits))
            del self._waits[oldest]
            oldest.reschedule(asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(self._deadline_s) as wait:
                self._waits[wait] = None
                try:
                    yield
                finally:
                    self._waits.pop(wait, None)
        except TimeoutError:
            raise ProblemError(Problem.BODY_TOO_SLOW) from None
