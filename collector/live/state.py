"""What a collector serves, which may change while it runs: the definitions, and who may do what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from client_sdk.protocol import Registry
from collector.access import Access
from collector.api.registry_document import registry_document


@dataclass(frozen=True)
class Served:
    """One state of it.

    Attributes:
        registry: the definitions.
        access: the keys.

    """

    registry: Registry
    access: Access

    @cached_property
    def document(self) -> bytes:
        """The registry as anybody may read it."""
        return registry_document(self.registry)


class Live:
    """The present state. It is replaced whole: a request that takes it once meets one state from beginning to end.

    Attributes:
        now: that state.

    """

    def __init__(self, served: Served) -> None:
        """Begin with a state."""
        self.now = served
