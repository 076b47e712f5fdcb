"""Errors in responses: RFC 9457 problem documents with a stable code.

A problem document never repeats parts of the request.
"""

from __future__ import annotations

import json
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING

from client_sdk.protocol.wire.report import MAX_REPORTS

if TYPE_CHECKING:
    from flask import Response

MEDIA_TYPE = "application/problem+json"

TITLES = {HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Request Entity Too Large"}
"""The titles of HTTP statuses that have different titles in different versions of Python.

The proxy settings in `docker` use the same titles.
"""


class Problem(Enum):
    """The problems of the API, each with a status and a sentence for people.

    A problem's code is its name in lowercase. The value of each member is a status, a sentence, and
    the names of the headers that only responses with this problem have.
    """

    INVALID_JSON = 400, "The body must be JSON in UTF-8, without duplicate members."
    INVALID_TYPE = 400, "A value that must be an object is not an object."
    UNKNOWN_FIELD = 400, "An object has an unknown field."
    MISSING_FIELD = 400, "An object lacks a field."
    INVALID_UPLOAD_ID = 400, "An upload's id must be 32 lowercase hex digits."
    INVALID_REPORTS = 400, f"An upload must contain a list of 1 to {MAX_REPORTS} reports."
    INVALID_METRIC = 400, "A report's metric must be the name of a metric."
    INVALID_EDITION = 400, "A report's edition must be 12 lowercase hex digits."
    INVALID_WINDOW = 400, "A report's window must be a UTC day, an ISO week or a month."
    INVALID_SYMBOL = 400, "A report's symbol must be an integer from 0 to 2^53 - 1."
    BODY_INCOMPLETE = 400, "The body is shorter than its Content-Length."
    INVALID_QUERY = 400, "The query has an unknown parameter or value."
    BAD_REQUEST = 400, "The request is not valid HTTP."
    UNAUTHORIZED = (
        401,
        "Send the header 'Authorization: Bearer TOKEN' with a token that allows this operation.",
        "WWW-Authenticate",
    )
    FORBIDDEN = 403, "The key does not allow this operation."
    PRELIMINARY_FORBIDDEN = 403, "The key may read closed windows only: omit preliminary=1."
    NOT_FOUND = 404, "Nothing is served at this path."
    METHOD_NOT_ALLOWED = 405, "This path does not support the method.", "Allow"
    LENGTH_REQUIRED = 411, "Send the body with its Content-Length, not in chunks."
    BODY_TOO_LARGE = 413, "The body is larger than the limit: split it."
    TOO_MANY_UPLOADS = 413, "The batch has too many uploads: send the rest in another batch."
    UNSUPPORTED_MEDIA_TYPE = 415, "The media type of the body is not accepted here."
    UNSUPPORTED_ENCODING = 415, "The body must be sent without a content encoding."
    QUOTA_EXCEEDED = (
        429,
        (
            "The upload exceeds what is left of the key's daily quota. Nothing was counted: send the same upload again "
            "later."
        ),
        "Retry-After",
    )
    TOO_MANY_REQUESTS = 429, "Too many requests from this address: send the same upload again later.", "Retry-After"
    INTERNAL_ERROR = 500, "The collector failed: send the same upload again later."
    STORE_UNAVAILABLE = (
        503,
        "The store does not answer. No upload is counted in part: send the same upload again later.",
        "Retry-After",
    )
    STORE_FULL = (
        503,
        "The store's memory is full. Nothing was counted, and nothing is lost: send the same upload again later.",
        "Retry-After",
    )
    BODY_TOO_SLOW = 408, "The body arrived too slowly: send the same upload again."
    RELAY_FULL = 503, "The relay is full: send the same upload again later.", "Retry-After"
    COLLECTOR_UNAVAILABLE = (
        503,
        (
            "The relay or proxy got no answer from the collector. Send the same upload again later: it is counted only "
            "once."
        ),
        "Retry-After",
    )

    def __init__(self, status: int, sentence: str, *headers: str) -> None:
        """Store the status, the sentence, and the names of the headers."""
        self.code = self.name.lower()
        self.status = HTTPStatus(status)
        self.sentence = sentence
        self.headers = headers


BY_CODE = {problem.code: problem for problem in Problem}


class ProblemError(Exception):
    """An error that the client receives as a problem document.

    Attributes:
        detail: the problem and the remedy, for people. The default is the problem's sentence.
        headers: the values of the problem's headers, keyed by the header's name.
    """

    def __init__(self, problem: Problem, detail: str | None = None, headers: dict[str, str] | None = None) -> None:
        """Store the problem, its details and its headers."""
        super().__init__(detail or problem.sentence)
        self.problem = problem
        self.detail = detail or problem.sentence
        self.headers = headers or {}

    def response(self) -> Response:
        """Return the HTTP response with the problem document."""
        return problem_response(self.problem.status, self.problem.code, self.detail, self.headers)


def problem_response(status: HTTPStatus, code: str, detail: str, headers: dict[str, str]) -> Response:
    """Return an HTTP response with a problem document."""
    from flask import Response  # noqa: PLC0415 takes 80 ms, and the main process does not need it

    title = TITLES.get(status, status.phrase)
    document = {"type": "about:blank", "title": title, "status": status.value, "code": code, "detail": detail}
    return Response(json.dumps(document), status=status.value, mimetype=MEDIA_TYPE, headers=headers)
