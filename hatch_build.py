"""Builds hearsay-ldp: it depends on the SDK of its own version."""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """Pins the SDK: both distributions share the vocabulary, and are built from one commit."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Name the only dependency."""
        metadata["dependencies"] = [f"hearsay-ldp-client=={metadata['version']}"]
