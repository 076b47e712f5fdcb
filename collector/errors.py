"""What goes wrong in the collector, for people."""

from __future__ import annotations

from client_sdk.protocol import HearsayError


class ConfigError(HearsayError):
    """A setting that cannot be used; its text says which and what would be right."""


class StoreUnavailableError(HearsayError):
    """The store did not answer, or could not do as asked; nothing was half counted, and asking again is safe."""


class QuotaExceededError(HearsayError):
    """An upload would exceed its allowance of the day; nothing of it was counted, and its id is not remembered."""
