"""Builds hearsay-ldp, which depends on the SDK of the same version."""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """Pins the SDK, because both distributions are built from one commit."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the only dependency."""
        metadata["dependencies"] = [f"hearsay-ldp-client=={metadata['version']}"]
