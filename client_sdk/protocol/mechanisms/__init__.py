"""The mechanisms that perturb answers on the device.

Each module names the source of its mechanism.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.catalogue import AUTO, MECHANISMS, NAMES, channel_for

__all__ = ["AUTO", "MECHANISMS", "NAMES", "channel_for"]
