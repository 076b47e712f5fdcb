"""Load for tests of faults, and its oracle.

Every acknowledged upload must be counted, and none twice. Each upload contains one report, so the
sum of a tally is the number of counted uploads. An upload whose answer was lost is sent again until
it has one. So in the end every upload is acknowledged exactly once, and the sum must equal their
number.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from client_sdk.protocol import Upload, Window, WindowKind
from tests.support.services.collecting import report, upload
from tests.support.services.processes import wait_until
from tests.support.services.wire import post

DELIVERY_DEADLINE_S = 120.0


class Load:
    """Sends uploads of one report from several threads, each until it is acknowledged.

    Attributes:
        acknowledged: the number of uploads that have been acknowledged.
        statuses: the number of answers with each status.

    """

    def __init__(
        self, url: str, senders: int, uploads_each: int, post: Callable[[str, Upload], tuple[int, Any]] = post
    ) -> None:
        self.acknowledged = 0
        self.statuses: Counter[int] = Counter()
        self._post = post
        self._url = url
        self._uploads_each = uploads_each
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._send_all) for _ in range(senders)]
        for thread in self._threads:
            thread.start()

    @property
    def uploads(self) -> int:
        """The number of all uploads, unless the load is ended early."""
        return len(self._threads) * self._uploads_each

    def end(self) -> None:
        """Begin no further upload, and wait until the present ones are acknowledged."""
        self._over.set()
        for thread in self._threads:
            thread.join(DELIVERY_DEADLINE_S)
        assert not any(thread.is_alive() for thread in self._threads)

    def wait_for(self, acknowledged: int) -> None:
        wait_until(lambda: self.acknowledged >= acknowledged, what="some load")

    def wait(self) -> None:
        for thread in self._threads:
            thread.join(DELIVERY_DEADLINE_S)
        assert self.acknowledged == self.uploads

    def _send_all(self) -> None:
        window = Window.at(WindowKind.DAY, time.time()).text
        for index in range(self._uploads_each):
            if self._over.is_set():
                return
            self._deliver(upload(report("os", index % 4, window)))
            with self._lock:
                self.acknowledged += 1

    def _deliver(self, sent: Upload) -> None:
        def answered() -> bool:
            status, document = self._post(self._url, sent)
            with self._lock:
                self.statuses[status] += 1
            assert status in (0, 200, 503), document
            assert status != 200 or document == {"accepted": 1, "refused": []}
            return status == 200

        wait_until(answered, deadline_s=DELIVERY_DEADLINE_S, what="an acknowledgement")
