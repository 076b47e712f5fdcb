"""JSON, read strictly: UTF-8, nothing that RFC 8259 does not know, and no member twice."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from client_sdk.protocol.wire.malformed import Malformed, MalformedError


def load(body: bytes) -> Any:  # noqa: ANN401 what JSON holds
    """Return what a body holds.

    Raises:
        MalformedError: if it is not JSON, or holds a member twice.

    """
    try:
        text = body.decode()
        document = _QUICK.decode(text)
        if text.count(":") != _members(document):
            document = _STRICT.decode(text)
    except UnicodeDecodeError:
        raise MalformedError(Malformed.INVALID_JSON, "body", "must be JSON in UTF-8") from None
    except (ValueError, RecursionError):
        raise MalformedError(
            Malformed.INVALID_JSON, "body", "must be one JSON object (RFC 8259), no member twice"
        ) from None
    return document


def _members(document: Any) -> int:  # noqa: ANN401 what JSON holds
    """Return how many members an object has, and the objects in its lists have; deeper ones are not counted.

    Every member has a colon. So a text with no more colons than these has no other member: none deeper, and none twice.
    A text with more is read again with each member looked at, which takes twice as long; the wire has no such bodies.
    """
    if type(document) is not dict:
        return 0
    in_lists = [one for value in document.values() if type(value) is list for one in value if type(one) is dict]
    return len(document) + sum(map(len, in_lists))


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) != len(members):
        raise ValueError
    return document


def _constant(_: str) -> NoReturn:
    raise ValueError


_QUICK = json.JSONDecoder(parse_constant=_constant)
_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
