"""Of which texts a report can have the share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from client_sdk.protocol.registry.registry import Registry
from estimator.analyses.metric import analysis_of
from estimator.errors import RequestError

MOST_CANDIDATES: Final = 10**6
"""Each takes half a kilobyte of memory, and for each window about a tenth of a millisecond."""


def check_candidates(registry: Registry, candidates: Sequence[str]) -> None:
    """Check that texts are not too many, and that each consists of the letters of some question.

    Args:
        registry: the definitions.
        candidates: the texts.

    Raises:
        RequestError: saying which text has no question, or how many are the most, and what to do.

    """
    if not candidates:
        return
    if len(candidates) > MOST_CANDIDATES:
        raise RequestError(
            f"{len(candidates):,} candidates are more than {MOST_CANDIDATES:,}; name some, and others in another report"
        )
    analyses = [each for each in map(analysis_of, registry.metrics.values()) if each.takes_candidates]
    if not analyses:
        raise RequestError('candidates are for questions of kind = "text", and the registry has none; leave them out')
    possible = {text for analysis in analyses for text in analysis.fitting(candidates)}
    for place, text in enumerate(candidates, 1):
        if text not in possible:
            letters = " or ".join(analysis.kind.alphabet for analysis in analyses)
            raise RequestError(f"candidate {place}, {text!r}, is no text of {letters}; correct or remove it")
