"""A device below its threads: calendar, ledger and the decision to send, on a ledger in memory.

Work that its threads would do when free is done at once, in the caller's frame. A program may die
before and after each commit, and after a request has left. Then all is lost but what was committed.
"""

from __future__ import annotations

import contextlib
import logging
import math
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache, partial
from random import Random
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar
from unittest import mock

from client_sdk import Registry
from client_sdk.answers.calendar import RELEASE_SPREAD_S
from client_sdk.answers.mistakes import Mistakes
from client_sdk.answers.schedule import Schedule
from client_sdk.host.clock import Clock
from client_sdk.ledger import erase, outbox, retry_times
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.losses import Losses
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.ledger.thread import READ, WRITE
from client_sdk.protocol import Metric
from client_sdk.recorder import Recorder
from client_sdk.results import Consent, LedgerError, Recorded
from client_sdk.sending import transactions
from client_sdk.sending.transport import Transport

T = TypeVar("T")

Work = Callable[[sqlite3.Connection], T]


class DeathError(BaseException):
    """The program was killed. No handler of errors sees it."""


class Draws:
    """The random numbers of one device: a stream for each purpose, unaffected by other draws."""

    _acting: ClassVar[Draws]

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._streams: dict[str, Random] = {}

    def act(self) -> None:
        """Take the place of the operating system's random numbers from now on."""
        Draws._acting = self

    @classmethod
    @contextlib.contextmanager
    def replacing_the_systems(cls) -> Iterator[None]:
        """Let the operating system's random numbers come from the device that acts."""

        def draw_secret() -> bytes:
            return cls._acting("secrets").randbytes(32)

        def shuffler() -> Random:
            return cls._acting("order")

        with (
            mock.patch.object(outbox, "urandom", lambda number: cls._acting("ids").randbytes(number)),
            mock.patch.object(ledger_file, "draw_secret", draw_secret),
            mock.patch.object(secrets, "SystemRandom", shuffler),
            mock.patch.object(Registry, "parse", _parsed),  # a quarter of the time otherwise
            mock.patch.object(logging.getLogger("client_sdk"), "disabled", new=True),  # as much
        ):
            yield

    def __call__(self, purpose: str) -> Random:
        if purpose not in self._streams:
            self._streams[purpose] = Random(f"{self._seed} {purpose}")  # noqa: S311 a simulation, not a device
        return self._streams[purpose]

    def bernoulli(self, numerator: int) -> bool:
        return self("answers").getrandbits(64) < numerator

    def below(self, bound: int) -> int:
        return self("releases" if bound == RELEASE_SPREAD_S else "answers").randrange(bound)


class Device:
    """A device and the program that runs on it.

    Attributes:
        connection: its ledger.
        registry: of the program.
        consent: what the user agrees to.
        dies_at: after how many more commits and requests the program dies; 0 for never.

    """

    def __init__(self, registry: Registry, clock: Callable[[], float], transport: Transport, draws: Draws) -> None:
        self.registry = registry
        self.consent: Consent = True
        self.dies_at = 0
        self.draws = draws
        self._clock = clock
        self._transport = transport
        draws.act()
        self.connection = ledger_file.open_memory("acme")
        self.start()

    def start(self, registry: Registry | None = None) -> None:
        """Start the program, perhaps with another registry, as `Telemetry` does."""
        self.draws.act()
        self.registry = registry or self.registry
        self.dies_at = 0
        self._schedule = Schedule(self.registry, self.draws)
        self._schedule.agreement.take(self.consent)
        uploader = SimpleNamespace(departure=self._departure, notify=_nothing, expect=_nothing)
        process = SimpleNamespace(ledger_thread=self, uploader=uploader, losses=Losses(), is_finished=False)
        process.losses._stored_s = math.inf  # the machine's clock decides nothing here
        self._recorder = Recorder(
            SimpleNamespace(current=process),  # type: ignore[arg-type] # the parts of them that it uses
            self._schedule,
            Clock(self._clock),
        )
        self._begin()

    def agree(self, consent: Consent) -> None:
        """Let the user decide otherwise; after opting out it takes another start."""
        self.draws.act()
        self.consent = consent
        if consent is False:
            self._schedule.agreement.consent = False
            self._schedule.forget()
            self._transact(erase.wipe)
            return
        if not self._schedule.agreement.consent:
            self.start()
            return
        self._schedule.agreement.take(consent)
        self._begin()

    def record(self, metric: str, answer: object) -> Recorded:
        """Record an answer, as `Telemetry.record` does."""
        self.draws.act()
        definition = self._taken(metric)
        if definition is None:
            return Recorded.NO_CONSENT
        if definition.kind.call == "count":
            return self._in_time(
                definition, lambda connection, clock_s: self._schedule.count(connection, clock_s, definition, 2)
            )
        try:
            encode = partial(_encoded, definition, answer)
            randomized = self._schedule.randomize(definition, encode, self._recorder.read_secret, lambda: 0.0)
        except LedgerError as error:
            return error.recorded
        return self._recorder.record(definition, randomized)

    def look(self, metric: str) -> Recorded:
        """Look at the clock when `record` would, and record nothing."""
        self.draws.act()
        definition = self._taken(metric)
        if definition is None:
            return Recorded.NO_CONSENT

        def work(connection: sqlite3.Connection, clock_s: float) -> Recorded:
            self._schedule.catch_up(connection, clock_s)
            return Recorded.ALREADY_RECORDED

        return self._in_time(definition, work)

    def send(self, *, again: bool, hurried: bool) -> bool:
        """Attempt to send, as the uploader does: first an upload that waits to be sent again.

        Return whether an upload left.
        """
        self.draws.act()
        if not self._schedule.agreement.consent:
            return False
        now_s = self._clock()
        pending = retry_times.pending(self.connection) if again else []
        due = [retry for retry in pending if retry.wait_s(now_s, hurried=hurried) == 0]
        if due:
            look = partial(transactions.look_for_retry, schedule=self._schedule, retry=due[0])
        else:
            look = partial(transactions.look_for_news, schedule=self._schedule, hurried=hurried)
        found = transactions.attempt(
            self.run,
            partial(look, now_s=now_s),
            self,
            self._clock,
            self.draws("jitter").uniform,
            covers=self._schedule.agreement.is_covered,
        )
        return found.sent is transactions.Departed.UPLOAD

    def post(self, body: bytes) -> Any:
        """Hand a body to the network; the program may die before it hears the answer."""
        reply = self._transport.post(body)
        self._live_on()
        return reply

    def run(self, work: Work[T], timeout_s: float = 0.0, *, begin: str = WRITE) -> T:
        """Do a job of the ledger thread; it takes no time."""
        assert timeout_s >= 0
        return self._transact(work, begin)

    def run_or_leave(self, work: Work[T], timeout_s: float, late: object) -> T:
        """Do a job of the ledger thread; none is ever left."""
        assert late is not None
        return self.run(work, timeout_s)

    def prepare(self, work: Work[object] = lambda _: None, *, begin: str = READ) -> None:
        """Do a job of the ledger thread that nobody waits for."""
        with contextlib.suppress(LedgerError):
            self._transact(work, begin)

    def _transact(self, work: Work[T], begin: str = WRITE) -> T:
        self.connection.execute(begin)
        try:
            result = work(self.connection)
            self._live_on()
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        self._live_on()
        return result

    def _live_on(self) -> None:
        if self.dies_at == 1:
            raise DeathError
        self.dies_at = max(0, self.dies_at - 1)

    def _begin(self) -> None:
        """Apply what the user agrees to, and do what is due."""
        if self.consent:
            self._transact(ledger_file._renew_secret)
        self._transact(partial(self._schedule.agree, consent=self.consent))
        if self.consent and self._schedule.dues.looks_ahead:
            self.prepare(partial(self._recorder.catch_up, clock_s=self._clock()), begin=WRITE)

    def _taken(self, metric: str) -> Metric | None:
        definition = self.registry.metrics.get(metric)
        agreement = self._schedule.agreement
        return definition if definition is not None and agreement.consent and agreement.takes(metric) else None

    def _in_time(self, definition: Metric, work: Callable[[sqlite3.Connection, float], Recorded]) -> Recorded:
        return self._recorder.in_time(definition, lambda connection, clock_s, _: work(connection, clock_s))

    def _departure(self, clock_s: float) -> SimpleNamespace:
        return SimpleNamespace(leaves_s=clock_s + self.draws("jitter").uniform(0.0, SPREAD_S))


_parsed = cache(Registry.parse)


def _encoded(definition: Metric, answer: object, coins: Any) -> Any:
    return Mistakes().valid(definition, lambda: definition.encode(answer, coins), lambda: definition.draw(coins))


def _nothing(*_: object) -> None:
    pass
