"""A device on which every module outside the trusted core misbehaves: ``python -m`` this.

Each function, method and property of those modules is replaced by one that mostly does its work,
and otherwise, at random: raises; returns something else, out of what others returned or a list of
unlikely values; runs twice; or calls the public API before it goes on. A seed decides which.

The arguments are a `Life` as JSON. The outcome is visible in the device's ledger and at its
collector; only the number of misbehaviors of each module is printed.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import random
import sqlite3
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, NamedTuple, TypeVar

import client_sdk
import client_sdk.sending.deadline  # as hostile as others, although the product loads these two when it sends
import client_sdk.sending.transactions
from client_sdk import Recorded, Telemetry
from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol.registry.registry import Registry
from client_sdk.sending.transport import HttpTransport
from tools import trusted_core

PACKAGE: Final = Path(client_sdk.__file__).parent

REGISTRY: Final = """
schema = 1
[app]
name = "acme"
[budget]
per_window = 2.5
lifetime = 4
[metric.dark_mode]
purpose = "Is it used?"
kind = "boolean"
epsilon = "ln 3"
[metric.system]
purpose = "Which?"
kind = "category"
values = ["linux", "macos", "windows"]
epsilon = 1
[metric.extra]
purpose = "Is it used?"
kind = "boolean"
epsilon = 0.25
[metric.more]
purpose = "Is it used?"
kind = "boolean"
epsilon = 0.25
"""
"""A day cannot pay for all questions, nor a device's life for those of two days."""

ANSWERS: Final[dict[str, tuple[object, object]]] = {
    "dark_mode": (True, False),
    "system": ("linux", "windows"),
    "extra": (True, False),
    "more": (True, False),
}
"""The first answer of each question, and one that comes after the first was sent."""

WRONG_COIN, FORGOTTEN, LEDGER = "wrong-coin", "forgotten", FILE_NAME
"""Files in a device's folder: requests to its coins, the time of its `forget`, and its ledger."""

T = TypeVar("T")

Request = tuple[str, int]
"""A request for coins: a primitive and its parameter."""

NOON, DAY_S = 1_795_176_000.0, 86_400

UNLIKELY: Final[tuple[object, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    10**12,
    1e300,
    float("nan"),
    "",
    "x" * 10_000,
    b"",
    (),
    [],
    {},
    object(),
)


class Life(NamedTuple):
    """The behavior of a hostile device.

    Attributes:
        seed: decides what misbehaves.
        hostility: how often a call misbehaves. More than a tenth would let no report through, and
            show nothing.
        keeps: the outcome of all coins that decide whether a report says the truth.
        lie: the outcome of all coins that choose a lie.
        coins: what the mechanisms ask of coins when they fall so.
        agrees: whether the user agrees at first.
        forgets: whether they opt out before the end; a file ``forgotten`` then says so.
        collector: the collector's URL.
        folder: the device's folder.

    """

    seed: int
    hostility: float
    keeps: bool
    lie: int
    coins: tuple[Request, ...]
    agrees: bool
    forgets: bool
    collector: str
    folder: str


class ForetoldCoins:
    """Coins that always fall alike, and note any request that no mechanism makes.

    Attributes:
        asked: the requests so far.

    """

    def __init__(
        self, *, keeps: bool, lie: int, allowed: Collection[Request] | None = None, note: Path | None = None
    ) -> None:
        self.asked = set[Request]()
        self._keeps, self._lie = keeps, lie
        self._allowed, self._note = allowed, note

    def bernoulli(self, numerator: int) -> bool:
        self._look(("bernoulli", numerator))
        return self._keeps

    def below(self, bound: int) -> int:
        self._look(("below", bound))
        return min(self._lie, bound - 1)

    def _look(self, request: Request) -> None:
        self.asked.add(request)
        if self._allowed is not None and self._note is not None and request not in self._allowed:
            self._note.write_text(repr(request), encoding="utf-8")


def symbols(*, keeps: bool, lie: int) -> tuple[dict[str, int], set[Request]]:
    """Return the symbol of each question's first answer with such coins, and the coins."""
    coins = ForetoldCoins(keeps=keeps, lie=lie)
    metrics = Registry.parse(REGISTRY).metrics
    return {name: metrics[name].perturb(answers[0], coins) for name, answers in ANSWERS.items()}, coins.asked


class Hostility:
    """Makes functions misbehave."""

    def __init__(self, seed: int, rate: float) -> None:
        self._rate = rate
        self.misbehaved = Counter[str]()
        self.calls: tuple[Callable[[], object], ...] = ()
        self._random = random.Random(seed)  # noqa: S311 the seed makes it repeatable
        self._returned: deque[Any] = deque(maxlen=50)
        self._within = threading.local()

    def wrap(self, module: str, right: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that misbehaves now and then."""
        self.misbehaved[module] += 0

        @functools.wraps(right)
        def wrong(*args: Any, **options: Any) -> Any:
            if self._random.random() >= self._rate:
                value = right(*args, **options)
                if not inspect.isgenerator(value):
                    self._returned.append(value)
                return value
            self.misbehaved[module] += 1
            match self._random.randrange(4):
                case 0:
                    raise self._random.choice((ValueError, OSError, KeyError, RuntimeError, MemoryError))("hostile")
                case 1:
                    return self._random.choice((*UNLIKELY, *self._returned))
                case 2:
                    right(*args, **options)
                case _:
                    self._call_back()
            return right(*args, **options)

        return wrong

    def _call_back(self) -> None:
        if self.calls and not getattr(self._within, "calls_back", False):
            self._within.calls_back = True
            with contextlib.suppress(Exception):
                self._random.choice(self.calls)()
            self._within.calls_back = False

    def take_over(self, module: ModuleType, name: str) -> None:
        """Replace all functions and methods of a module, wherever a name refers to them."""
        replaced: dict[int, Callable[..., Any]] = {}
        for value in list(vars(module).values()):
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if isinstance(value, FunctionType):
                replaced[id(value)] = self.wrap(name, value)
            elif inspect.isclass(value) and not issubclass(value, BaseException):
                self._take_over_class(value, name)
        for other in [each for key, each in sys.modules.items() if key.startswith("client_sdk")]:
            for key, value in list(vars(other).items()):
                if id(value) in replaced:
                    setattr(other, key, replaced[id(value)])

    def _take_over_class(self, kind: type, name: str) -> None:
        for key, value in list(vars(kind).items()):
            if isinstance(value, FunctionType) and (key == "__init__" or not key.startswith("__")):
                setattr(kind, key, self.wrap(name, value))
            elif isinstance(value, property) and value.fget is not None:
                setattr(kind, key, property(self.wrap(name, value.fget), value.fset))


def outside() -> list[str]:
    """Return the modules that are loaded and do not belong to the core."""
    core = set(trusted_core.listed())
    loaded = {
        Path(module.__file__).relative_to(PACKAGE).as_posix()
        for key, module in sys.modules.items()
        if key.startswith("client_sdk") and module.__file__ is not None
    }
    return sorted(loaded - core)


def main(life: Life) -> None:
    hostility, now_s = Hostility(life.seed, life.hostility), [NOON]
    allowed = {(primitive, parameter) for primitive, parameter in life.coins}
    coins = ForetoldCoins(keeps=life.keeps, lie=life.lie, allowed=allowed, note=Path(life.folder) / WRONG_COIN)
    registry = Registry.parse(REGISTRY)
    for path in outside():
        name = f"client_sdk.{path.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
        hostility.take_over(sys.modules[name], path)
    transport = _insist(lambda: HttpTransport(life.collector))
    make = functools.partial(
        Telemetry,
        registry,
        collector=life.collector,
        data_dir=life.folder,
        consent=life.agrees,
        clock=lambda: now_s[0],
        coins=coins,
        transport=transport,
    )
    device = _insist(make)
    hostility.calls = (
        functools.partial(device.flush, 0.0),
        functools.partial(device.record, "extra", value=True),
        functools.partial(device.record, "more", value=True),
        functools.partial(device.record, "nothing", value=True),
        device.budget,
        device.history,
        device.dropped,
        *(() if life.forgets else (device.close, lambda: _insist(make, tries=1))),
    )
    for _ in range(3):
        _ask(device, 0, ANSWERS)
        _ask(device, 1, _sent(life, now_s[0]))
        now_s[0] += DAY_S
        if not life.forgets and _try(functools.partial(device.record, "extra", value=True)) in (Recorded.CLOSED, None):
            device = _insist(make)
    if life.forgets:
        hostility.calls = ()
        _forget(device, life)
        _ask(device, 0, ANSWERS)
    _try(device.close)
    json.dump(hostility.misbehaved, sys.stdout)


def _ask(device: Telemetry, place: int, metrics: Iterable[str]) -> None:
    for metric in metrics:
        _try(functools.partial(device.record, metric, ANSWERS[metric][place]))
    _try(functools.partial(device.flush, 0.5))


def _sent(life: Life, now_s: float) -> list[str]:
    """Return the questions whose report of today has left, according to the ledger."""
    path = Path(life.folder) / LEDGER
    if not path.exists():
        return []
    day = datetime.fromtimestamp(now_s, UTC).date().isoformat()
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT metric FROM history WHERE window = ?", (day,)).fetchall()
    return [metric for (metric,) in rows]


def _forget(device: Telemetry, life: Life) -> None:
    """Opt out; write a file if the device confirms it."""
    try:
        device.forget()
    except Exception:  # noqa: BLE001 it says itself that it is not done
        return
    (Path(life.folder) / FORGOTTEN).write_text(repr(time.time()), encoding="utf-8")


def _insist(make: Callable[[], T], tries: int = 50) -> T:
    while True:
        tries -= 1
        try:
            return make()
        except Exception:
            if not tries:
                raise


def _try(work: Callable[[], object]) -> object:
    try:
        return work()
    except Exception:  # noqa: BLE001 hostile modules raise anything
        return None


if __name__ == "__main__":
    main(Life(**json.loads(sys.argv[1])))
