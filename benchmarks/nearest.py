"""The time to find the prototype nearest to a vector, and to read a registry of prototypes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from benchmarks.results import spread, table, verdict
from client_sdk.protocol import Metric, Registry
from tests.support.devices.definitions import NEAREST, Toml, registry_text

SIZES = ((16, 64), (128, 64), (256, 256), (1024, 64))
"""The numbers of prototypes, each with the length of their vectors.

The last two sizes are the largest that a registry may have.
"""

SEED = 1
SEARCHES, READINGS = 50, 5
LIMIT_MS = 20.0
"""The goal in milliseconds: a fifth of the goal for the time of `Telemetry.record`."""


def measure_nearest() -> str:
    generator, rows, slowest_ms = random.Random(SEED), [], 0.0  # noqa: S311 vectors, no answers of anybody
    for prototypes, length in SIZES:
        text = _registry(generator, prototypes, length)
        metric = Registry.parse(text).metric("topic")
        searches = [_search_ms(metric, _vector(generator, length)) for _ in range(SEARCHES)]
        readings = [_ms(lambda text=text: Registry.parse(text)) for _ in range(READINGS)]  # type: ignore[misc]
        slowest_ms = max(slowest_ms, *searches)
        rows.append(
            [f"{prototypes:,} of length {length}", f"{len(text) / 1024:,.0f}", spread(readings), spread(searches, 1)]
        )
    return (
        "## The nearest prototype\n\nProcessor times are shown as median (range). The coordinates have four "
        "decimals.\n\n"
        + table(("prototypes", "KiB of the registry", "ms to read it", "ms to find the nearest"), rows)
        + "\nThe slowest search: "
        + verdict(slowest_ms <= LIMIT_MS, f"{slowest_ms:.1f} ms", f"≤ {LIMIT_MS:.0f} ms")
    )


def _registry(generator: random.Random, prototypes: int, length: int) -> str:
    vectors = (" ".join(f"{number:.4f}" for number in _vector(generator, length)) for _ in range(prototypes))
    rows = (f'"label {index}" = "{vector}"' for index, vector in enumerate(vectors))
    return registry_text(topic=NEAREST | {"prototypes": Toml(f"{{ {', '.join(rows)} }}")})


def _vector(generator: random.Random, length: int) -> list[float]:
    return [generator.gauss(0, 0.1) for _ in range(length)]


def _search_ms(metric: Metric, vector: list[float]) -> float:
    return _ms(lambda: metric.kind.encode(vector, metric.channel.inputs, _NoCoins()))


class _NoCoins:
    """Coins that cannot be drawn. The search for a prototype is not random."""

    def bernoulli(self, numerator: int) -> bool:
        raise AssertionError(numerator)

    def below(self, bound: int) -> int:
        raise AssertionError(bound)


def _ms(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return 1000 * (time.process_time() - begun)
