"""The forms of an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from estimator.audit import Audit, Finding
from estimator.audit.attack import FALSE_ACCUSATION
from estimator.audit.games import APART
from estimator.formats.to_json import json_text
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style

ALL: Final = "all metrics"

HALF: Final = 14
"""Columns for each of two answers."""

HEADING: Final = f"  {'metric':{VALUE_WIDTH}} {'told apart':31} {'claimed':>8} {'proved':>7} {'excess':>7}"

FOOTNOTES: Final = f"""\
claimed: epsilon of the reports that differ, one by one; of answers that never
change, or of one pattern (equal in the same windows), of permanent answers.
proved: the true epsilon is at least that, all rows together with all but a
chance of {FALSE_ACCUSATION:.0e}. *: more than is claimed; the claim is refuted.
excess: had it been exceeded by so much, that would have been proved about
every other time; none: n is too small to refute the claim by such an event.
What a row does not prove may still be true: an audit refutes, never confirms.
"""

APART_FOOTNOTE: Final = """\
not kept together: histories that only change at the same times, and numbers
that change. No permanent answer bounds what is found out of them, nor any
ceiling where protects = "pattern": each report that differs adds its epsilon.
"""


def audit_as_table(made: Audit, style: Style = PLAIN) -> str:
    """Return the audit as text of 80 columns, a block a horizon."""
    horizons: dict[str, list[Finding]] = {}
    for finding in made.findings:
        horizons.setdefault(finding.contest.horizon, []).append(finding)
    blocks = ["".join(_block(horizon, findings, style)) for horizon, findings in horizons.items()]
    return style.shown("\n".join([*blocks, FOOTNOTES + APART_FOOTNOTE * (APART in horizons)]))


def audit_as_json(made: Audit) -> str:
    """Return the audit as one JSON object."""
    return json_text(
        {
            "reports": made.reports,
            "false_accusation": FALSE_ACCUSATION,
            "accused": bool(made.accused),
            "findings": [_document(finding) for finding in made.findings],
        }
    )


FORMATS: Final[dict[str, Callable[..., str]]] = {"table": audit_as_table, "json": audit_as_json}
"""What ``--format`` may name; every form ends with a line break."""


def accusation(finding: Finding) -> str:
    """Return a sentence that says what was refuted, and by how much."""
    contest, proof = finding.contest, finding.proof
    return (
        f"accused: {contest.metric or ALL}, {contest.horizon}, {' or '.join(contest.names)}: epsilon is at least"
        f" {proof.epsilon:.4f}, which is {proof.excess:.4f} above the claimed {proof.claim.epsilon:.4f}"
    )


def _block(horizon: str, findings: list[Finding], style: Style) -> Iterator[str]:
    counts = sorted({finding.proof.observations for finding in findings})
    yield f"{horizon}: n = {' to '.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))} each\n"
    yield f"{HEADING}\n"
    for finding in findings:
        contest, proof = finding.contest, finding.proof
        excess = "none" if proof.detectable is None else f"{proof.detectable:.3f}"
        yield (
            f"  {style.cut(contest.metric or ALL, VALUE_WIDTH):{VALUE_WIDTH}} {_pair(contest.names, style):31}"
            f" {proof.claim.epsilon:8.4f} {proof.epsilon:7.4f} {excess:>7}{' *' if finding.accused else ''}\n"
        )


def _pair(names: tuple[str, str], style: Style) -> str:
    return " | ".join(style.cut(name, HALF) for name in names)


def _document(finding: Finding) -> dict[str, object]:
    contest, proof = finding.contest, finding.proof
    return {
        "metric": contest.metric,
        "horizon": contest.horizon,
        "answers": list(contest.names),
        "claimed_epsilon": proof.claim.epsilon,
        "claimed_delta": proof.claim.delta,
        "proved_epsilon": proof.epsilon,
        "observations": proof.observations,
        "detectable_excess": proof.detectable,
        "accused": finding.accused,
    }
