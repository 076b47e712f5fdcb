"""One question: its purpose, its possible answers, and how the answer is perturbed."""

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
            window ends. None if there is no such day.
        fill: the answer that is reported if nothing was recorded in a window; None for no report.
        has_no_answer: whether the last input stands for no answer, which is reported for silence.
        persist: whether the count of a window, or the days of use, are kept on disk.
        retention_days: for how many days the collector keeps a closed tally; None forever.
        unit: what its numbers count or measure, such as ms; empty if nothing is named.
        consent: the purposes, all of which the user must have agreed to; empty if only an agreement
            to everything is sufficient.
        is_sensitive: whether a stricter limit applies to its epsilon (`registry.limits`).
        title: the name that people read; by default the question's name.
        is_public: whether its figures may be published.
        strata: the names of its public strata, such as "platform=ios"; empty if it has none.
        stratum: the stratum of this definition's reports, sent in the clear; empty for all others.
        is_trial: whether its reports belong to a trial (`registry.trial`).
        edition: hex digest of the meaning of a report.
        editions: the editions of all strata: that of the others, then in the order of ``strata``.
        epsilon_nanos: the maximum that one report reveals, whatever was reported before, in
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
        """The answer that each input stands for; None for no answer. Empty if inputs are others."""
        return (*self.kind.labels, None) if self.has_no_answer else self.kind.labels

    @property
    def size(self) -> int | None:
        """The number of answers with a share, including "no answer" if it exists; None without."""
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
        """Whether a window begins after the metric's last day; the one containing it does not."""
        return self.expires is not None and window.first_day > self.expires

    def for_strata(self, strata: Mapping[str, str]) -> "Metric":
        """Return the definition for a device with these values of public variables.

        A device whose value is not in the registry belongs to the others.
        """
        own = {f"{variable}={value}" for variable, value in strata.items()}
        return replace(self, stratum=next((name for name in self.strata if own.issuperset(name.split(", "))), ""))

    def encode(self, answer: object, coins: Coins) -> Any:  # noqa: ANN401 a symbol, or a vector
        """Return a true answer's input symbol, or a vector's integers; raise as `read` does."""
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

        The law of its report is a mixture of the laws of all inputs. It therefore has the channel's
        epsilon relative to any answer.
        """
        return self.kind.draw(self.channel.inputs, coins)

    def read(self, read: Callable[..., T], *arguments: object) -> T:
        """Return what a kind reads from an answer, whose own methods may raise anything.

        Raises:
            OutsideDomainError: if the answer is outside the domain; the error does not contain it.

        """
        try:
            return read(*arguments)
        except DomainError as error:
            expected = str(error)
        except Exception:  # noqa: BLE001 as above: such an answer is invalid for every kind
            expected = ""
        raise OutsideDomainError(self.name, expected or self.kind.expected)

    def perturb(self, answer: object, coins: Coins, window: str | None = None) -> int:
        """Return the symbol to report for a true answer, as `encode` and `randomize` do."""
        return self.randomize(partial(self.encode, answer), coins, window)

    def randomize(self, encode: Callable[[Coins], Any], coins: Coins, window: str | None = None) -> int:
        """Return the symbol to report for the input that ``encode`` makes with coins.

        The same coins then perturb it. The window's name determines the rotations of a vector.
        """
        channel = self.channel if window is None else self.channel.in_window(window)
        return channel.perturb(encode(coins), coins)


@lru_cache(maxsize=CACHED_DELTAS)
def _delta(channel: Channel) -> Fraction:
    return channel.delta


def definition(metric: Metric) -> dict[str, object]:
    """Return the edition's part on the possible answers, and on the fill for silence."""
    meaning = metric.kind.definition | ({"fill_in": True} if metric.has_no_answer else {})
    if metric.fill is None or metric.fill.answer is None:
        return meaning
    return meaning | {"fill_value": str(metric.fill.answer)}


def _edition(metric: Metric, stratum: str) -> str:
    """Return the digest of the meaning of a report.

    Texts for people, owner, expiry, consent, sensitivity, publication and the list of strata are
    not included: editing them must not redraw anything. The stratum of a report is included, so
    that each has separate tallies; so is a trial. Consent decides whether there is a report, not
    its meaning.
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
