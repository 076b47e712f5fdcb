"""The mechanisms with which a device perturbs its answers.

Most modules define one mechanism, with its probabilities and their source in the literature. From
`client_sdk.protocol`, they import only the definitions of kinds, channels and epsilon.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.catalogue import AUTO, MECHANISMS, NAMES, channel_for

__all__ = ["AUTO", "MECHANISMS", "NAMES", "channel_for"]
