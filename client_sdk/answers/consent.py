"""What the user has agreed to: everything, nothing, or some purposes.

A set of purposes covers the questions whose purposes are all in it. A question without a purpose
is covered by an agreement to everything alone: nobody has agreed to it by name.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from client_sdk.protocol.metric import Metric

Consent = bool | frozenset[str]
"""True for everything, False for nothing; a set is never empty."""


def consent_of(value: object) -> Consent:
    """Return what a host says that the user has agreed to.

    Raises:
        TypeError: if it is neither a bool nor a set of texts; a text is no set of its letters.

    """
    if isinstance(value, bool):
        return value
    if isinstance(value, AbstractSet) and all(isinstance(purpose, str) for purpose in value):
        return frozenset(value) or False
    raise TypeError('consent must be True, False or a set of purposes, such as {"usage"}: what the user has agreed to')


def covers(consent: Consent, metric: Metric | None) -> bool:
    """Whether the user has agreed to a question; None is one that the registry does not define."""
    if isinstance(consent, bool):
        return consent
    return metric is not None and bool(metric.consent) and metric.consent <= consent
