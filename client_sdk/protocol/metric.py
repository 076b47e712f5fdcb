"""One question: its purpose, what may be answered, and how the answer is perturbed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeVar

from client_sdk.protocol.budget import Cost, attos_ceiling
from client_sdk.protocol.channel import Channel, Coins, epsilon_nanos
from client_sdk.protocol.errors import DomainError, OutsideDomainError
from client_sdk.protocol.kinds.kind import Fill, Kind, Label, Law
from client_sdk.protocol.window import Window, WindowKind

T = TypeVar("T")

CACHED_DELTAS = 64
"""Adding up a delta takes some ten milliseconds, and every charge needs it."""


EDITION_DIGITS = 12
"""48 bits: two of a thousand editions of one metric collide in one of 10**8 registries."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One question of a registry.

    Attributes:
        purpose: a sentence that tells the user why the question is asked.
        window: how long a window is; there is one report per window.
        owner: the person or team responsible; may be empty.
        expires: the last day on which a window of the question may begin; it is asked until that
            window ends. None if there is none.
        fill: what is reported for a window in which nothing was recorded; None if nothing is.
        has_no_answer: whether the last input stands for no answer, as which silence is reported.
        persist: whether the count of a window, or the days of use, are kept on disk.
        retention_days: for how many days the collector keeps a closed tally; None for good.
        unit: what its numbers count or measure, such as ms; empty if nothing is named.
        consent: the purposes that the user must all have agreed to; empty if only an agreement to
            everything will do.
        is_sensitive: whether a stricter limit holds for its epsilon (`registry.limits`).
        title: what people read in place of the name, which it is by default.
        is_public: whether its figures may be published.
        strata: the names of its public strata, such as "platform=ios"; empty if it has none.
        stratum: that of the reports of this definition, sent in the clear; empty for all others.
        is_trial: whether its reports are those of a trial (`registry.trial`).
        edition: hex digest of what a report means.
        editions: the editions of all strata: that of the others, then in the order of ``strata``.
        epsilon_nanos: the most that one report reveals, whatever was reported before, in
            billionths, rounded up.

    """

    name: str
    purpose: str
    kind: Kind
    channel: Channel
    window: WindowKind
    owner: str = ""
    expires: date | None = None
    fill: Fill | None = None
    has_no_answer: bool = False
    persist: bool = False
    retention_days: int | None = None
    unit: str = ""
    consent: frozenset[str] = frozenset()
    is_sensitive: bool = False
    title: str = ""
    is_public: bool = False
    strata: tuple[str, ...] = ()
    stratum: str = ""
    is_trial: bool = False
    edition: str = field(init=False)
    editions: tuple[str, ...] = field(init=False)
    epsilon_nanos: int = field(init=False)

    def __post_init__(self) -> None:
        """Derive the edition and the exact epsilon."""
        object.__setattr__(self, "title", self.title or self.name)
        editions = tuple(_edition(self, stratum) for stratum in ("", *self.strata))
        object.__setattr__(self, "edition", _edition(self, self.stratum) if self.stratum else editions[0])
        object.__setattr__(self, "editions", editions)
        object.__setattr__(self, "epsilon_nanos", epsilon_nanos(self.channel))

    @property
    def labels(self) -> Sequence[Label]:
        """The answer that each input stands for; None for no answer. Empty if inputs do not."""
        return (*self.kind.labels, None) if self.has_no_answer else self.kind.labels

    @property
    def size(self) -> int | None:
        """The number of answers with a share, with no answer if that is one; None if none has."""
        size = self.kind.size
        return size if size is None else size + self.has_no_answer

    @property
    def delta(self) -> Fraction:
        """The exact delta of one report; 0 for every mechanism but the Gaussian one."""
        return _delta(self.channel)

    @property
    def cost(self) -> Cost:
        """The charge for each report."""
        return Cost(self.epsilon_nanos, attos_ceiling(self.delta))

    def has_expired(self, window: Window) -> bool:
        """Whether a window begins after the metric's last day; the one that holds it has not."""
        return self.expires is not None and window.first_day > self.expires

    def for_strata(self, strata: Mapping[str, str]) -> Metric:
        """Return the definition for a device with these values of public variables.

        A device with a value that the registry does not list is one of the others.
        """
        own = {f"{variable}={value}" for variable, value in strata.items()}
        return replace(self, stratum=next((name for name in self.strata if own.issuperset(name.split(", "))), ""))

    def encode(self, answer: object, coins: Coins) -> Any:  # noqa: ANN401 a symbol, or a vector
        """Return the input symbol of a true answer, of a vector its integers; raise as `read`."""
        if answer is None and self.has_no_answer:
            return self.channel.inputs - 1
        return self.read(self.kind.encode, answer, self.channel.inputs, coins)

    def law(self, answer: object) -> Law:
        """Return the exact law of `encode`: each input that a true answer may become."""
        if answer is None and self.has_no_answer:
            return {self.channel.inputs - 1: Fraction(1)}
        return self.read(self.kind.law, answer, self.channel.inputs)

    def draw(self, coins: Coins) -> Any:  # noqa: ANN401 a symbol, or a vector
        """Return an input drawn uniformly, in place of an answer that `encode` refuses.

        The law of its report is a mixture of those of all inputs. It therefore has the channel's
        epsilon, beside any answer.
        """
        return self.kind.draw(self.channel.inputs, coins)

    def read(self, read: Callable[..., T], *arguments: object) -> T:
        """Return what a kind reads of an answer, whose own methods may raise anything.

        Raises:
            OutsideDomainError: if the answer is outside the domain; the error does not hold it.

        """
        try:
            return read(*arguments)
        except DomainError as error:
            expected = str(error)
        except Exception:  # noqa: BLE001 as above: such an answer is none of any kind
            expected = ""
        raise OutsideDomainError(self.name, expected or self.kind.expected)

    def perturb(self, answer: object, coins: Coins, window: str | None = None) -> int:
        """Return the symbol to report for a true answer, as `encode` and `randomize` do."""
        return self.randomize(partial(self.encode, answer), coins, window)

    def randomize(self, encode: Callable[[Coins], Any], coins: Coins, window: str | None = None) -> int:
        """Return the symbol to report for the input that ``encode`` makes with coins.

        The same coins then perturb it. The window's name decides the rotations of a vector.
        """
        channel = self.channel if window is None else self.channel.in_window(window)
        return channel.perturb(encode(coins), coins)


@lru_cache(maxsize=CACHED_DELTAS)
def _delta(channel: Channel) -> Fraction:
    return channel.delta


def definition(metric: Metric) -> dict[str, object]:
    """Return the edition's part on what may be answered, and on what fills silence."""
    meaning = metric.kind.definition | ({"fill_in": True} if metric.has_no_answer else {})
    if metric.fill is None or metric.fill.answer is None:
        return meaning
    return meaning | {"fill_value": str(metric.fill.answer)}


def _edition(metric: Metric, stratum: str) -> str:
    """Return the digest of what a report means.

    Texts for people, owner, expiry, consent, sensitivity, publication and the list of strata are
    not part of it: editing them must not redraw anything. The stratum of a report is, so that each
    has tallies of its own; so is a trial. Consent decides whether there is a report, not what it
    says.
    """
    meaning: dict[str, object] = {
        "schema": 1,
        "kind": metric.kind.name,
        "domain": definition(metric),
        "window": metric.window.value,
        "mechanism": metric.channel.name,
        "integers": dict(metric.channel.integers),
    }
    meaning |= ({"stratum": stratum} if stratum else {}) | ({"trial": True} if metric.is_trial else {})
    canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:EDITION_DIGITS]
