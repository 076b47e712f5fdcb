"""A comparison of the SDK's declared channels with the SDK's code.

To *walk* code is to run it with every outcome of its coins (see `paths`). The result is the exact
distribution of the symbol for each answer. A *step* is a part of the code that is walked
separately. Most metrics have a single step, from the answer to the symbol. Permanent answers have
two steps: drawing the permanent answer, and reporting it.

The limits on the privacy loss come from the registry's text, not from the channels, because a
faulty SDK could build channels that do not match the registry.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any, TypeVar

from client_sdk.protocol.channel import Channel, Coins
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.audit.answers import EncodedAnswer
from estimator.audit.paths import Chances, law_of
from estimator.audit.proof import ExactClaim, Proof, Walked, least_delta, least_ratio

T = TypeVar("T", bound=Hashable)


def integer(outcome: object) -> int:
    """Return an outcome as an integer. If the outcome is a `Draw`, decide its value."""
    return index(outcome)  # type: ignore[arg-type] # anything else raises, and the audit reports that


def an_input(outcome: object) -> Any:  # noqa: ANN401 an integer, or several of a padded set
    """Return an outcome as a channel's input, and decide the value of any `Draw` in the outcome."""
    return tuple(map(integer, outcome)) if isinstance(outcome, tuple) else integer(outcome)


@dataclass(slots=True)
class Walk:
    """The distributions of one step of the SDK, and their differences from the declared ones.

    Attributes:
        step: a description of the step, such as ``one report``.
        channel: the channel that the SDK declares for the step.
        after_law: a function that is called with the argument 1 after each computed distribution.
    """

    step: str
    channel: Channel
    after_law: Callable[[int], object]
    _laws: list[Chances[int]] = field(default_factory=list)
    _of_answers: list[Chances[int]] = field(default_factory=list)
    _inputs: set[int] = field(default_factory=set)
    _coins: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    _paths: int = 0
    _rows: dict[int, Chances[int]] = field(default_factory=dict)
    _mismatches: list[str] = field(default_factory=list)

    def encoded(self, procedure: Callable[[Coins], int], answer: EncodedAnswer, coins: int) -> None:
        """Walk an answer to its input, and check the distribution of the input.

        ``procedure`` is the SDK's function that takes coins and returns the answer's input. Each
        run must toss ``coins`` coins.
        """
        law = law_of(procedure, an_input)
        self.compare("an answer", law.chances, answer.inputs)
        if law.lengths != {coins}:
            self._mismatches.append(f"encoding an answer takes {numbers(law.lengths)} coins instead of {coins}")

    def reported(
        self, procedure: Callable[[Coins], int], answer: EncodedAnswer, coins: int = 0, *, is_answer: bool = True
    ) -> None:
        """Walk an answer or input to the symbol, and check the distribution of the symbol.

        Args:
            procedure: the SDK's function that returns the symbol, given coins.
            answer: the answer or input, with the declared distribution of its input.
            coins: the number of coins that were tossed before this procedure.
            is_answer: whether ``procedure`` begins with an answer rather than an input.
                `Proof.between_answers` ignores the distributions of inputs.
        """
        law, declared = law_of(procedure, integer), self.declared(answer)
        # equal distributions are stored once, because each may have a million probabilities
        chances = declared if self.compare("a report", law.chances, declared) else law.chances
        taken = {symbol: {coins + walked for walked in numbers} for symbol, numbers in law.coins.items()}
        self.add(chances, answer, law.paths, taken)
        if is_answer:
            self._of_answers.append(chances)

    def add(self, chances: Chances[int], answer: EncodedAnswer, paths: int, coins: Mapping[int, Iterable[int]]) -> None:
        """Add a distribution to the `proof`.

        ``paths`` is the number of runs. ``coins`` contains, for each symbol, the possible numbers
        of coins that are tossed before the symbol is returned.
        """
        self._laws.append(chances)
        self._inputs.update(answer.inputs)
        self._paths += paths
        for symbol, taken in coins.items():
            self._coins[symbol].update(taken)
        self.after_law(1)

    def declared(self, answer: EncodedAnswer) -> Chances[int]:
        """Return the declared distribution of an answer: a mixture over the answer's inputs."""
        if len(answer.inputs) == 1:
            return self._row(*answer.inputs)
        mixture: defaultdict[int, Fraction] = defaultdict(Fraction)
        for place, share in answer.inputs.items():
            for symbol, chance in self._row(place).items():
                mixture[symbol] += share * chance
        return mixture

    def compare(self, what: str, walked: Chances[T], declared: Chances[T]) -> bool:
        """Return whether two distributions are equal, and record a mismatch if not."""
        if walked == declared:
            return True
        none = Fraction(0)
        off = {each: walked.get(each, none) - declared.get(each, none) for each in walked.keys() | declared.keys()}
        worst = max(off, key=lambda each: abs(off[each]))
        self._mismatches.append(
            f"{what} does not have the declared distribution; of {len(off)} probabilities, the one of {worst} "
            f"differs most, by {float(off[worst]):+.3g}"
        )
        return False

    def proof(self, metric: str, claimed_nanos: int, request: RequestedLoss | None) -> Proof:
        """Return the proof from all added distributions.

        Args:
            metric: the name of the metric.
            claimed_nanos: the epsilon that a device charges for the step, in billionths.
            request: the limit that the registry requests. None if the registry requests no limit.
        """
        channel = self.channel
        claim = ExactClaim(claimed_nanos, channel.worst_ratio, channel.delta)
        ratio, delta = least_ratio(self._laws, claim.delta), least_delta(self._laws, claim.ratio)
        if (ratio, delta) != (claim.ratio, claim.delta):
            self._mismatches.append("the proved epsilon or delta differs from the declared one")
        if request and (ratio is None or ratio > request.odds or delta > request.delta):
            self._mismatches.append("it reveals more than the metric's definition allows")
        uneven = max(self._coins.values(), key=len)
        if len(uneven) != 1:
            self._mismatches.append(
                f"either {numbers(uneven)} coins are tossed for the same symbol, so the number of coins reveals more"
            )
        walked = Walked(len(self._inputs), len(self._laws), self._paths, frozenset().union(*self._coins.values()))
        return Proof(
            metric,
            self.step,
            channel.name,
            channel.inputs,
            channel.symbols,
            walked,
            claim,
            ratio,
            delta,
            least_ratio(self._of_answers, claim.delta) if 0 < len(self._of_answers) < len(self._laws) else ratio,
            tuple(dict.fromkeys(self._mismatches)),
        )

    def _row(self, place: int) -> Chances[int]:
        row = self._rows.get(place)
        if row is None:
            chances = ((symbol, self.channel.probability(symbol, place)) for symbol in range(self.channel.symbols))
            row = self._rows[place] = {symbol: chance for symbol, chance in chances if chance}
        return row


def numbers(alternatives: set[int] | frozenset[int]) -> str:
    """Return alternative numbers as a string, such as ``1 or 2``."""
    return " or ".join(map(str, sorted(alternatives)))


@dataclass(frozen=True, slots=True)
class RequestedLoss:
    """A registry's limit on the privacy loss of a report.

    Attributes:
        odds: e to the power of the requested epsilon, such as 3 for ``ln 3``.
        delta: the requested delta.
    """

    odds: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class RequestedLosses:
    """A registry's limits on the privacy loss of the reports on a metric.

    Attributes:
        report: the limit for one report. None if reports are not compared with a limit.
        permanent: the limit for all reports of an unchanged answer. None if no answer is permanent.
    """

    report: RequestedLoss | None = None
    permanent: RequestedLoss | None = None


def requests_of(text: str) -> dict[str, RequestedLosses]:
    """Return the limits on each metric's privacy loss. ``text`` is the TOML of a valid registry."""
    tables = tomllib.loads(text, parse_float=Decimal)["metric"]
    return {name: _requests(table) for name, table in tables.items()}


def _requests(table: dict[str, Any]) -> RequestedLosses:
    permanent = table.get("permanent_epsilon")
    return RequestedLosses(
        RequestedLoss(RequestedEpsilon.parse(table["epsilon"]).odds, Fraction(table.get("delta", 0))),
        None if permanent is None else RequestedLoss(RequestedEpsilon.parse(permanent).odds),
    )
