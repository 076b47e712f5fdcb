"""A metric: its purpose, its possible answers, and the randomization of its answers."""

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
"""The maximum number of cached deltas. Computing a delta takes 10 ms, and every charge needs a
delta."""


EDITION_DIGITS = 12
"""The number of hex digits of an edition. The probability that two of 1,000 editions are equal is
below 10**-8."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a registry.

    Attributes:
        purpose: a sentence that tells users why the app collects the metric.
        window: the length of a window; a device sends at most one report per window.
        owner: the person or team responsible for the metric; may be empty.
        expires: the last day on which a window may begin. Devices answer until the end of the last
            window that begins on or before this day. None if the metric does not expire.
        fill: the answer to report if nothing was recorded in a window; None to report nothing.
        has_no_answer: whether the channel's last input means that nothing was recorded in a window.
        persist: whether a window's running count, or the days of use, are stored on disk.
        retention_days: how many days the collector keeps a closed tally; None if there is no limit.
        unit: the unit of the numbers, such as ms; may be empty.
        consent: the purposes to which the user must agree. If there are none, the user must agree
            to the collection of all metrics.
        is_sensitive: whether the stricter limit on epsilon applies (`registry.limits`).
        title: the name that is displayed; by default, the metric's name.
        is_public: whether estimates may be published.
        strata: the names of the groups of devices (*strata*) that are counted separately, such as
            "platform=ios"; may be empty.
        stratum: the stratum to which the reports belong; empty if there is none. The edition
            in each report reveals the stratum, without perturbation.
        is_trial: whether the reports belong to a trial (`in_trial`), and not to real use.
        edition: the hexadecimal digest of everything that determines the meaning of a report.
        editions: the edition of reports that belong to no stratum, then the edition for each of
            ``strata``.
        epsilon_nanos: the epsilon that one more report adds, in billionths, rounded up.
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
        object.__setattr__(self, "title", self.title or self.name)
        editions = tuple(_edition(self, stratum) for stratum in ("", *self.strata))
        object.__setattr__(self, "edition", _edition(self, self.stratum) if self.stratum else editions[0])
        object.__setattr__(self, "editions", editions)
        object.__setattr__(self, "epsilon_nanos", epsilon_nanos(self.channel))

    @property
    def labels(self) -> Sequence[Label]:
        """The answer for each input; empty if inputs do not represent answers.

        The label of the input for "no answer" is None.
        """
        return (*self.kind.labels, None) if self.has_no_answer else self.kind.labels

    @property
    def size(self) -> int | None:
        """The number of estimated shares, including the share of "no answer".

        None if no shares are estimated.
        """
        size = self.kind.size
        return size if size is None else size + self.has_no_answer

    @property
    def delta(self) -> Fraction:
        """The exact delta of one report; 0 for every mechanism except ``gaussian``."""
        return _delta(self.channel)

    @property
    def cost(self) -> Cost:
        """The charge for each report."""
        return Cost(self.epsilon_nanos, attos_ceiling(self.delta))

    def has_expired(self, window: Window) -> bool:
        """Whether a window begins after ``expires``."""
        return self.expires is not None and window.first_day > self.expires

    def for_strata(self, strata: Mapping[str, str]) -> "Metric":
        """Return the definition for devices in a stratum.

        ``strata`` maps each variable of the registry's table ``[strata]`` to the device's value.
        """
        own = {f"{variable}={value}" for variable, value in strata.items()}
        return replace(self, stratum=next((name for name in self.strata if own.issuperset(name.split(", "))), ""))

    def encode(self, answer: object, coins: Coins) -> Any:  # noqa: ANN401 an input is a symbol or a vector
        """Return the channel's input for a true answer. Raises the same errors as `read`."""
        if answer is None and self.has_no_answer:
            return self.channel.inputs - 1
        return self.read(self.kind.encode, answer, self.channel.inputs, coins)

    def law(self, answer: object) -> Law:
        """Return the exact probability of each possible input for an answer."""
        if answer is None and self.has_no_answer:
            return {self.channel.inputs - 1: Fraction(1)}
        return self.read(self.kind.law, answer, self.channel.inputs)

    def draw(self, coins: Coins) -> Any:  # noqa: ANN401 an input is a symbol or a vector
        """Return a uniformly drawn input, to replace an invalid answer.

        The report's distribution is then the mean of the distributions for all inputs. This mean is
        within the channel's epsilon of the distribution for any answer.
        """
        return self.kind.draw(self.channel.inputs, coins)

    def read(self, read: Callable[..., T], *arguments: object) -> T:
        """Call a method of the kind, such as `Kind.encode`.

        Convert the method's exceptions into `OutsideDomainError`.

        Raises:
            OutsideDomainError: if the answer is outside the domain. The error does not contain the
                answer.
        """
        try:
            return read(*arguments)
        except DomainError as error:
            expected = str(error)
        except Exception:  # noqa: BLE001 an answer's own methods may raise anything; such an answer is invalid
            expected = ""
        raise OutsideDomainError(self.name, expected or self.kind.expected)

    def perturb(self, answer: object, coins: Coins, window: str | None = None) -> int:
        """Return the symbol to report for a true answer, using `encode` and `randomize`."""
        return self.randomize(partial(self.encode, answer), coins, window)

    def randomize(self, encode: Callable[[Coins], Any], coins: Coins, window: str | None = None) -> int:
        """Return the symbol to report for the input that ``encode`` returns.

        The same coins encode the answer and perturb the input. The window's name determines the
        rotation of a vector.
        """
        channel = self.channel if window is None else self.channel.in_window(window)
        return channel.perturb(encode(coins), coins)


@lru_cache(maxsize=CACHED_DELTAS)
def _delta(channel: Channel) -> Fraction:
    return channel.delta


def definition(metric: Metric) -> dict[str, object]:
    """Return the possible answers and `Metric.fill`, in the form that `Metric.edition` hashes."""
    meaning = metric.kind.definition | ({"fill_in": True} if metric.has_no_answer else {})
    if metric.fill is None or metric.fill.answer is None:
        return meaning
    return meaning | {"fill_value": str(metric.fill.answer)}


def _edition(metric: Metric, stratum: str) -> str:
    """Return the digest of everything that determines the meaning of a report.

    Devices must not draw new random answers if a change leaves the meaning of reports unchanged.
    Therefore the digest excludes owner, expiry, consent, sensitivity, publication, the list of
    strata, and texts that are only displayed. The digest includes a report's stratum, so that each
    stratum has separate tallies. Trials have separate editions, too.
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
