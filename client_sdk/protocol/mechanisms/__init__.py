"""The mechanisms. The module of each has its law, its perturbation and its source.

This package imports kinds, channels and epsilon from `client_sdk.protocol`.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.catalogue import AUTO, MECHANISMS, NAMES, channel_for

__all__ = ["AUTO", "MECHANISMS", "NAMES", "channel_for"]
