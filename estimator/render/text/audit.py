"""The output of empirical audits and of exact audits, as text 80 columns wide or as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Final

from client_sdk.protocol.epsilon import float_ceiling
from estimator.audit.attack import FALSE_ACCUSATION
from estimator.audit.proof import ProvedAudit, ProvedStep
from estimator.audit.run import Audit, Finding
from estimator.formats.json_documents import as_json
from estimator.render.text.style import LEAST_WIDTH, PLAIN, VALUE_WIDTH, Style, padded
from estimator.render.words import short_loss
from estimator.words import plural

ALL: Final = "all metrics"

HALF: Final = 12
"""The number of columns for each of the two answers that a row compares."""

PAIR: Final = 2 * HALF + len(" | ")

HEADING: Final = (
    f"  {'metric':{VALUE_WIDTH}} {'answers':{PAIR}} {'claimed':>8} {'at least':>8} {'used':>4} {'excess':>7}"
)

FOOTNOTES: Final = f"""\
claimed: the sum of the epsilons of all reports that differ. A row on several
windows contains as many reports as the lifetime ceiling pays for. For permanent
answers that never change, the claim is their permanent epsilon.
at least: a lower bound on the true epsilon. The probability that any row is
wrong is at most {FALSE_ACCUSATION:.0e}. *: the bound is above the claim, which is refuted.
used: a lower bound on the part of the claimed epsilon that is really used.
excess: if the true epsilon exceeded the claim by this much, the audit would
refute the claim about half the time. none: n is too small to refute the claim.
The true epsilon may be larger than this bound: no audit can confirm a claim.
"""

MOST_WRITTEN_OUT: Final = 10**7
"""Numbers of at least this size are written with an exponent, such as 1.3e9."""

PROOF_HEADING: Final = (
    f"  {'metric':{VALUE_WIDTH}} {'inputs':>14} {'symbols':>7} {'paths':>8} {'claimed':>11} {'proved epsilon':>16}\n"
)

PROOF_FOOTNOTES: Final = """\
claimed: the epsilon that the SDK charges, rounded up to 1e-9. proved: the exact
epsilon of the SDK's code, to 1e-14. A delta is shown as claimed | proved.
as claimed: every symbol (possible report) has its declared probability, epsilon
and delta are exactly as declared, and all paths to a symbol use the same number
of coins.
used: the part of the claimed epsilon that the most distinguishable pair of
answers uses. If it is below 100.0%, the rest is charged but not used.
sample: of many inputs, a worst pair and some others were run. For numbers, the
ends of the range are a worst pair. --all-inputs runs all inputs.
Not covered: the system's random numbers, the ledger and the sending of reports.
An audit without --exact also attacks these. See docs/reference/plans.md.
"""


def audit_as_table(audit: Audit, style: Style = PLAIN) -> str:
    """Return an audit as text, with a block for each period."""
    horizons: dict[str, list[Finding]] = {}
    for finding in audit.findings:
        horizons.setdefault(finding.horizon, []).append(finding)
    blocks = ["".join(_block(horizon, findings, style)) for horizon, findings in horizons.items()]
    return style.shown("\n".join([*blocks, FOOTNOTES, f"{_ceiling(audit.lifetime)}{verdict_of(audit)}"]))


def _ceiling(lifetime: float) -> str:
    return (
        f"The ledger limits the epsilon of all reports of a device to {lifetime:g}, as tests\n"
        "prove (see docs/privacy/proofs.md).\n"
    )


def verdict_of(audit: Audit) -> str:
    """Return the verdict of an audit as text."""
    refuted = sum(finding.accused for finding in audit.findings)
    compared = plural(len(audit.findings), "comparison")
    sentences = [f"Verdict: REFUTED: {refuted} of {compared} proved more than is claimed (*)."]
    if not refuted:
        sentences = [f"Verdict: no claim was refuted in {compared}.", *_weakness(audit.findings)]
    return "".join(f"{line}\n" for line in wrap(" ".join(sentences), LEAST_WIDTH))


def _weakness(findings: Sequence[Finding]) -> Iterator[str]:
    powerless = [each for each in findings if each.provable_epsilon <= each.claimed_epsilon]
    able = [each for each in findings if each.provable_epsilon > each.claimed_epsilon]
    excesses = [
        each.detectable_excess
        for each in able
        if each.detectable_excess is not None and each.detectable_excess <= each.claimed_epsilon
    ]
    if powerless:
        most = max(powerless, key=lambda finding: finding.provable_epsilon)
        yield (
            f"Of these, {len(powerless)} could not refute anything: {most.observations:,} observations prove at most "
            f"epsilon {most.provable_epsilon:.2f}, even if the SDK reveals more."
        )
    if len(able) > len(excesses):
        yield (
            f"Of these, {len(able) - len(excesses)} could prove little: twice the claimed epsilon would probably go "
            "unnoticed; use more --reports."
        )
    if excesses:
        yield f"In {len(excesses)} of these, an excess of {max(excesses):.2f} over the claim would probably be noticed."


AUDIT_FORMATS: Final[dict[str, Callable[..., str]]] = {"table": audit_as_table, "json": as_json}
"""The values of ``--format``. Every output ends with a line break."""


def accusation(finding: Finding) -> str:
    """Return a sentence that states the refuted claim and the excess of epsilon over this claim."""
    excess = finding.proved_epsilon - finding.claimed_epsilon
    return (
        f"accused: {finding.metric or ALL}, {finding.horizon}, {' or '.join(finding.answers)}: epsilon is at least"
        f" {finding.proved_epsilon:.4f}, which is {excess:.4f} above the claimed {finding.claimed_epsilon:.4f}"
    )


def _block(horizon: str, findings: list[Finding], style: Style) -> Iterator[str]:
    counts = sorted({finding.observations for finding in findings})
    yield f"{horizon}: n = {' to '.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))} each\n"
    yield f"{HEADING}\n"
    for finding in findings:
        pair = " | ".join(style.cut(name, HALF) for name in finding.answers)
        excess = "none" if finding.detectable_excess is None else f"{finding.detectable_excess:.3f}"
        used = f"{math.floor(100 * finding.used)}%"
        numbers = f"{finding.claimed_epsilon:8.4f} {finding.proved_epsilon:8.4f} {used:>4} {excess:>7}"
        named = f"{style.filled(finding.metric or ALL, VALUE_WIDTH)} {padded(pair, PAIR)}"
        yield f"  {named} {numbers}{' *' if finding.accused else ''}\n"


def proofs_as_table(audit: ProvedAudit, style: Style = PLAIN) -> str:
    """Return an exact audit as text, with two lines for each step of a metric's mechanism."""
    rows = (line for proof in audit.proofs for line in _rows(proof, style))
    return style.shown("".join([PROOF_HEADING, *rows, "\n", _walked(audit), PROOF_FOOTNOTES, _ceiling(audit.lifetime)]))


PROOF_FORMATS: Final[dict[str, Callable[..., str]]] = {"table": proofs_as_table, "json": as_json}


def refusals(proof: ProvedStep) -> Iterator[str]:
    """Yield a sentence for each result that contradicts the claim or the declared probabilities."""
    who = f"refused: {proof.metric}, {proof.step}"
    if proof.exceeded:
        yield (
            f"{who}: more is revealed than is claimed: epsilon {proof.proved_epsilon} instead of"
            f" {proof.claimed_epsilon}, and delta {_delta(proof.proved_delta)} instead of {_delta(proof.claimed_delta)}"
        )
    for mismatch in proof.mismatches:
        yield f"{who}: {mismatch}"


def _walked(audit: ProvedAudit) -> str:
    walked = sum(proof.inputs_walked for proof in audit.proofs)
    every = sum(proof.inputs for proof in audit.proofs)
    of_inputs = f"all {every:,} inputs" if walked == every else f"{walked:,} of {_count(every)} inputs"
    return (
        f"For {of_inputs}, the installed SDK was run with every path\n"
        "(sequence of coins), and probabilities were added up as exact fractions.\n"
    )


def _rows(proof: ProvedStep, style: Style) -> Iterator[str]:
    inputs = f"{proof.inputs_walked:,} of {_count(proof.inputs)}"
    yield (
        f"  {style.cut(proof.metric, VALUE_WIDTH):{VALUE_WIDTH}} {inputs:>14} {proof.symbols:7,}"
        f" {proof.paths:8,} {proof.claimed_epsilon:>11} {proof.proved_epsilon:>16}\n"
    )
    verdict = "sample as claimed" if proof.is_sample else "as claimed"
    verdict = "refused *" if proof.refused else verdict
    deltas = f", delta {_delta(proof.claimed_delta)} | {_delta(proof.proved_delta)}"
    shown = deltas if proof.claimed_delta or proof.proved_delta else ""
    used = "infinitely" if proof.used is None else f"{proof.used:.1%}"
    yield f"    {proof.step}: {proof.mechanism}{shown}, {used} used: {verdict}\n"


def _count(number: int) -> str:
    return f"{number:,}" if number < MOST_WRITTEN_OUT else f"{number:.1e}"


def _delta(delta: Fraction) -> str:
    return short_loss(float_ceiling(delta)) if delta else "0"
