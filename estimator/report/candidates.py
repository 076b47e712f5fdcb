"""Of which texts a report can have the share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.texts.text import Text
from estimator.errors import RequestError
from estimator.estimates.texts import fitting

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
    domains = [metric.kind for metric in registry.metrics.values() if isinstance(metric.kind, Text)]
    if not domains:
        raise RequestError('candidates are for questions of kind = "text", and the registry has none; leave them out')
    possible = {text for domain in domains for text in fitting(domain, candidates)}
    for place, text in enumerate(candidates, 1):
        if text not in possible:
            letters = " or ".join(domain.alphabet for domain in domains)
            raise RequestError(f"candidate {place}, {text!r}, is no text of {letters}; correct or remove it")
