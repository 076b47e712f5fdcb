"""The kinds of metrics. Each kind defines its registry keys, encoding and sentences for users.

The kinds ``text``, ``vector`` and ``model`` have their own modules next to this package. A device
imports only the modules of the kinds in its registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from client_sdk.protocol.kinds.kind import Kind

KINDS: Final[Mapping[str, str]] = {
    "boolean": "client_sdk.protocol.kinds.boolean:Boolean",
    "category": "client_sdk.protocol.kinds.category:Category",
    "ordinal": "client_sdk.protocol.kinds.ordinal:Ordinal",
    "nearest": "client_sdk.protocol.kinds.nearest:Nearest",
    "set": "client_sdk.protocol.kinds.set:Subset",
    "number": "client_sdk.protocol.kinds.number:Number",
    "count": "client_sdk.protocol.kinds.number:Count",
    "activity": "client_sdk.protocol.kinds.number:Activity",
    "vector": "client_sdk.protocol.vector:Vector",
    "text": "client_sdk.protocol.text:Text",
    "model": "client_sdk.protocol.model:Model",
}
"""Maps the name of each kind in a registry to its class, written as ``module:class``."""


def kind_named(name: str) -> type[Kind]:
    """Return the class of a kind.

    >>> kind_named("category").name
    'category'
    """
    module, _, attribute = KINDS[name].partition(":")
    kind: type[Kind] = getattr(import_module(module), attribute)
    return kind
