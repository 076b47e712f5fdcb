"""For tests of the audit: exact laws drawn from, and SDKs that leak beside their channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from client_sdk import Recorded, Registry, Reply, Telemetry
from client_sdk.protocol import COIN_SCALE, Channel, Coins
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.wire.failure import Failure
from client_sdk.sending.transport import Transport
from estimator.audit.distinguishers import Feature, ObservationTable, Rows
from tests.support.laws.coins import exact_law

Law = Mapping[Any, Fraction]
"""The law of a symbol, or of a tuple of one symbol for each window."""


def laws(channel: Channel) -> list[dict[int, Fraction]]:
    """Return the exact law of every input of a channel, by enumeration."""
    return [exact_law(partial(channel.perturb, value)) for value in range(channel.inputs)]


def true_epsilon(law: Law, other: Law, delta: Fraction = Fraction(0)) -> float:
    """Return the minimum epsilon of two laws with a delta, in both directions; infinite if there is
    none.
    """
    symbols = law.keys() | other.keys()
    denominator = math.lcm(*(chance.denominator for chance in (*law.values(), *other.values(), delta)))
    first, second = (_ways([each.get(symbol, Fraction(0)) for symbol in symbols], denominator) for each in (law, other))
    (forgiven,) = _ways([delta], denominator)
    return max(_one_sided(zip(*sides, strict=True), forgiven) for sides in ((first, second), (second, first)))


def _ways(chances: Iterable[Fraction], denominator: int) -> list[int]:
    """Return chances over one denominator: integers are added up much faster than fractions."""
    return [chance.numerator * (denominator // chance.denominator) for chance in chances]


def _one_sided(ways: Iterable[tuple[int, int]], delta: int) -> float:
    """Return the epsilon at which the worst event's surplus is delta: events are chosen by their
    ratio.
    """
    worst, p, q = 0.0, 0, 0
    for chance, other_chance in sorted(ways, key=_ratio, reverse=True):
        p, q = p + chance, q + other_chance
        if p > delta:
            worst = max(worst, math.log((p - delta) / q) if q else math.inf)
    return worst


def _ratio(ways: tuple[int, int]) -> float:
    return ways[0] / ways[1] if ways[1] else math.inf


def drawn(law: Law, n: int, generator: np.random.Generator) -> Rows:
    """Return rows of symbols drawn from an exact law; each part that an attack looks at is sorted.

    An attack takes the first quarter, the second one and the second half, and ignores the order
    within them. So shuffling millions of rows would only take time.
    """
    outcomes = sorted(law)
    symbols = np.array(outcomes).reshape(len(outcomes), -1)
    shares = np.array([float(law[outcome]) for outcome in outcomes])
    parts = (n // 4, n // 2 - n // 4, n - n // 2)
    tallies = [generator.multinomial(part, shares / shares.sum()) for part in parts]
    return np.concatenate([np.repeat(symbols, tally, axis=0) for tally in tallies])


def table_of(law: Law, other: Law, n: int, generator: np.random.Generator) -> ObservationTable:
    """Return a number of observations of either law: of one symbol, or of one symbol for each
    window.
    """
    first, second = (drawn(each, n, generator) for each in (law, other))
    windows = range(first.shape[1])
    return ObservationTable(
        tuple(Feature("symbol", window) for window in windows), (True,) * len(windows), first, second
    )


class SeededCoins:
    """Coins from a seed; any number of devices may share them."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def bernoulli(self, numerator: int) -> bool:
        return self._draw() < numerator

    def below(self, bound: int) -> int:
        scaled: int = self._draw() * bound // COIN_SCALE
        return scaled

    def _draw(self) -> int:
        drawn: int = self._generator.integers(COIN_SCALE - 1, dtype=np.uint64, endpoint=True).item()
        return drawn


class RepeatedCoins(SeededCoins):
    """Coins that repeat: every first of ``period`` is tossed, the others repeat it."""

    def __init__(self, seed: int, period: int) -> None:
        super().__init__(seed)
        self._turns = cycle(range(period))
        self._tossed = 0

    def _draw(self) -> int:
        if next(self._turns) == 0:
            self._tossed = super()._draw()
        return self._tossed


def seeded(seed: int) -> Callable[..., Telemetry]:
    """Return the right SDK, except for its coins."""
    return partial(Telemetry, coins=SeededCoins(seed))


class NeverNoised(RandomizedResponse):
    """Randomized response that never perturbs a no."""

    __slots__ = ()

    def perturb(self, value: int, coins: Coins) -> int:
        return super().perturb(value, coins) if value else 0


class Leaky(Telemetry):
    """An SDK that knows the latest true answer while it sends, and may change what it sends
    accordingly.
    """

    def __init__(self, registry: Registry, *, transport: Transport, coins: Coins, **options: Any) -> None:
        self.latest: object = None
        super().__init__(registry, transport=_Changed(transport, self), coins=coins, **options)

    def record(self, metric: str, value: object) -> Recorded:
        self.latest = value
        return super().record(metric, value)

    def change(self, body: bytes) -> bytes:
        return body


class _Changed:
    def __init__(self, transport: Transport, device: Leaky) -> None:
        self._transport = transport
        self._change: Callable[[bytes], bytes] = lambda body: type(device).change(device, body)

    def post(self, body: bytes) -> Reply | Failure | None:
        return self._transport.post(self._change(body))


class LongerIfTrue(Leaky):
    def change(self, body: bytes) -> bytes:
        return body + b" " * bool(self.latest)


class IdByAnswer(Leaky):
    def change(self, body: bytes) -> bytes:
        name = b'{"upload":"'
        return name + (b"0" if self.latest else b"1") * 32 + body[len(name) + 32 :]


class SilentIfFalse(Leaky):
    def record(self, metric: str, value: object) -> Recorded:
        return super().record(metric, value) if value else Recorded.QUEUED


LEAKS: dict[str, type[Leaky]] = {
    "a longer body for one answer": LongerIfTrue,
    "an id that depends on the answer": IdByAnswer,
    "no report for one answer": SilentIfFalse,
}
"""SDKs with right channels but an infinite epsilon."""
