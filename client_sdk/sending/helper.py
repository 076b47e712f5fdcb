"""The helper: a separate process that sends a program's remaining reports after the program's end.

Each report is sent at a random time within a minute after it was recorded, and many programs end
earlier. A program that still has waiting reports starts the helper when the program ends. The
helper waits for the random times, and sends the reports in the ledger's file. The helper records no
answers. Each ledger has at most one helper at a time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from client_sdk.host import detached
from client_sdk.ledger import device, explanations, outbox, queue, retry_times
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.backoff import Uniform, jitter
from client_sdk.ledger.thread import WRITE
from client_sdk.results import LedgerBusyError, LedgerError
from client_sdk.sending.timing import LIFE_S
from client_sdk.sending.transport import HttpTransport, Transport

LOCK_SUFFIX = ".sending"
"""The suffix of the lock file's name. A running helper locks this file. The file contains the
helper's process id."""

_TRIES, _BETWEEN_TRIES_S = 50, 0.1

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.sending.transactions import Found

T = TypeVar("T")


class Helper(NamedTuple):
    """The settings of a helper.

    ``groups`` maps the name of each metric that has purposes to a string that lists its purposes.
    Two reports may share an upload only if their metrics have the same purposes.
    """

    path: Path
    app: str
    collector: str
    upload_key: str | None
    allow_plain_http: bool
    groups: Mapping[str, str] = outbox.ALL_TOGETHER

    def start(self) -> None:
        """Start a helper, unless one is already running."""
        if detached.can_start():
            detached.start(
                __name__,
                _lock_of(self.path),
                path=str(self.path),
                app=self.app,
                collector=self.collector,
                upload_key=self.upload_key,
                allow_plain_http=self.allow_plain_http,
                groups=dict(self.groups),
            )

    def leaves_soon(self, connection: sqlite3.Connection, now_s: float) -> bool:
        """Whether a helper that starts now would send anything before it ends."""
        if not device.agrees(connection):
            return False
        in_s = _leaves_in_s(connection, now_s)
        return (in_s is not None and in_s <= LIFE_S) or any(
            retry.due_s <= now_s for retry in retry_times.pending(connection)
        )


def end(path: Path) -> None:
    """End the helper of a ledger.

    An interrupted upload is sent again later, but is counted only once.
    """
    detached.end(_lock_of(path))


def main(  # noqa: PLR0913 all settings of a helper, as it receives them
    path: str,
    app: str,
    collector: str,
    upload_key: str | None,
    *,
    allow_plain_http: bool,
    groups: Mapping[str, str] = outbox.ALL_TOGETHER,
    held: int | None = None,
) -> None:
    """Send a ledger's reports that are due soon, unless another helper is running."""
    helper, has_more = Helper(Path(path), app, collector, upload_key, allow_plain_http, groups), False
    transport = HttpTransport(collector, upload_key, allow_plain_http=allow_plain_http)
    with contextlib.suppress(LedgerError, OSError), detached.alone(_lock_of(Path(path)), held) as lock:
        if lock is not None:
            has_more = send(BriefLedger(Path(path), app), transport, groups=groups)
    if has_more:
        helper.start()


class BriefLedger:
    """A ledger whose file is open only during transactions, because a helper mostly waits."""

    def __init__(self, path: Path, app: str) -> None:
        """Store the ledger's path, and the name of the app that must own the ledger."""
        self._path = path
        self._app = app

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work within a new transaction, and return the result of the work."""
        for _ in range(_TRIES):
            try:
                return self._transact(work)
            except Exception as error:  # noqa: BLE001 every problem with the file is explained in a sentence
                explained = explanations.explain(error, self._path)
            if not isinstance(explained, LedgerBusyError):
                break
            time.sleep(_BETWEEN_TRIES_S)
        raise explained

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with contextlib.closing(ledger_file.open_file(self._path, self._app, create=False)) as connection:
            connection.execute(WRITE)
            result = work(connection)
            connection.execute("COMMIT")
            return result


def send(  # noqa: PLR0913 tests pass other clocks
    ledger: BriefLedger,
    transport: Transport,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], object] = time.sleep,
    uniform: Uniform = jitter,
    *,
    groups: Mapping[str, str] = outbox.ALL_TOGETHER,
    monotonic: Callable[[], float] = time.monotonic,
) -> bool:
    """Send the reports that are due within `LIFE_S`.

    Returns whether more reports are due later.

    Only the first attempt may send an earlier upload again. Otherwise, the collector would receive
    two uploads in a row, and know that both come from the same device. For the same reason, new
    reports that became due during a request are sent at a new random time.
    """
    from client_sdk.sending.transactions import attempt  # noqa: PLC0415 3 ms, which the app saves

    until_s, may_resend = monotonic() + LIFE_S, True
    while True:
        look = partial(_look, now_s=clock(), groups=groups, may_resend=may_resend)
        attempt(ledger.run, look, transport, clock, uniform)
        may_resend = False
        wait_s = ledger.run(partial(_wait_s, now_s=clock(), uniform=uniform))
        if wait_s is None or monotonic() + wait_s > until_s:
            return wait_s is not None
        sleep(wait_s)


def _look(connection: sqlite3.Connection, now_s: float, groups: Mapping[str, str], *, may_resend: bool) -> Found:
    """Return an upload of new reports that are due, or else an upload to send again.

    No report is sent after a newer program has stored that the user does not agree. The check and
    the choice of the upload share a transaction, so that nothing can be stored between them.
    """
    from client_sdk.sending.transactions import Look  # noqa: PLC0415 5 ms

    parcel = None
    if device.agrees(connection):
        parcel = outbox.new_parcel(connection, now_s, groups, hurried=False)
        if parcel is None and may_resend:
            due = (retry for retry in retry_times.pending(connection) if retry.wait_s(now_s, hurried=False) == 0.0)
            longest = next(due, None)
            parcel = None if longest is None else outbox.parcel_to_resend(connection, longest, now_s)
    return parcel, Look([])


def _wait_s(connection: sqlite3.Connection, now_s: float, uniform: Uniform) -> float | None:
    if not device.agrees(connection):
        return None
    in_s = _leaves_in_s(connection, now_s)
    return uniform(0.0, queue.SPREAD_S) if in_s == 0.0 else in_s


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + LOCK_SUFFIX)


def _leaves_in_s(connection: sqlite3.Connection, now_s: float) -> float | None:
    """Return the seconds until a report is due, at least 0; None if no report will be due."""
    if queue.due(connection, now_s, hurried=False):
        return 0.0
    leaving = queue.next_leaving(connection, now_s)
    return None if leaving is None else leaving.in_s
