"""The error that every domain raises."""

from __future__ import annotations


class DomainError(ValueError):
    """An answer outside a domain; it carries neither the answer nor the metric.

    Its text is empty, or says in words which part of the answer is to be what.
    """
