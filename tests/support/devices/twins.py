"""Twins: two devices with different answers whose scripted coins let both draw the same symbols.

Every symbol is possible for every answer, so that such coins exist for any two answers. The first
twin lives, and notes the symbols; the second one's coins are searched until the channel draws the
noted symbol of its own answer. If both know the answer beforehand, the first symbol that some coins
of both draw is taken. The channels under the coins are the product's own.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import client_sdk.trial  # noqa: F401 compiling it later would write outside of the world
from client_sdk import Registry, Reply, Telemetry, telemetry
from client_sdk.answers.provider import CALL_S
from client_sdk.ledger.backoff import jitter
from client_sdk.protocol import COIN_SCALE, Coins, Metric, OutsideDomainError, Upload
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.results import Consent
from client_sdk.sending import helper
from tests.support.devices.clients import COLLECTOR, NOON, ScriptedTransport
from tests.support.devices.traces import Seen, World, come_to_rest, difference, settle_calls, wake, wake_provider

MOST_SCRIPTS = 200_000
"""After this many scripts, the symbol is impossible for the answer, or practically so."""

MANY = 10_000
"""Symbols of channels whose first coin chooses a rotation or a group, for any answer."""

FLUSH_S = 60.0

Encode = Callable[[Coins], Any]
"""From coins to an input of the channel."""

Pair = tuple[object, object]
"""The arguments of the first and the second twin."""


class SeededCoins:
    """Coins from a seed. The first integer is that of the script's group, if it has one.

    A channel of many symbols first draws a rotation or a group. Within one group, coins soon match.

    Attributes:
        tossed: the number of coins so far.

    """

    def __init__(self, seed: int, group: int | None = None) -> None:
        self._generator = random.Random(seed)  # noqa: S311 a test's
        self._group = group
        self.tossed = 0

    def bernoulli(self, numerator: int) -> bool:
        self.tossed += 1
        return self._generator.getrandbits(64) < numerator

    def below(self, bound: int) -> int:
        assert 1 <= bound <= COIN_SCALE
        self.tossed += 1
        if self._group is not None:
            drawn, self._group = self._group % bound, None
            return drawn
        return self._generator.randrange(bound)


class Drawn(NamedTuple):
    """A randomization: its input, its symbol, and its number of coins."""

    what: tuple[str, ...]
    symbol: int
    coins: int


class Randomness:
    """The coins of one twin.

    Attributes:
        drawn: its randomizations, in order.
        other: the coins of everything else.
        failure: why the twins cannot draw alike; the SDK takes it for an answer that it lost.
        pair: the answers that both twins are about to give to a metric, by its name.

    """

    def __init__(self, first: Randomness | None) -> None:
        self.drawn: list[Drawn] = []
        self.pair: tuple[str, Pair] | None = None
        self.other = SeededCoins(0)
        self.failure: str | None = None
        self._first = first
        self._settled: dict[tuple[str, ...], int] = {}
        self._right, self._settle = Metric.randomize, Permanent.settle

    @contextmanager
    def scripted(self) -> Iterator[None]:
        """Give every randomization a script that draws the wanted symbol."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                Metric, "randomize", lambda metric, encode, _, window=None: self._randomize(metric, encode, window)
            )
            patch.setattr(
                Permanent,
                "settle",
                lambda channel, encode, coins_of, *labels: self._settled_alike(channel, encode, coins_of, labels),
            )
            yield

    def _randomize(self, metric: Metric, encode: Encode, window: str | None) -> int:
        what = (metric.name, metric.edition, window or "")
        turn = sum(drawn.what == what for drawn in self.drawn)  # the threads of two questions come in any order

        def draw(encode: Encode, seed: int) -> Drawn:
            coins = SeededCoins(seed, turn if metric.channel.symbols > MANY else None)
            return Drawn(what, self._right(metric, encode, coins, window), coins.tossed)

        first = turn * MOST_SCRIPTS
        if self._first is not None:
            targets = [drawn for drawn in self._first.drawn if drawn.what == what]
            if turn >= len(targets):
                raise self._fail(f"only one of the twins randomizes {what}")
            target = targets[turn]
            draws: Iterator[Drawn] = (each for each in _draws(draw, encode, first) if each.symbol == target.symbol)
        else:
            pair = self.pair[1] if self.pair is not None and self.pair[0] == metric.name else None
            inputs = pair and (partial(_input, metric, pair[0]), partial(_input, metric, pair[1]))
            draws = _common(draw, inputs, first) if inputs else _draws(draw, encode, first)
        drawn = next(draws, None)
        if drawn is None:
            raise self._fail(f"no coins draw one symbol of {what} for both twins")
        self.drawn.append(drawn)
        return drawn.symbol

    def _settled_alike(
        self, channel: Permanent, encode: Callable[[Coins], int], coins_of: Callable[..., Coins], labels: Sequence[str]
    ) -> tuple[int, int]:
        """Settle a permanent answer; all answers of an edition get the first one's. It is as likely
        as any other, for any secret.
        """
        key = tuple(labels)
        for seed in range(MOST_SCRIPTS):
            coins = partial(_labeled, coins_of, seed)
            value, symbol = self._settle(channel, encode, coins, *labels)
            if symbol == self._settled.setdefault(key, symbol if self._first is None else self._first._settled[key]):
                return value, symbol
        raise self._fail(f"no coins draw one permanent answer of {labels[0]} for both twins")

    def _fail(self, failure: str) -> AssertionError:
        self.failure = failure
        return AssertionError(failure)


def _labeled(coins_of: Callable[..., Coins], seed: int, *labels: str) -> Coins:
    return coins_of(*labels, f"script {seed}") if seed else coins_of(*labels)


def _input(metric: Metric, answer: object, coins: Coins) -> Any:
    """Return the channel's input for an answer; for an invalid one, draw an input by coins."""
    try:
        return metric.encode(answer, coins)
    except OutsideDomainError:
        return metric.draw(coins)


def _draws(draw: Callable[[Encode, int], Drawn], encode: Encode, seed: int) -> Iterator[Drawn]:
    return (draw(encode, seed + further) for further in range(MOST_SCRIPTS))


def _common(draw: Callable[[Encode, int], Drawn], pair: tuple[Encode, Encode], seed: int) -> Iterator[Drawn]:
    """Yield the symbols that some coins draw for a first answer, and others for the second."""
    ours: dict[int, Drawn] = {}
    theirs: set[int] = set()
    for first, second in zip(_draws(draw, pair[0], seed), _draws(draw, pair[1], seed), strict=True):
        ours.setdefault(first.symbol, first)
        theirs.add(second.symbol)
        for symbol in (first.symbol, second.symbol):
            if symbol in ours and symbol in theirs:
                yield ours[symbol]


Way = Callable[[threading.Event], object]
"""A function that an app provides. It may wait for the event, which is set after its time."""

Step = tuple[str, tuple[Any, ...]]
"""The name of a method of `Twin`, and its arguments."""


class Twin:
    """One of two devices, in a world that both know one after the other.

    Attributes:
        seen: what can be seen after each step.
        errors: the names of what steps raised.

    """

    def __init__(
        self,
        world: World,
        registries: Sequence[Registry],
        first: Twin | None,
        *,
        sender: str = "thread",
        trial: bool = False,
    ) -> None:
        self.seen: list[Seen] = []
        self.errors: set[str] = set()
        self.randomness: Randomness = Randomness(None if first is None else first.randomness)
        self.device: Telemetry | None = None
        self._world = world
        self._registries = registries
        self._installed = registries[0]
        self._side = 0 if first is None else 1
        self._sender = sender
        self._trial = trial
        self._consent: Consent = True
        self._transport = ScriptedTransport()
        self._gate = threading.Event()

    def live(self, steps: Sequence[Step], is_over: Callable[[], bool] = lambda: False) -> None:
        """Live through a history, from an empty world to its end, or until it is over."""
        with self._world.lived_in(), self.randomness.scripted(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(telemetry, "_SYSTEM_COINS", self.randomness.other)
            patch.setattr(telemetry, "HttpTransport", lambda *_, **__: self._transport)
            patch.setenv("HEARSAY_TRIAL", "1")
            for name, arguments in (("start", (True, 0)), *steps, ("end", ())):
                result = self._outcome(name, arguments)
                self.seen.append(
                    self._world.see(self.device)
                    | {
                        "step": name,
                        "result": result,
                        "uploads": list(self._transport.bodies),
                        "coins": [drawn.coins for drawn in self.randomness.drawn],
                        "other coins": self.randomness.other.tossed,
                    }
                )
                if is_over():
                    break
            if self.device is not None:
                self._outcome("end", ())

    def _outcome(self, name: str, arguments: tuple[Any, ...]) -> object:
        """Take a step; return its result, or what can be read in its error."""
        step = getattr(self, name)
        try:
            return step(*arguments)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 whatever it is, both twins must raise it
            self.errors.add(type(error).__qualname__)
            return type(error).__qualname__, str(error), repr(error.args), sorted(vars(error))

    @property
    def outside(self) -> list[str]:
        """The paths outside of its world that it has written to."""
        return self._world.outside

    @property
    def helpers(self) -> list[dict[str, Any]]:
        """The helper processes that it started, each with its arguments."""
        return self._world.started

    @property
    def _living(self) -> Telemetry:
        assert self.device is not None
        return self.device

    def start(self, consent: Consent, number: int) -> None:
        """Start the app, perhaps with another registry."""
        self._consent, self._installed = consent, self._registries[number]
        self.device = Telemetry(
            self._installed,
            collector=COLLECTOR,
            data_dir=self._world.folder / "app",
            consent=consent,
            clock=self._world.clock,
            coins=self.randomness.other,
            sender=self._sender,  # type: ignore[arg-type] # one of the two
            trial=self._trial,
        )

    def end(self) -> None:
        """End the program; a helper that it starts does its work at once."""
        device, self.device = self._living, None
        started = len(self._world.started)
        device.close()
        device._processes.exit()
        for noted in self._world.started[started:]:
            job = noted["job"]
            helper.send(
                helper.BriefLedger(Path(job["path"]), job["app"]),
                self._transport,
                self._world.clock,
                self._world.advance,
                jitter,
                groups=job["groups"],
                monotonic=self._world.monotonic,
            )

    def restart(self, consent: Consent, number: int) -> None:
        """End the program and start it again."""
        self.end()
        self.start(consent, number)

    def record(self, metric: str, pair: Pair) -> object:
        """Record each twin's own answer."""
        self.randomness.pair = metric, pair
        try:
            return self._living.record(metric, pair[self._side])
        finally:
            self.randomness.pair = None

    def count(self, metric: str, pair: tuple[int, int]) -> object:
        """Count each twin's own number."""
        return self._living.count(metric, pair[self._side])

    def active(self, pair: tuple[str, str]) -> object:
        """Note a day of use; each twin does so for its own question."""
        return self._living.active(pair[self._side])

    def wait(self, by_s: float) -> None:
        """Let time pass, or set the clock back."""
        self._world.advance(by_s)
        wake(self._living)
        self._end_calls()

    def provide(self, metric: str, pair: tuple[Way, Way]) -> None:
        """Provide a function, which each twin's app has written in another way."""
        self._living.provide(metric, partial(pair[self._side], self._gate))
        self._end_calls()

    def provide_briefly(self, metric: str, pair: tuple[Way, Way]) -> None:
        """Provide a function; the program ends while it may still run, and starts again."""
        self._living.provide(metric, partial(pair[self._side], self._gate))
        come_to_rest(self._living)
        settle_calls(self._gate)
        self.restart(self._consent, self._registries.index(self._installed))
        self._end_calls()

    def _end_calls(self) -> None:
        """Let calls under way take their longest time; then let the functions return."""
        while wake_provider(self._living):
            settle_calls(self._gate)  # a function that returns later would wake the provider beside the sender
            self._world.advance(CALL_S)
        self._gate.set()
        for thread in threading.enumerate():
            if thread.name == "hearsay-provided":
                thread.join(FLUSH_S)
        self._gate.clear()

    def flush(self) -> object:
        """Send what waits."""
        return self._living.flush(FLUSH_S)

    def receive(self, *answers: Callable[[Upload], Reply | None]) -> None:
        """Let the collector answer otherwise from now on."""
        self._transport.answer(*answers)

    def agree(self, consent: Consent) -> None:
        """Agree to other purposes."""
        self._living.consent = consent

    def forget(self) -> None:
        """Opt out."""
        self._living.forget()

    def look(self) -> object:
        """Read what the SDK tells its user."""
        return self._living.history(), self._living.budget(), self._living.dropped()


def differ(
    folder: Path,
    registries: Sequence[Registry],
    steps: Sequence[Step],
    *,
    sender: str = "thread",
    is_declared: bool = False,
    apart_from: Sequence[str] = (),
    trial: bool = False,
) -> tuple[str | None, Twin]:
    """Return the first difference of twins that live through one history, or None; and the first
    twin.

    Traces named in ``apart_from`` may differ, and so may the output of a trial.
    """
    first = Twin(World(folder, NOON, is_declared=is_declared), registries, None, sender=sender, trial=trial)
    first.live(steps)
    if first.randomness.failure or first.outside:
        return first.randomness.failure or f"written outside: {first.outside[0]}", first
    second = Twin(World(folder, NOON, is_declared=is_declared), registries, first, sender=sender, trial=trial)
    unlike = {*apart_from, *(["printed"] if trial else [])}

    def where_unlike() -> str | None:
        """Return where what was seen last differs."""
        step = len(second.seen) - 1
        found = difference(first.seen[step], second.seen[step], unlike)
        return found and f"step {step} {found}"

    second.live(steps, lambda: where_unlike() is not None)
    return second.randomness.failure or where_unlike(), first
