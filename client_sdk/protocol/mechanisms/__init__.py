"""The mechanisms, one file each: its law, its perturbation and its source.

Imports domains, channels, epsilon and exact arithmetic of the vocabulary. Modules of this package
import `catalogue` directly; the names here are for others.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.catalogue import AUTO, MECHANISMS, NAMES, channel_for

__all__ = ["AUTO", "MECHANISMS", "NAMES", "channel_for"]
