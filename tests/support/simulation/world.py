"""Devices, a network, a collector and its store in one process, and time as a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Final, NamedTuple

from client_sdk.protocol import GRACE_S, Verdict, Window
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.verdict import encode_stopped
from client_sdk.results import Consent
from client_sdk.sending.responses import Reply
from collector.errors import StoreUnavailableError
from collector.judge import judge
from collector.store.store_protocol import close_due_windows
from tests.support.devices.clients import DAY_S, NOON
from tests.support.services.memory_store import MemoryStore
from tests.support.simulation.device import DeathError, Device, Draws
from tests.support.simulation.history import DEVICES, Fate, Step
from tests.support.simulation.oracle import BrokenPromiseError, Oracle
from tests.support.simulation.releases import RELEASES, served

QUIET_DAYS: Final = 5
"""In these last days everything that still can arrive does: windows stay open for three days."""

MOST_ATTEMPTS: Final = 12
"""The attempts in one step, so that a wrong device does not send without end."""

CLOSE_EVERY_S: Final = 6 * 3600
"""How often the collector looks for windows to close."""


class Departed(NamedTuple):
    """A request that left: when, whose, its id and the questions of its reports, but no symbol."""

    at_s: float
    device: int
    upload: str
    metrics: tuple[tuple[str, str, str], ...]


class World:
    """Lives through a history; the oracle watches.

    Attributes:
        departed: every request that left.
        days: how many days all devices have lived through together.
        oracle: which raises as soon as a promise is broken.

    """

    def __init__(self, seed: object, *, is_silent: bool = False) -> None:
        self.departed: list[Departed] = []
        self.oracle = Oracle()
        self._now_s = self._start_s = NOON
        self._seed, self._is_silent = seed, is_silent
        self._offsets_s = [0] * DEVICES
        self._collectors_offset_s = 0
        self._store = MemoryStore(clock=lambda: self._now_s)
        self._newest, self._with_history = 0, True
        self._stopped: tuple[tuple[str, str], ...] = ()
        self._once: frozenset[str] = frozenset()
        self._registry = served(0, (), with_history=True)
        self._fate = Fate.ANSWERED
        self._in_flight: list[tuple[int, bytes]] = []
        self._closed_s = 0.0
        self._serve()
        self.devices: list[Device] = []

    @property
    def days(self) -> float:
        return DEVICES * (self._now_s - self._start_s) / DAY_S

    def live(self, steps: Iterable[Step]) -> None:
        """Live through a history and some quiet days, after which nothing is under way."""
        with Draws.replacing_the_systems():
            for number in range(DEVICES):
                self.oracle.installed(number, RELEASES[0])
                draws = Draws(f"{self._seed} {number}")
                self.devices.append(Device(RELEASES[0], partial(self._clock_of, number), Wire(self, number), draws))
            for turn, step in enumerate(steps):
                try:
                    self._take(step)
                except BrokenPromiseError as error:
                    error.add_note(f"step {turn}: {step}")
                    raise
            self._come_to_rest()
        self.oracle.conclude(self.devices, self._store, self._now_s)

    def record(self, number: int, metric: str, answer: object, dies_at: int = 0) -> None:
        """Answer a question; a silent world answers none that is filled in."""
        device = self.devices[number]
        device.dies_at = dies_at
        definition = device.registry.metrics.get(metric)
        if self._is_silent and definition is not None and definition.fill is not None:
            device.look(metric)
        else:
            device.record(metric, answer)
        device.dies_at = 0

    def send(self, number: int, fate: Fate, again: bool, hurried: bool, dies_at: int = 0) -> None:  # noqa: FBT001
        """Attempt to send until nothing more leaves; what gets no answer is not sent again."""
        self._fate = fate
        self.devices[number].dies_at = dies_at
        for _ in range(MOST_ATTEMPTS):
            if not self.devices[number].send(again=again, hurried=hurried):
                break
            again = again and fate is Fate.ANSWERED
        self.devices[number].dies_at = 0

    def arrive(self, _: int, turn: int) -> None:
        """Let a late request arrive."""
        if self._in_flight:
            self._deliver(*self._in_flight.pop(turn % len(self._in_flight)))

    def restart(self, number: int) -> None:
        """End a program at once, and start it again."""
        self.devices[number].start()

    def update(self, number: int, release: int) -> None:
        """Install another release, or an earlier one."""
        self.oracle.installed(number, RELEASES[release])
        self.devices[number].start(RELEASES[release])

    def agree(self, number: int, consent: Consent) -> None:
        """Let the user decide otherwise."""
        self.oracle.agreed(number, consent)
        self.devices[number].agree(consent)

    def set_clock(self, number: int, offset_s: int) -> None:
        """Set the error of a device's clock."""
        self._offsets_s[number] = offset_s

    def set_collectors_clock(self, _: int, offset_s: int) -> None:
        """Set the error of the collector's clock."""
        self._collectors_offset_s = offset_s

    def deploy(self, _: int, newest: int, with_history: bool) -> None:  # noqa: FBT001
        """Let the collector serve another release."""
        self._newest, self._with_history = newest, with_history
        self._serve()

    def stop(self, _: int, metric: str, turn: int) -> None:
        """Let the collector stop a question."""
        editions = sorted({release.metrics[metric].edition for release in RELEASES if metric in release.metrics})
        if turn < len(editions):
            self._stopped = (*self._stopped, (metric, editions[turn]))
        self._serve()

    def close(self, _: int, turn: int) -> None:
        """Close a window early."""
        tallied = sorted(self._store.tallied_windows() - self._store.closed_windows())
        if turn < len(tallied):
            self._store.close(Window.parse(tallied[turn]))

    def post(self, number: int, body: bytes) -> Reply | None:
        """Let a request leave a device, and return what comes back."""
        upload = read_upload(body)
        metrics = tuple(report[:3] for report in upload.reports)
        self.departed.append(Departed(self._now_s, number, upload.id, metrics))
        self.oracle.departed(number, self.devices[number], upload)
        match self._fate:
            case Fate.UNREACHED:
                return None
            case Fate.LATE:
                self._in_flight.append((number, body))
                return None
            case Fate.BUSY:
                return Reply(503, "1800", b"")
            case Fate.PORTAL:
                return Reply(200, None, b"<html>")
            case Fate.DOUBLED:
                self._deliver(number, body)
        reply = self._deliver(number, body)
        return None if self._fate is Fate.UNANSWERED else reply

    def _deliver(self, number: int, body: bytes) -> Reply:
        """Do as the collector does."""
        upload, clock_s = read_upload(body), self._now_s + self._collectors_offset_s
        judgement = judge(upload, self._registry, now_s=clock_s, grace_s=GRACE_S, once=self._once)
        try:
            verdict: Verdict = self._store.count(judgement).verdict
        except StoreUnavailableError:
            return Reply(503, None, b"")
        self.oracle.answered(number, upload, verdict)
        stopped = encode_stopped(self._registry.stopped) if self._registry.stopped else None
        return Reply(200, None, verdict.encode(), stopped)

    def _take(self, step: Step) -> None:
        """Take a step; a program that dies starts again."""
        self._go_on(step.after_s)
        try:
            getattr(self, step.name)(step.device, *step.arguments)
        except DeathError:
            self.devices[step.device].start()
        self.oracle.look(step.device, self.devices[step.device])

    def _clock_of(self, number: int) -> float:
        return self._now_s + self._offsets_s[number]

    def _serve(self) -> None:
        self._registry = served(self._newest, tuple(dict.fromkeys(self._stopped)), with_history=self._with_history)
        self._once |= {f"{metric.name}:{metric.edition}" for metric in self._registry.counted}

    def _go_on(self, by_s: float) -> None:
        self._now_s += by_s
        if self._now_s >= self._closed_s + CLOSE_EVERY_S:
            self._closed_s = self._now_s
            close_due_windows(self._store, now_s=self._now_s + self._collectors_offset_s, grace_s=GRACE_S)

    def _come_to_rest(self) -> None:
        """Let everything arrive, in days without a fault."""
        self._fate, self._collectors_offset_s, self._offsets_s = Fate.ANSWERED, 0, [0] * DEVICES
        self.deploy(0, self._newest, with_history=True)
        while self._in_flight:
            self.arrive(0, 0)
        for _ in range(QUIET_DAYS):
            self._go_on(DAY_S)
            for number in range(DEVICES):
                self.send(number, Fate.ANSWERED, again=True, hurried=True)


class Wire(NamedTuple):
    """The transport of one device."""

    world: World
    number: int

    def post(self, body: bytes) -> Reply | None:
        """Hand on a body."""
        return self.world.post(self.number, body)


def live(seed: object, steps: Sequence[Step]) -> float:
    """Live through a history twice: the second time, nothing that is filled in is recorded.

    Returns:
        The days of all devices.

    Raises:
        BrokenPromiseError: if a promise is broken, that of silence included.

    """
    spoken, silent = World(seed), World(seed, is_silent=True)
    for world in (spoken, silent):
        world.live(steps)
    for first, second in zip_longest(spoken.departed, silent.departed):
        if first != second:
            raise BrokenPromiseError(f"what leaves tells what was recorded: {first}, or {second} without answers")
    return spoken.days + silent.days
