"""The results of an exact audit and the SDK's claims, as objects and as a document.

The audit computes the exact distribution of the symbol for each answer. Let P and Q be two of these
distributions, and r a ratio. The *hockey-stick divergence* is the sum of max(0, P - r Q) over all
symbols. If and only if all divergences are at most delta, the channel satisfies (ln r,
delta)-differential privacy (Dwork & Roth 2014, definition 2.4).

In the document, exact numbers are strings, and ratios are fractions such as ``3/2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import lcm
from typing import Annotated, Final

from client_sdk.protocol.epsilon import NANOS, ln_ceiling, nanos_ceiling
from estimator.audit.paths import Chances
from estimator.results.estimate import Record, says

Ratio = Fraction | None
"""A ratio of probabilities. None means infinite, because the denominator is 0."""

Rows = list[list[int]]
"""The probabilities of several distributions, as numerators over a common denominator."""

NEVER = Fraction(0)


def least_ratio(laws: Sequence[Chances[int]], delta: Fraction) -> Ratio:
    """Return the smallest ratio, at least 1, at which no hockey-stick divergence exceeds delta."""
    rows, total = _rows(laws)
    if not delta:
        return _largest(rows)
    ratio = Fraction(1)
    for first, second in _pairs(rows):
        exceeded = _least(first, second, delta * total, ratio)
        if exceeded is None:
            return None
        ratio = exceeded
    return ratio


def least_delta(laws: Sequence[Chances[int]], ratio: Fraction) -> Fraction:
    """Return the smallest valid delta at a ratio: the largest hockey-stick divergence."""
    rows, total = _rows(laws)
    if (largest := _largest(rows)) is not None and largest <= ratio:
        return NEVER
    return max(Fraction(_surplus(*pair, *ratio.as_integer_ratio()), ratio.denominator * total) for pair in _pairs(rows))


def _largest(rows: Rows) -> Ratio:
    columns = {(max(column), min(column)) for column in zip(*rows, strict=True)}
    if not all(least for _, least in columns):
        return None
    return max((Fraction(*ends) for ends in columns), default=Fraction(1))


def _rows(laws: Sequence[Chances[int]]) -> tuple[Rows, int]:
    total = lcm(*{chance.denominator for law in laws for chance in law.values()})
    symbols = sorted(set().union(*laws))
    rows = [
        [chance.numerator * (total // chance.denominator) for chance in (law.get(symbol, NEVER) for symbol in symbols)]
        for law in laws
    ]
    return rows, total


def _pairs(rows: Rows) -> list[tuple[list[int], list[int]]]:
    places = sorted(permutations(range(len(rows)), 2), key=lambda pair: -abs(pair[0] - pair[1]))
    return [(rows[first], rows[second]) for first, second in places]


def _surplus(first: list[int], second: list[int], numerator: int, denominator: int) -> int:
    surplus = (p * denominator - q * numerator for p, q in zip(first, second, strict=True))
    return sum(part for part in surplus if part > 0)


def _least(first: list[int], second: list[int], allowed: Fraction, ratio: Fraction) -> Ratio:
    """Return the smallest ratio, from ``ratio`` on, at which the divergence is at most ``allowed``.

    The divergence is a convex and piecewise linear function of the ratio. Newton's method never
    overshoots on a convex function, and is exact as soon as it reaches the linear piece that
    contains the result.
    """
    while True:
        numerator, denominator = ratio.as_integer_ratio()
        if _surplus(first, second, numerator, denominator) <= allowed * denominator:
            return ratio
        worse = [(p, q) for p, q in zip(first, second, strict=True) if p * denominator > q * numerator]
        p, q = sum(pair[0] for pair in worse), sum(pair[1] for pair in worse)
        if not q:
            return None
        ratio = (p - allowed) / q


CLAIMED_DIGITS: Final = 9
"""The number of decimals of a charged epsilon."""

PROVED_DIGITS: Final = 14
"""The number of decimals to which a proved epsilon is rounded up."""

USED_DIGITS: Final = 6
"""The number of decimals of `ProvedStep.used`.

The charged epsilon is rounded up to a multiple of 1e-9, so more decimals would be meaningless.
"""


@dataclass(frozen=True, slots=True)
class ExactClaim:
    """The SDK's claim about a channel.

    Attributes:
        nanos: the epsilon that a device charges for the channel, in billionths.
        ratio: e to the power of the epsilon that the channel declares.
        delta: the exact claimed delta, which is 0 for most channels.
    """

    nanos: int
    ratio: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Walked:
    """The numbers of inputs, distributions, paths and coins in an enumeration.

    Attributes:
        inputs: the number of different inputs of the channel that occurred.
        laws: the number of computed distributions, one for each answer or input.
        paths: the total number of combinations of the coins' outcomes.
        coins: the possible numbers of coins for a report. The symbol must determine the number of
            coins. Otherwise, the running time would reveal more than the symbol.
    """

    inputs: int
    laws: int
    paths: int
    coins: frozenset[int]


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof about one step of a metric, such as a report.

    Attributes:
        metric: the name of the metric.
        step: a description of the step, such as ``one report`` or ``permanent answer``.
        mechanism: the name of the step's mechanism.
        inputs: the number of inputs of the step's channel.
        symbols: the number of symbols of the step's channel.
        walked: how much was enumerated.
        claim: the SDK's claim about the step.
        ratio: e to the power of the epsilon that is proved for the claimed delta.
        delta: the delta that is proved for the claimed ratio.
        between_answers: the same as ``ratio``, but computed only from the distributions of answers,
            not from the distributions of inputs.
        mismatches: a sentence for each difference from the declaration.
        leaves_out_sets: whether answers are sets, and only some possible sets were checked.
    """

    metric: str
    step: str
    mechanism: str
    inputs: int
    symbols: int
    walked: Walked
    claim: ExactClaim
    ratio: Ratio
    delta: Fraction
    between_answers: Ratio
    mismatches: tuple[str, ...]
    leaves_out_sets: bool = False

    @property
    def exceeded(self) -> bool:
        """Whether a report reveals more than the claim allows."""
        return self.ratio is None or nanos_ceiling(self.ratio) > self.claim.nanos or self.delta > self.claim.delta

    @property
    def is_refused(self) -> bool:
        """Whether the step reveals more than its claim, or does not match its declaration."""
        return self.exceeded or bool(self.mismatches)

    @property
    def is_whole(self) -> bool:
        """Whether every input was checked and, if answers are sets, every possible set."""
        return self.walked.inputs == self.inputs and not self.leaves_out_sets


@dataclass(frozen=True, slots=True)
class ExactAudit:
    """The outcome of an exact audit.

    Attributes:
        proofs: one proof for every step of every metric.
    """

    proofs: tuple[Proof, ...]

    @property
    def refused(self) -> tuple[Proof, ...]:
        """The proofs of the steps that exceed their claim or do not match their declaration."""
        return tuple(proof for proof in self.proofs if proof.is_refused)


class ProvedStep(Record, frozen=True, kw_only=True):
    """The proof about one step of a metric, and the claim about this step."""

    metric: Annotated[str, says("the name of the metric.")]
    step: Annotated[str, says("a description of the step.")]
    mechanism: Annotated[str, says("the mechanism of the step.")]
    inputs: Annotated[int, says("the number of inputs of the step's channel.")]
    inputs_walked: Annotated[int, says("the number of inputs that were checked.")]
    symbols: Annotated[int, says("the number of symbols of the step's channel.")]
    laws: Annotated[int, says("the number of distributions that were computed, one for each answer or input.")]
    paths: Annotated[int, says("the number of combinations of coins' outcomes that were run.")]
    coins: Annotated[tuple[int, ...], says("the possible numbers of coins that a device tosses for a report.")]
    claimed_epsilon: Annotated[str, says("the charged epsilon, rounded up to 9 decimals.")]
    proved_epsilon: Annotated[
        str, says("the epsilon of all computed distributions, rounded up to 14 decimals, or ``infinite``.")
    ]
    used: Annotated[
        float | None,
        says(
            "the fraction of the charged epsilon that the most distinguishable pair of answers "
            "uses. None if the proved epsilon is infinite."
        ),
    ]
    claimed_ratio: Annotated[Fraction, says("e to the power of the epsilon that the channel declares, exactly.")]
    proved_ratio: Annotated[
        Fraction | None,
        says("e to the power of the proved epsilon at the claimed delta, exactly. None if it is infinite."),
    ]
    claimed_delta: Annotated[Fraction, says("the exact claimed delta, which is 0 for most channels.")]
    proved_delta: Annotated[Fraction, says("the exact delta of all computed distributions at the claimed ratio.")]
    refused: Annotated[bool, says("whether anything differs from its claim or its declaration.")]
    mismatches: Annotated[tuple[str, ...], says("a sentence for each difference from the declaration.")]
    exceeded: Annotated[bool, says("whether a report reveals more than the SDK claims.")] = False
    is_sample: Annotated[bool, says("whether only some inputs or some sets were checked.")] = False


class ProvedAudit(Record, frozen=True):
    """The outcome of an exact audit."""

    refused: Annotated[bool, says("whether anything differs from its claim or its declaration.")]
    lifetime: Annotated[float, says("the ceiling on the total epsilon of all reports of a device.")]
    proofs: Annotated[tuple[ProvedStep, ...], says("one proof for each step of each metric.")]


def proved(audit: ExactAudit, lifetime: float) -> ProvedAudit:
    """Return an exact audit as a document that also contains the registry's lifetime ceiling."""
    return ProvedAudit(bool(audit.refused), lifetime, tuple(map(_step, audit.proofs)))


def _step(proof: Proof) -> ProvedStep:
    walked, claim = proof.walked, proof.claim
    return ProvedStep(
        metric=proof.metric,
        step=proof.step,
        mechanism=proof.mechanism,
        inputs=proof.inputs,
        inputs_walked=walked.inputs,
        symbols=proof.symbols,
        laws=walked.laws,
        paths=walked.paths,
        coins=tuple(sorted(walked.coins)),
        claimed_epsilon=f"{claim.nanos // NANOS}.{claim.nanos % NANOS:0{CLAIMED_DIGITS}}",
        proved_epsilon=_epsilon(proof.ratio),
        used=_used(proof.between_answers, claim.nanos),
        claimed_ratio=claim.ratio,
        proved_ratio=proof.ratio,
        claimed_delta=claim.delta,
        proved_delta=proof.delta,
        refused=proof.is_refused,
        mismatches=tuple(proof.mismatches),
        exceeded=proof.exceeded,
        is_sample=not proof.is_whole,
    )


def _used(ratio: Ratio, nanos: int) -> float | None:
    return None if ratio is None else round(float(ln_ceiling(ratio) * NANOS / nanos), USED_DIGITS)


def _epsilon(ratio: Ratio) -> str:
    if ratio is None:
        return "infinite"
    unit = 10**PROVED_DIGITS
    whole, rest = divmod(-(-ln_ceiling(ratio) * unit // 1), unit)
    return f"{whole}.{rest:0{PROVED_DIGITS}}"
