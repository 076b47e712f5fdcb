"""The error that every domain raises."""

from __future__ import annotations


class DomainError(ValueError):
    """An answer outside a domain; it carries neither the answer nor the metric."""
