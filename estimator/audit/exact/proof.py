"""What is proved beside what is claimed, as data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from client_sdk.protocol.epsilon import nanos_ceiling
from estimator.audit.exact.losses import Ratio


@dataclass(frozen=True, slots=True)
class ExactClaim:
    """What the SDK claims of a channel.

    Attributes:
        nanos: the epsilon that is charged, in billionths.
        ratio: e to the exact epsilon that the channel declares.
        delta: exact; 0 for most channels.

    """

    nanos: int
    ratio: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Walked:
    """How much was walked.

    Attributes:
        inputs: how many inputs of the channel.
        laws: how many laws of answers and of inputs.
        paths: how many paths of coins in all laws.
        coins: how many coins a report takes. The symbol decides which of several numbers it is,
            unless time reveals something.

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
        step: what the step does, in words.
        mechanism: the mechanism of the step.
        inputs: how many inputs its channel has.
        symbols: how many symbols its channel has.
        walked: how much of it was walked.
        claim: what the SDK claims of it.
        ratio: e to the exact epsilon of all walked laws at the claimed delta.
        delta: the exact delta of these laws at the claimed ratio.
        mismatches: a sentence for each thing that differs from its declaration.
        leaves_out_sets: whether only some sets of members were walked.

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
    mismatches: tuple[str, ...]
    leaves_out_sets: bool = False

    @property
    def exceeded(self) -> bool:
        """Whether a report reveals more than the claim allows."""
        return self.ratio is None or nanos_ceiling(self.ratio) > self.claim.nanos or self.delta > self.claim.delta

    @property
    def is_refused(self) -> bool:
        """Whether anything differs from its claim or its declaration."""
        return self.exceeded or bool(self.mismatches)

    @property
    def is_whole(self) -> bool:
        """Whether every input was walked, and every set of them that can be an answer."""
        return self.walked.inputs == self.inputs and not self.leaves_out_sets


@dataclass(frozen=True, slots=True)
class ExactAudit:
    """The outcome of an exact audit.

    Attributes:
        proofs: of every step of every metric.

    """

    proofs: tuple[Proof, ...]

    @property
    def refused(self) -> tuple[Proof, ...]:
        """The steps in which anything differs from its claim or its declaration."""
        return tuple(proof for proof in self.proofs if proof.is_refused)
