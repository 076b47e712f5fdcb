"""The forms of an audit: a table of 80 columns, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from estimator.audit.attack import FALSE_ACCUSATION
from estimator.audit.run import Audit, Finding
from estimator.formats.to_json import as_json
from estimator.render.text.style import LEAST_WIDTH, PLAIN, VALUE_WIDTH, Style, padded
from estimator.words import plural

ALL: Final = "all metrics"

HALF: Final = 14
"""The number of columns for each of two answers."""

PAIR: Final = 2 * HALF + len(" | ")

HEADING: Final = f"  {'metric':{VALUE_WIDTH}} {'told apart':{PAIR}} {'claimed':>8} {'proved':>7} {'excess':>7}"

FOOTNOTES: Final = f"""\
claimed: epsilon of the reports that differ, one by one; of permanent answers
that never change, their permanent epsilon.
proved: the true epsilon is at least this, in all rows together, except with a
probability of {FALSE_ACCUSATION:.0e}. *: above the claim, which is refuted.
excess: a claim exceeded by this much would be refuted about every other time;
none: n is too small to refute the claim by such an event.
What a row does not prove may still be true: an audit refutes, never confirms.
"""


def audit_as_table(audit: Audit, style: Style = PLAIN) -> str:
    """Return an audit as text of 80 columns, with a block for each horizon."""
    horizons: dict[str, list[Finding]] = {}
    for finding in audit.findings:
        horizons.setdefault(finding.horizon, []).append(finding)
    blocks = ["".join(_block(horizon, findings, style)) for horizon, findings in horizons.items()]
    return style.shown("\n".join([*blocks, FOOTNOTES, verdict_of(audit)]))


def verdict_of(audit: Audit) -> str:
    """Return what an audit says in the end, in words and lines of 80 columns."""
    refuted = sum(finding.accused for finding in audit.findings)
    compared = plural(len(audit.findings), "comparison")
    sentences = [f"Verdict: REFUTED: {refuted} of {compared} proved more than is claimed (*)."]
    if not refuted:
        sentences = [f"Verdict: no claim was refuted in {compared}.", *_weakness(audit.findings)]
    return "".join(f"{line}\n" for line in wrap(" ".join(sentences), LEAST_WIDTH))


def _weakness(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield how little the number of reports could prove."""
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
            f"{len(powerless)} could not refute anything: {most.observations:,} observations prove at best epsilon "
            f"{most.provable_epsilon:.2f}, whatever the SDK reveals."
        )
    if len(able) > len(excesses):
        yield (
            f"{len(able) - len(excesses)} could prove little: twice the claimed epsilon would most likely go "
            "unnoticed; give more --reports."
        )
    if excesses:
        yield f"In {len(excesses)} an excess of {max(excesses):.2f} over the claim would most likely be noticed."


FORMATS: Final[dict[str, Callable[..., str]]] = {"table": audit_as_table, "json": as_json}
"""The values of ``--format``. Every form ends with a line break."""


def accusation(finding: Finding) -> str:
    """Return a sentence that says which claim is refuted, and by how much."""
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
        numbers = f"{finding.claimed_epsilon:8.4f} {finding.proved_epsilon:7.4f} {excess:>7}"
        named = f"{style.filled(finding.metric or ALL, VALUE_WIDTH)} {padded(pair, PAIR)}"
        yield f"  {named} {numbers}{' *' if finding.accused else ''}\n"
