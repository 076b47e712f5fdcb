"""The forms of an exact audit: a table of 80 columns, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from client_sdk.protocol.exact import float_ceiling
from estimator.audit.proved import ProvedAudit, ProvedStep
from estimator.formats.to_json import as_json
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style
from estimator.render.words import short_loss

MOST_WRITTEN_OUT: Final = 10**7
"""The numbers of inputs below it have a place in their column. Crosses have a product of many."""

HEADING: Final = (
    f"  {'metric':{VALUE_WIDTH}} {'inputs':>14} {'symbols':>7} {'paths':>8} {'claimed':>11} {'proved epsilon':>16}\n"
)

FOOTNOTES: Final = """\
as claimed: every symbol has the declared chance, epsilon and delta (claimed |
proved) are those of the law to the last digit, and all paths take as many
coins. claimed: rounded up to 1e-9; proved: rounded up to 1e-14.
sample: of many inputs only some are walked, among them the worst pair, by the
mechanism's symmetry. Sets and numbers between two points are mixtures of
inputs, which reveal no more than these. docs/how-to/planning.md says why.
Not walked: the system's random numbers, the ledger, and how reports are sent;
audit without --exact attacks these, too.
"""


def proofs_as_table(audit: ProvedAudit, style: Style = PLAIN) -> str:
    """Return an exact audit as text of 80 columns, with two lines for each step."""
    rows = (line for proof in audit.proofs for line in _rows(proof, style))
    return style.shown("".join([HEADING, *rows, "\n", _walked(audit), FOOTNOTES]))


FORMATS: Final[dict[str, Callable[..., str]]] = {"table": proofs_as_table, "json": as_json}
"""The values of ``--format``. Every form ends with a line break."""


def refusals(proof: ProvedStep) -> Iterator[str]:
    """Yield a sentence for each thing that differs from its claim or its declaration."""
    who = f"refused: {proof.metric}, {proof.step}"
    if proof.exceeded:
        yield (
            f"{who}: more is revealed than is claimed: epsilon {proof.proved_epsilon} where {proof.claimed_epsilon} is"
            f" claimed; delta {_delta(proof.proved_delta)} where {_delta(proof.claimed_delta)} is claimed"
        )
    for mismatch in proof.mismatches:
        yield f"{who}: {mismatch}"


def _walked(audit: ProvedAudit) -> str:
    """Return of how many inputs every path of coins was walked."""
    walked = sum(proof.inputs_walked for proof in audit.proofs)
    every = sum(proof.inputs for proof in audit.proofs)
    of_inputs = f"all {every:,} inputs" if walked == every else f"{walked:,} of {_count(every)} inputs"
    return f"Of {of_inputs}, every path of coins was walked through the installed\nSDK, in exact fractions.\n"


def _rows(proof: ProvedStep, style: Style) -> Iterator[str]:
    inputs = f"{proof.inputs_walked:,} of {_count(proof.inputs)}"
    yield (
        f"  {style.cut(proof.metric, VALUE_WIDTH):{VALUE_WIDTH}} {inputs:>14} {proof.symbols:7,}"
        f" {proof.paths:8,} {proof.claimed_epsilon:>11} {proof.proved_epsilon:>16}\n"
    )
    verdict = "sample as claimed" if proof.is_sample else "as claimed"
    verdict = "refused *" if proof.refused else verdict
    deltas = f"{_delta(proof.claimed_delta)} | {_delta(proof.proved_delta)}"
    yield f"    {proof.step}: {proof.mechanism}, delta {deltas}: {verdict}\n"


def _count(number: int) -> str:
    return f"{number:,}" if number < MOST_WRITTEN_OUT else f"{number:.1e}"


def _delta(delta: Fraction) -> str:
    return short_loss(float_ceiling(delta)) if delta else "0"
