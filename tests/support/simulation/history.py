"""A history: steps that a seed, or hypothesis, draws one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from random import Random
from typing import Any, Final, NamedTuple

from tests.support.devices.clients import DAY_S
from tests.support.simulation.releases import ANSWERS, RELEASES

DEVICES: Final = 3
HOUR_S: Final = 3600


class Fate(Enum):
    """The network's effect on a request and its answer."""

    ANSWERED = "answered"
    UNREACHED = "the request is lost"
    UNANSWERED = "the answer is lost"
    DOUBLED = "the request arrives twice"
    LATE = "the request arrives later, and the answer is lost"
    BUSY = "the collector is busy"
    PORTAL = "a captive portal answers"


class Step(NamedTuple):
    """A step of a device or of the collector.

    Attributes:
        after_s: how long after the step before.
        device: whose step it is; the collector's steps have one, too, and do not look at it.
        name: of the method of `World`.
        arguments: what it is called with.

    """

    after_s: int
    device: int
    name: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        arguments = ", ".join(argument.value if isinstance(argument, Enum) else str(argument) for argument in self[3])
        return f"after {self.after_s / HOUR_S:5.1f} h, device {self.device}: {self.name}({arguments})"


def _record(random: Random) -> tuple[Any, ...]:
    metric = random.choice(tuple(ANSWERS))
    return metric, random.choice(ANSWERS[metric]), _death(random)


def _send(random: Random) -> tuple[Any, ...]:
    fate = Fate.ANSWERED if random.randrange(2) == 0 else random.choice(tuple(Fate))
    return fate, random.randrange(3) == 2, random.randrange(2) == 0, _death(random)


def _death(random: Random) -> int:
    return random.randrange(1, 6) if random.randrange(12) == 11 else 0


_CONSENTS: Final = (*[True] * 6, frozenset({"usage"}), frozenset({"sales", "usage"}), False)

ACTIONS: Final[dict[str, tuple[int, Callable[[Random], tuple[Any, ...]]]]] = {
    "record": (60, _record),
    "send": (50, _send),
    "arrive": (6, lambda random: (random.randrange(8),)),
    "restart": (3, lambda _: ()),
    "update": (2, lambda random: (random.randrange(len(RELEASES)),)),
    "agree": (2, lambda random: (random.choice(_CONSENTS),)),
    "set_clock": (3, lambda random: (random.choice((*[0] * 8, HOUR_S, -HOUR_S, -DAY_S - HOUR_S, 3 * DAY_S)),)),
    "set_collectors_clock": (3, lambda random: (random.choice((*[0] * 8, HOUR_S, -HOUR_S, -2 * DAY_S, 2 * DAY_S)),)),
    "deploy": (1, lambda random: (random.randrange(len(RELEASES)), random.randrange(4) > 0)),
    "stop": (1, lambda random: (random.choice(tuple(ANSWERS)), random.randrange(8))),
    "close": (1, lambda random: (random.randrange(16),)),
}
"""The frequency of each step, and its arguments."""

_NAMES: Final = tuple(name for name, (weight, _) in ACTIONS.items() for _ in range(weight))

PAUSES_S: Final = (0, 60, 2 * HOUR_S, 3 * HOUR_S, 4 * HOUR_S, 6 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S)
"""A day of each device has two steps on average: an answer and an attempt to send, mostly."""


def step_of(random: Random, pauses_s: Sequence[int] = PAUSES_S) -> Step:
    """Draw a step. The first choice of each draw is the simplest one, towards which to shrink."""
    name = random.choice(_NAMES)
    return Step(random.choice(pauses_s), random.randrange(DEVICES), name, ACTIONS[name][1](random))


def history_of(seed: int, steps: int) -> list[Step]:
    """Return the history of a seed."""
    random = Random(seed)  # noqa: S311 a history is no secret
    return [step_of(random) for _ in range(steps)]
