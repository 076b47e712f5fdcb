"""What may be answered: one class per kind of question, with its keys, its encoding and its words.

The plain kinds live here; texts, vectors and models have packages of their own. A device imports
only the kinds that its registry names.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from client_sdk.protocol.kinds.kind import Kind

_PROTOCOL: Final = "client_sdk.protocol"

KINDS: Final[Mapping[str, str]] = {
    "boolean": f"{_PROTOCOL}.kinds.boolean:Boolean",
    "category": f"{_PROTOCOL}.kinds.category:Category",
    "ordinal": f"{_PROTOCOL}.kinds.category:Ordinal",
    "nearest": f"{_PROTOCOL}.kinds.nearest:Nearest",
    "set": f"{_PROTOCOL}.kinds.set:Subset",
    "number": f"{_PROTOCOL}.kinds.number:Number",
    "count": f"{_PROTOCOL}.kinds.number:Count",
    "activity": f"{_PROTOCOL}.kinds.number:Activity",
    "vector": f"{_PROTOCOL}.vectors.vector:Vector",
    "text": f"{_PROTOCOL}.texts.text:Text",
    "model": f"{_PROTOCOL}.models.model:Model",
}
"""The kinds that a registry may name, and where their classes are."""


def kind_named(name: str) -> type[Kind]:
    """Return the class of a kind.

    >>> kind_named("category").name
    'category'

    """
    module, _, attribute = KINDS[name].partition(":")
    kind: type[Kind] = getattr(import_module(module), attribute)
    return kind
