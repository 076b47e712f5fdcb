"""The mechanisms. Each module defines the probabilities of one mechanism, and names its source.

This package imports kinds, channels and epsilon from `client_sdk.protocol`.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.catalogue import AUTO, MECHANISMS, NAMES, channel_for

__all__ = ["AUTO", "MECHANISMS", "NAMES", "channel_for"]
