"""The bodies that are on their way. Lives in one event loop.

A device sends head and body together, so that its body is here within moments. Who announces a body and keeps it back
costs a connection and, at most, the largest body: so they are waited for only so long, and so many at once. Where one
more comes, the one that was waited for longest goes, which whoever means to block the others is sooner than a device.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from collector.api.problem import Problem, ProblemError

BODY_DEADLINE_S = 15.0
"""How long the body of an upload may take: 64 KiB over the slowest of lines."""

MAX_ARRIVING = 512
"""Bodies on their way at once: 32 MiB of the largest. Half of the connections that a relay has beside held uploads, so
that there is always one more for it to hear of whoever comes next."""


class Arrivals:
    """How many bodies are waited for, and how long."""

    def __init__(self, most: int = MAX_ARRIVING, deadline_s: float = BODY_DEADLINE_S) -> None:
        """Take the bounds: bodies at once, and seconds for each."""
        self._most = most
        self._deadline_s = deadline_s
        self._waits: dict[asyncio.Timeout, None] = {}  # the oldest first

    @asynccontextmanager
    async def waited_for(self) -> AsyncIterator[None]:
        """Wait for one body while the context is entered.

        Raises:
            ProblemError: 408 if it took too long, or longer than all others when there was one too many.

        """
        if len(self._waits) == self._most:
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
