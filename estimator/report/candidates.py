"""Of which texts a report can have the share."""

from __future__ import annotations

from collections.abc import Sequence

from client_sdk.protocol.domain.text import Text
from client_sdk.protocol.registry.registry import Registry
from estimator.errors import RequestError
from estimator.estimates.texts import fitting


def check_candidates(registry: Registry, candidates: Sequence[str]) -> None:
    """Check that each text consists of the letters of some question.

    Args:
        registry: the definitions.
        candidates: the texts.

    Raises:
        RequestError: saying which text has no question, and what to do.

    """
    if not candidates:
        return
    domains = [metric.domain for metric in registry.metrics.values() if isinstance(metric.domain, Text)]
    if not domains:
        raise RequestError('candidates are for questions of kind = "text", and the registry has none; leave them out')
    possible = {text for domain in domains for text in fitting(domain, candidates)}
    for place, text in enumerate(candidates, 1):
        if text not in possible:
            letters = " or ".join(domain.alphabet for domain in domains)
            raise RequestError(f"candidate {place}, {text!r}, is no text of {letters}; correct or remove it")
