"""The forms of an exact audit: a table of 80 columns, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.exact import float_ceiling, ln_ceiling
from estimator.audit.exact.losses import Ratio
from estimator.audit.exact.proof import ExactAudit, Proof
from estimator.formats.to_json import json_text
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style
from estimator.render.words import short_loss

CLAIMED_DIGITS: Final = 9
"""Decimals of a charged epsilon."""

PROVED_DIGITS: Final = 14
"""Decimals of a proved epsilon, rounded up: five more than are charged, as many as fit into the
line.
"""

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


def proofs_as_table(audit: ExactAudit, style: Style = PLAIN) -> str:
    """Return an exact audit as text of 80 columns, with two lines for each step."""
    rows = (line for proof in audit.proofs for line in _rows(proof, style))
    return style.shown("".join([HEADING, *rows, "\n", _walked(audit), FOOTNOTES]))


def _walked(audit: ExactAudit) -> str:
    """Return of how many inputs every path of coins was walked."""
    walked = sum(proof.walked.inputs for proof in audit.proofs)
    every = sum(proof.inputs for proof in audit.proofs)
    of_inputs = f"all {every:,} inputs" if walked == every else f"{walked:,} of {_count(every)} inputs"
    return f"Of {of_inputs}, every path of coins was walked through the installed\nSDK, in exact fractions.\n"


def _count(number: int) -> str:
    return f"{number:,}" if number < MOST_WRITTEN_OUT else f"{number:.1e}"


def proofs_as_json(audit: ExactAudit) -> str:
    """Return an exact audit as one JSON object.

    Exact numbers are texts, ratios as numerator and denominator.
    """
    return json_text({"refused": bool(audit.refused), "proofs": [_document(proof) for proof in audit.proofs]})


FORMATS: Final[dict[str, Callable[..., str]]] = {"table": proofs_as_table, "json": proofs_as_json}
"""The values of ``--format``. Every form ends with a line break."""


def refusals(proof: Proof) -> Iterator[str]:
    """Yield a sentence for each thing that differs from its claim or its declaration."""
    who = f"refused: {proof.metric}, {proof.step}"
    if proof.exceeded:
        yield (
            f"{who}: more is revealed than is claimed: epsilon {_epsilon(proof.ratio)} where"
            f" {_nanos(proof.claim.nanos)} is claimed; delta {_delta(proof.delta)} where"
            f" {_delta(proof.claim.delta)} is claimed"
        )
    for mismatch in proof.mismatches:
        yield f"{who}: {mismatch}"


def _rows(proof: Proof, style: Style) -> Iterator[str]:
    inputs = f"{proof.walked.inputs:,} of {_count(proof.inputs)}"
    yield (
        f"  {style.cut(proof.metric, VALUE_WIDTH):{VALUE_WIDTH}} {inputs:>14} {proof.symbols:7,}"
        f" {proof.walked.paths:8,} {_nanos(proof.claim.nanos):>11} {_epsilon(proof.ratio):>16}\n"
    )
    verdict = "as claimed" if proof.is_whole else "sample as claimed"
    verdict = "refused *" if proof.is_refused else verdict
    deltas = f"{_delta(proof.claim.delta)} | {_delta(proof.delta)}"
    yield f"    {proof.step}: {proof.mechanism}, delta {deltas}: {verdict}\n"


def _nanos(nanos: int) -> str:
    return f"{nanos // NANOS}.{nanos % NANOS:0{CLAIMED_DIGITS}}"


def _epsilon(ratio: Ratio) -> str:
    if ratio is None:
        return "infinite"
    unit = 10**PROVED_DIGITS
    whole, rest = divmod(-(-ln_ceiling(ratio) * unit // 1), unit)
    return f"{whole}.{rest:0{PROVED_DIGITS}}"


def _delta(delta: Fraction) -> str:
    return short_loss(float_ceiling(delta)) if delta else "0"


def _document(proof: Proof) -> dict[str, object]:
    walked, claim = proof.walked, proof.claim
    return {
        "metric": proof.metric,
        "step": proof.step,
        "mechanism": proof.mechanism,
        "inputs": proof.inputs,
        "inputs_walked": walked.inputs,
        "symbols": proof.symbols,
        "laws": walked.laws,
        "paths": walked.paths,
        "coins": sorted(walked.coins),
        "claimed_epsilon": _nanos(claim.nanos),
        "proved_epsilon": _epsilon(proof.ratio),
        "claimed_ratio": str(claim.ratio),
        "proved_ratio": None if proof.ratio is None else str(proof.ratio),
        "claimed_delta": str(claim.delta),
        "proved_delta": str(proof.delta),
        "refused": proof.is_refused,
        "mismatches": list(proof.mismatches),
    }
