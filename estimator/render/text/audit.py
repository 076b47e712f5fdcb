"""The forms of an audit: a table of 80 columns, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from estimator.audit.attack import FALSE_ACCUSATION, LowerBound
from estimator.audit.run import Audit, ContestResult
from estimator.formats.to_json import json_text
from estimator.render.text.style import LEAST_WIDTH, PLAIN, VALUE_WIDTH, Style
from estimator.render.text.widths import padded
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
    horizons: dict[str, list[ContestResult]] = {}
    for result in audit.results:
        horizons.setdefault(result.contest.horizon, []).append(result)
    blocks = ["".join(_block(horizon, results, style)) for horizon, results in horizons.items()]
    return style.shown("\n".join([*blocks, FOOTNOTES, verdict_of(audit)]))


def verdict_of(audit: Audit) -> str:
    """Return what an audit says in the end, in words and lines of 80 columns."""
    results, refuted = audit.results, len(audit.accused)
    compared = plural(len(results), "comparison")
    sentences = [f"Verdict: REFUTED: {refuted} of {compared} proved more than is claimed (*)."]
    if not refuted:
        sentences = [f"Verdict: no claim was refuted in {compared}.", *_weakness(results)]
    return "".join(f"{line}\n" for line in wrap(" ".join(sentences), LEAST_WIDTH))


def _weakness(results: Sequence[ContestResult]) -> Iterator[str]:
    """Yield how little the number of reports could prove."""
    powerless, able = _partitioned([result.bound for result in results])
    weak = [bound for bound in able if bound.detectable is None or bound.detectable > bound.claim.epsilon]
    if powerless:
        most = max(powerless, key=lambda bound: bound.at_best)
        yield (
            f"{len(powerless)} could not refute anything: {most.observations:,} observations prove at best epsilon "
            f"{most.at_best:.2f}, whatever the SDK reveals."
        )
    if weak:
        yield (
            f"{len(weak)} could prove little: twice the claimed epsilon would most likely go unnoticed; "
            "give more --reports."
        )
    if len(able) > len(weak):
        excess = max(bound.detectable or 0.0 for bound in able if bound not in weak)
        yield f"In {len(able) - len(weak)} an excess of {excess:.2f} over the claim would most likely be noticed."


def _partitioned(bounds: Sequence[LowerBound]) -> tuple[list[LowerBound], list[LowerBound]]:
    """Return the bounds that could not have refuted their claims, and those that could."""
    powerless = [bound for bound in bounds if bound.at_best <= bound.claim.epsilon]
    return powerless, [bound for bound in bounds if bound.at_best > bound.claim.epsilon]


def audit_as_json(audit: Audit) -> str:
    """Return an audit as one JSON object."""
    return json_text(
        {
            "reports": audit.reports,
            "false_accusation": FALSE_ACCUSATION,
            "accused": bool(audit.accused),
            "findings": [_document(result) for result in audit.results],
        }
    )


FORMATS: Final[dict[str, Callable[..., str]]] = {"table": audit_as_table, "json": audit_as_json}
"""The values of ``--format``. Every form ends with a line break."""


def accusation(result: ContestResult) -> str:
    """Return a sentence that says which claim is refuted, and by how much."""
    contest, bound = result.contest, result.bound
    return (
        f"accused: {contest.metric or ALL}, {contest.horizon}, {' or '.join(contest.names)}: epsilon is at least"
        f" {bound.epsilon:.4f}, which is {bound.excess:.4f} above the claimed {bound.claim.epsilon:.4f}"
    )


def _block(horizon: str, results: list[ContestResult], style: Style) -> Iterator[str]:
    counts = sorted({result.bound.observations for result in results})
    yield f"{horizon}: n = {' to '.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))} each\n"
    yield f"{HEADING}\n"
    for result in results:
        contest, bound = result.contest, result.bound
        excess = "none" if bound.detectable is None else f"{bound.detectable:.3f}"
        yield (
            f"  {style.filled(contest.metric or ALL, VALUE_WIDTH)} {padded(_pair(contest.names, style), PAIR)}"
            f" {bound.claim.epsilon:8.4f} {bound.epsilon:7.4f} {excess:>7}{' *' if result.accused else ''}\n"
        )


def _pair(names: tuple[str, str], style: Style) -> str:
    return " | ".join(style.cut(name, HALF) for name in names)


def _document(result: ContestResult) -> dict[str, object]:
    contest, bound = result.contest, result.bound
    return {
        "metric": contest.metric,
        "horizon": contest.horizon,
        "answers": list(contest.names),
        "claimed_epsilon": bound.claim.epsilon,
        "claimed_delta": bound.claim.delta,
        "proved_epsilon": bound.epsilon,
        "observations": bound.observations,
        "detectable_excess": bound.detectable,
        "accused": result.accused,
    }
