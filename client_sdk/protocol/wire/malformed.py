"""What can be malformed in a body: a closed enumeration with stable codes."""

from __future__ import annotations

from enum import StrEnum
from typing import NoReturn

from client_sdk.protocol.errors import HearsayError


class Malformed(StrEnum):
    """Why a body is not what the wire format says. The value is the code on the wire."""

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
"""Codes that only the reader of a reply raises; no collector replies with them."""


class MalformedError(HearsayError):
    """A body that is not what the wire format says.

    Attributes:
        code: the kind of mistake, for programs.
        place: where in the body, for example ``reports[3].symbol``; the content is never echoed.
        problem: what would be right there.

    """

    def __init__(self, code: Malformed, place: str, problem: str) -> None:
        """Say by code, place and sentence what is malformed."""
        super().__init__(f"{place}: {problem}")
        self.code = code
        self.place = place
        self.problem = problem


def malformed(code: Malformed, place: str, problem: str) -> NoReturn:
    """Refuse a body.

    Raises:
        MalformedError: always.

    """
    raise MalformedError(code, place, problem)
