"""What is proved, beside what is claimed: data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from client_sdk.protocol.epsilon import nanos_ceiling
from estimator.audit.exact.losses import Ratio


@dataclass(frozen=True, slots=True)
class Claim:
    """What the SDK says of a channel.

    Attributes:
        nanos: epsilon as it is charged, in billionths.
        ratio: e to the exact epsilon, as the channel declares it.
        delta: exact; 0 for most.

    """

    nanos: int
    ratio: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Walked:
    """How much was walked.

    Attributes:
        inputs: how many of the channel's.
        laws: how many, of answers and of inputs by themselves.
        paths: of coins, in all.
        coins: how many coins a report takes: one number, if it is as it should be.

    """

    inputs: int
    laws: int
    paths: int
    coins: frozenset[int]


@dataclass(frozen=True, slots=True)
class Proof:
    """What was proved of one step of a metric.

    Attributes:
        metric: its name.
        step: what it takes to what, in words.
        mechanism: of the step.
        inputs: how many the channel has.
        symbols: how many the channel has.
        walked: how much of it was walked.
        claim: of the SDK.
        ratio: e to the exact epsilon of all laws that were walked, but for the claimed delta.
        delta: the exact delta of these laws at the claimed ratio.
        mismatches: what is not as it is declared, in sentences.

    """

    metric: str
    step: str
    mechanism: str
    inputs: int
    symbols: int
    walked: Walked
    claim: Claim
    ratio: Ratio
    delta: Fraction
    mismatches: tuple[str, ...]

    @property
    def exceeded(self) -> bool:
        """Whether a report reveals more than is claimed of it."""
        return self.ratio is None or nanos_ceiling(self.ratio) > self.claim.nanos or self.delta > self.claim.delta

    @property
    def is_refused(self) -> bool:
        """Whether anything is not as it is claimed or declared."""
        return self.exceeded or bool(self.mismatches)

    @property
    def is_whole(self) -> bool:
        """Whether every input was walked."""
        return self.walked.inputs == self.inputs


@dataclass(frozen=True, slots=True)
class ExactAudit:
    """Everything that was proved."""

    proofs: tuple[Proof, ...]

    @property
    def refused(self) -> tuple[Proof, ...]:
        """Of which steps anything is not as it is claimed or declared."""
        return tuple(proof for proof in self.proofs if proof.is_refused)
