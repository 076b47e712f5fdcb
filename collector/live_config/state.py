"""What a collector serves: the definitions, and who may do what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from client_sdk.protocol.registry.registry import Registry
from collector.access_keys import Access
from collector.api.registry_document import registry_document


@dataclass(frozen=True)
class Served:
    """One state. It is replaced as a whole, never changed.

    Attributes:
        registry: the definitions.
        access: the keys.

    """

    registry: Registry
    access: Access

    @cached_property
    def document(self) -> bytes:
        """The registry as a JSON document that anybody may read."""
        return registry_document(self.registry)
