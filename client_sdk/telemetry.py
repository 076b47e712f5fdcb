"""The wiring: what an application holds in its hands."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from client_sdk.answers import participation
from client_sdk.answers.budget_alerts import WARN_AT, BudgetWatch, OnBudget
from client_sdk.answers.coins import SystemCoins
from client_sdk.answers.permanent import permanent_answer
from client_sdk.answers.schedule import Agenda, Made
from client_sdk.ledger import charges, erase, outbox
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.thread import BARE, READ
from client_sdk.per_process import Processes
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.domain import Count
from client_sdk.protocol.errors import OutsideDomainError, UnknownMetricError
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.recorder import Recorder
from client_sdk.results import BudgetStatus, HistoryEntry, LedgerError, Recorded, warn
from client_sdk.sending.transport import HttpTransport, Transport

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

READ_DEADLINE_S = 2.0
"""How long a question for people (history, budget) waits: they would rather wait than see nothing."""

FORGET_DEADLINE_S = 30.0
"""How long wiping may take: it rewrites the file, and the user asked for it."""

CLOSE_DEADLINE_S = 1.0
"""How long closing waits for each thread: a host that exits must not be kept."""

_SYSTEM_COINS = SystemCoins()


class Telemetry:
    """Records answers on this device, perturbed, and sends them.

    It never slows, crashes or keeps its host: `record` returns within 100 ms, `flush` when its time is over, and both
    say by their result what happened. It may be used by any thread, after a fork by parent and child, and by several
    processes on one ``data_dir``. Nothing is recorded, stored or sent without consent.

    A context manager: leaving it closes it. So does dropping it, without waiting for anything.
    """

    def __init__(  # noqa: PLR0913 what varies between hosts, named by the caller
        self,
        registry: Registry,
        *,
        collector: str,
        data_dir: str | Path | None,
        consent: bool,
        clock: Callable[[], float] = time.time,
        coins: Coins = _SYSTEM_COINS,
        upload_key: str | None = None,
        allow_plain_http: bool = False,
        transport: Transport | None = None,
        on_budget: OnBudget | None = None,
        warn_at: Sequence[float] = WARN_AT,
    ) -> None:
        """Begin; reports left over from an earlier run are sent in the background.

        Args:
            registry: the app's questions and ceilings.
            collector: the collector's URL.
            data_dir: a directory of this app's own for the ledger's file, on a local file system; made if need be. None
                keeps all in memory, so that the budget lasts as long as this object, and a child process has none.
            consent: whether the user has agreed: True or False, nothing that merely counts as such.
            clock: Unix seconds.
            coins: where randomness comes from; anything but the default is for tests.
            upload_key: the secret that the collector asks of this app; the same on every device.
            allow_plain_http: whether ``collector`` may be an http URL of another machine, so that whoever is on the way
                can read what is sent, and answer it; for networks of your own. This machine's own is always allowed.
            transport: how uploads travel; HTTP by default, and only that sends ``upload_key``. What its ``post(body)``
                returns is a `client_sdk.Reply`, or none if nothing came back.
            on_budget: called with a fraction and a `BudgetStatus` when so much of the lifetime budget is spent: once a
                fraction and process, in the thread that uploads, soon after the report that spent it. What it raises
                is logged; while it runs nothing is sent.
            warn_at: those fractions.

        Raises:
            ValueError: if ``collector`` is no http or https URL, or has a query, a fragment, blanks or a user name; if
                it is an http URL of another machine and ``allow_plain_http`` is not given; if ``upload_key`` is not of
                printable ASCII without blanks; or if a fraction is not above 0, or above 1.
            TypeError: if ``consent`` is no bool.

        """
        if not isinstance(consent, bool):
            raise TypeError("consent must be True or False: whether the user has agreed")
        self._registry = registry
        self._path = None if data_dir is None else Path(data_dir).absolute() / ledger_file.FILE_NAME
        self._coins = coins
        self._transport = transport or HttpTransport(collector, upload_key, allow_plain_http=allow_plain_http)
        self._closed = False
        self._agenda = Agenda(registry, coins)
        watch = None if on_budget is None else BudgetWatch(registry, on_budget, warn_at)
        self._processes = Processes(
            self._path, registry.app, self._transport, clock, self._agenda, consent=consent, watch=watch
        )
        self._recorder = Recorder(registry, self._processes, self._agenda, clock)
        weakref.finalize(self, self._processes.end).atexit = False  # then all threads end anyway
        if consent and (self._path is not None or self._agenda.looks_ahead):
            with contextlib.suppress(LedgerError):  # `problem` says it
                self._recorder.prepare()
        if consent and self._path is not None:
            self._processes.current.uploader.notify()
        elif consent and self._agenda.looks_ahead:
            self._processes.current.uploader.expect()

    @property
    def consent(self) -> bool:
        """Whether the user has agreed; false for good after `forget`."""
        return self._processes.consent

    @property
    def problem(self) -> str | None:
        """What was wrong at the latest use or upload, and what to do about it; none if nothing was."""
        process = self._processes.current
        return self._recorder.clock_problem or process.keeper.problem or process.uploader.problem

    def record(self, metric: str, value: object) -> Recorded:
        """Perturb an answer and queue the report; one a metric and window.

        Args:
            metric: the metric's name.
            value: the true answer. It does not outlive this call: it reaches no disk, no log and no error.

        Returns:
            What became of it, within 100 ms.

        Raises:
            UnknownMetricError: if the registry defines no such metric.
            OutsideDomainError: if the answer is outside the metric's domain.

        """
        mistake: UnknownMetricError | OutsideDomainError
        try:
            definition = self._registry.metric(metric)
            made = self._made(definition, value)
        except UnknownMetricError:
            mistake = UnknownMetricError(metric, tuple(self._registry.metrics))
        except OutsideDomainError as error:
            mistake = OutsideDomainError(error.metric, error.expected)
        except Exception as error:  # noqa: BLE001 whatever it is, its frames hold the answer and must not be shown
            warn("an answer could not be perturbed: %s", type(error).__name__)
            return Recorded.UNAVAILABLE
        else:
            del value  # whatever fails from here on has no frame that holds it
            if isinstance(made, Recorded):
                return made
            return Recorded.CLOSED if self._closed else self._recorder.record(definition, made)
        # A new error, raised here: the old one's traceback and context hold frames that hold the answer.
        del value
        raise mistake

    def count(self, metric: str, by: int = 1) -> Recorded:
        """Add up over the window; when it has ended, the sum is reported, as `record` would.

        What is counted lives in memory and is lost with the process, unless the registry says ``persist``: then it
        stands in the ledger's file until it is reported, and several processes add up to one sum.

        Args:
            metric: the name of a metric of kind ``count``.
            by: how many to add, from 0 up; the sum is cut at the metric's ``max``.

        Returns:
            ``COUNTED``, or why not, within 100 ms. ``BUSY`` may have been counted all the same.

        Raises:
            UnknownMetricError: if the registry defines no such metric.
            OutsideDomainError: if the metric is no count, or ``by`` is no whole number from 0 up.

        """
        mistake = self._mistake_of_count(metric, by)
        if mistake is not None:
            del by  # the frames of an error must not hold it
            raise mistake
        return Recorded.CLOSED if self._closed else self._recorder.count(self._registry.metrics[metric], by)

    def _mistake_of_count(self, metric: str, by: int) -> UnknownMetricError | OutsideDomainError | None:
        definition = self._registry.metrics.get(metric)
        if definition is None:
            return UnknownMetricError(metric, tuple(self._registry.metrics))
        if not isinstance(definition.domain, Count):
            return OutsideDomainError(metric, f"an answer by record(), for a {definition.kind} does not add up")
        return None if type(by) is int and by >= 0 else OutsideDomainError(metric, "a whole number from 0 up")

    def _made(self, definition: Metric, value: object) -> Made | Recorded:
        """Return what is made of an answer, or why nothing is: a permanent answer needs the device's secret."""
        if not isinstance(definition.channel, Permanent):
            return definition.perturb(value, self._coins)
        definition.encode(value, self._coins)  # a programmer's mistake is named whether or not there is a secret
        secret = Recorded.CLOSED if self._closed else self._recorder.secret()
        if isinstance(secret, Recorded):
            return secret
        return permanent_answer(definition, definition.channel, value, secret)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Send now what waits instead of in the background.

        It sends what is new, in uploads of its own. Where nothing is new it cuts a back-off short: of one upload that
        was not answered, because several at once would be seen to come from one device. A pause that the collector
        asked for still holds, and a report that was refused for now keeps its own time. It never raises.

        Returns:
            Whether nothing waits any more but for its window to end; false as soon as nothing more can be sent within
            ``timeout_s`` seconds.

        """
        timeout_s = min(timeout_s, threading.TIMEOUT_MAX) if timeout_s > 0 else 0.0  # not a number is not above 0
        if self.consent and not self._closed:
            return self._processes.current.uploader.flush(timeout_s)
        try:
            return self._ask(outbox.waiting, empty=0, timeout_s=min(timeout_s, READ_DEADLINE_S)) == 0
        except LedgerError:
            return False

    def history(self) -> list[HistoryEntry]:
        """Return every report that has left this device, for the user to read.

        Raises:
            LedgerError: if the ledger cannot be read, or this is closed.

        """
        return self._ask(outbox.history, empty=[])

    def budget(self) -> BudgetStatus:
        """Return the privacy loss spent and left, of the present window and of the device's life.

        Raises:
            LedgerError: if the ledger cannot be read, or this is closed.

        """
        budget = self._registry.budget
        periods = Periods.at(budget, self._recorder.instant(budget.window))
        once_nanos = participation.window_nanos(self._registry)
        work = partial(charges.status, budget=budget, periods=periods, window_nanos=once_nanos)
        return self._ask(work, empty=charges.status_of((0, 0, 0), budget, periods, once_nanos))

    def dropped(self) -> dict[str, int]:
        """Return how many reports were dropped, by reason.

        The reasons: ``queue_full``, ``no_longer_asked`` (a new registry came before it was sent), ``too_late`` (refused
        for the time being, until its window closed), ``unanswered`` (sent again and again, also after it closed),
        ``rejected`` (with its whole upload), and the codes of refusals that were final or came too often.

        Raises:
            LedgerError: if the ledger cannot be read, or this is closed.

        """
        return self._ask(outbox.dropped, empty={})

    def forget(self) -> None:
        """Opt out: wipe queue, history, counters and secret from the file; what was spent stays spent.

        Of windows that are over the file then holds only the sum of what they cost, neither the questions nor the days.

        From now on this object has no consent, also if an error is raised.

        Raises:
            LedgerError: if not all of it could be wiped; the message says what to do. When another process was using
                the ledger, call again.

        """
        self._processes.consent = False
        self._agenda.counters.clear()
        self._processes.current.uploader.stop()
        if self._path is None:
            self._run(erase.wipe, FORGET_DEADLINE_S)
            return
        if ledger_file.exists(self._path):
            self._run(erase.wipe, FORGET_DEADLINE_S)
            self._run(ledger_file.scrub, FORGET_DEADLINE_S, begin=BARE)
        ledger_file.remove_leftovers(self._path)

    def close(self) -> None:
        """End the background work within a moment; what waits stays in the file for the next run."""
        self._closed = True
        process = self._processes.current
        process.uploader.stop()
        process.uploader.join(CLOSE_DEADLINE_S)
        process.keeper.close(CLOSE_DEADLINE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, work: Callable[[sqlite3.Connection], T], empty: T, timeout_s: float = READ_DEADLINE_S) -> T:
        """Read the ledger; ``empty`` is the answer where there is none and none may be made."""
        if not self.consent and self._path is not None and not ledger_file.exists(self._path):
            return empty
        return self._run(work, timeout_s, begin=READ)

    def _run(self, work: Callable[[sqlite3.Connection], T], timeout_s: float, **options: str) -> T:
        if self._closed:
            raise LedgerError("this Telemetry is closed; make a new one")
        return self._processes.current.keeper.run(work, timeout_s, **options)
