"""Mistakes in an app's calls to the SDK, and how the SDK limits their effects.

A random answer replaces an invalid answer. A call that names an undefined metric has no effect.
Neither mistake raises an error, because a crashed app or a missing report would hint at the answer.
Mistakes are counted only in memory, because the data on disk must not depend on whether an answer
was valid.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

from client_sdk.protocol.errors import OutsideDomainError, UnknownMetricError
from client_sdk.protocol.metric import Metric
from client_sdk.results import Recorded, warn

T = TypeVar("T")

INVALID: Final = "invalid"
"""The key of `Mistakes.counts` for invalid answers, for which the app gets the same result as for
valid answers."""


class Mistakes:
    """Counts the mistakes in one process, and logs the first mistake of each metric."""

    def __init__(self) -> None:
        """Start without mistakes."""
        self._lock = threading.Lock()
        self._counts = Counter[str]()
        self._logged = set[str | None]()

    def valid(self, definition: Metric, read: Callable[[], T], draw: Callable[[], T]) -> T:
        """Return the result of ``read``, or of ``draw`` if ``read`` finds an invalid answer."""
        with contextlib.suppress(OutsideDomainError):
            return read()
        del read  # `read` refers to the answer, and no part of an answer may reach a log
        mistake = OutsideDomainError(definition.name, definition.kind.expected)
        self._note(INVALID, mistake, "a random answer is reported instead")
        return draw()

    def unknown(self, mistake: UnknownMetricError | OutsideDomainError) -> Recorded:
        """Count a call that names an undefined metric or uses a wrong method.

        Returns the result of that call, `Recorded.UNKNOWN`.
        """
        self._note(Recorded.UNKNOWN.value, mistake, "nothing is recorded")
        return Recorded.UNKNOWN

    @property
    def counts(self) -> Counter[str]:
        """The number of times that each mistake occurred."""
        with self._lock:
            return self._counts.copy()

    def clear(self) -> None:
        """Forget all counts after the user has opted out."""
        with self._lock:
            self._counts.clear()

    def _note(self, reason: str, mistake: UnknownMetricError | OutsideDomainError, consequence: str) -> None:
        with self._lock:
            self._counts[reason] += 1
            is_new = mistake.metric not in self._logged
            self._logged.add(mistake.metric)
        if is_new:
            warn("%s; %s (logged once; in tests, Telemetry(…, strict=True) raises an exception)", mistake, consequence)
