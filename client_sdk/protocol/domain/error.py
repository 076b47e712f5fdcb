"""What every domain raises; in a file of its own because all of them do."""

from __future__ import annotations


class DomainError(ValueError):
    """An answer outside a domain; it carries neither the answer nor the metric."""
