"""A strict parser for JSON in UTF-8. It refuses extensions of RFC 8259 and repeated members.

`Malformed` lists all possible mistakes in a body, with stable codes.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, NoReturn

from client_sdk.protocol.errors import HearsayError


def load(body: bytes) -> Any:  # noqa: ANN401 what JSON holds
    """Return the JSON document in a body.

    Raises:
        MalformedError: if the body is not JSON, or an object has a member twice.
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
            Malformed.INVALID_JSON, "body", "must be one JSON object (RFC 8259) without duplicate members"
        ) from None
    return document


def check_fields(raw: Any, fields: frozenset[str], place: str) -> None:  # noqa: ANN401 what JSON holds
    """Check that a JSON value is an object with exactly these fields."""
    expected = ", ".join(sorted(fields))
    if type(raw) is not dict:
        malformed(Malformed.INVALID_TYPE, place, f"must be an object with exactly: {expected}")
    if raw.keys() - fields:
        malformed(Malformed.UNKNOWN_FIELD, place, f"has an unknown field; the known fields are: {expected}")
    if fields - raw.keys():
        malformed(Malformed.MISSING_FIELD, place, f"lacks: {', '.join(sorted(fields - raw.keys()))}")


def _members(document: Any) -> int:  # noqa: ANN401 what JSON holds
    """Return the number of members of an object and of the objects directly in its lists.

    For example, `{"upload": "0f", "reports": [{"symbol": 1}]}` has three such members.

    In the JSON text, every member has a colon. If the number of colons equals the result, the text
    contains no deeper and no repeated members. Otherwise, `load` parses the text again and checks
    each member, which takes twice as long. Valid bodies are parsed once.
    """
    if type(document) is not dict:
        return 0
    in_lists = [item for value in document.values() if type(value) is list for item in value if type(item) is dict]
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


class Malformed(StrEnum):
    """The reason why a body violates the wire format.

    The value is the code that a response contains.
    """

    INVALID_JSON = "invalid_json"
    INVALID_TYPE = "invalid_type"
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"
    INVALID_UPLOAD_ID = "invalid_upload_id"
    INVALID_REPORTS = "invalid_reports"
    INVALID_METRIC = "invalid_metric"
    INVALID_EDITION = "invalid_edition"
    INVALID_WINDOW = "invalid_window"
    INVALID_SYMBOL = "invalid_symbol"
    INVALID_VERDICT = "invalid_verdict"
    INVALID_ANSWERS = "invalid_answers"


MALFORMED_REPLIES = frozenset({Malformed.INVALID_VERDICT, Malformed.INVALID_ANSWERS})
"""Codes for malformed responses of a server. Collectors never send these codes."""


class MalformedError(HearsayError):
    """A body violates the wire format.

    Attributes:
        code: the kind of mistake.
        place: the place in the body, for example ``reports[3].symbol``.
        problem: the violated requirement.
    """

    def __init__(self, code: Malformed, place: str, problem: str) -> None:
        """Set the attributes and the message."""
        super().__init__(f"{place}: {problem}")
        self.code = code
        self.place = place
        self.problem = problem


def malformed(code: Malformed, place: str, problem: str) -> NoReturn:
    """Raise a `MalformedError`."""
    raise MalformedError(code, place, problem)
