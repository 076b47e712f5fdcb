"""The mechanisms: one file each, with its law, its perturbation and its source."""

from __future__ import annotations

from client_sdk.protocol.mechanisms.catalogue import AUTO, NAMES, OF_PERMANENT_ANSWERS, channel_for

__all__ = ["AUTO", "NAMES", "OF_PERMANENT_ANSWERS", "channel_for"]
