"""Errors in responses: RFC 9457 problem documents with a stable code.

A problem document never repeats parts of the request.
"""

from __future__ import annotations

import json
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING

from client_sdk.protocol.wire.report import MAX_REPORTS
from client_sdk.protocol.wire.strict_json import Malformed

if TYPE_CHECKING:
    from flask import Response

MEDIA_TYPE = "application/problem+json"

TITLES = {HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Request Entity Too Large"}
"""Titles that differ between versions of Python. The proxy settings in `docker` use the same."""


class Problem(Enum):
    """The problems of the API, each with a status and a sentence for people.

    A problem's code is its name in lowercase. The sentence may be followed by names of headers that
    only responses with this problem have.
    """

    INVALID_JSON = (
        Malformed.INVALID_JSON,
        HTTPStatus.BAD_REQUEST,
        "The body must be JSON in UTF-8, without duplicate members.",
    )
    INVALID_TYPE = Malformed.INVALID_TYPE, HTTPStatus.BAD_REQUEST, "A value that must be an object is not an object."
    UNKNOWN_FIELD = Malformed.UNKNOWN_FIELD, HTTPStatus.BAD_REQUEST, "An object has an unknown field."
    MISSING_FIELD = Malformed.MISSING_FIELD, HTTPStatus.BAD_REQUEST, "An object lacks a field."
    INVALID_UPLOAD_ID = (
        Malformed.INVALID_UPLOAD_ID,
        HTTPStatus.BAD_REQUEST,
        "An upload's id must be 32 lowercase hex digits.",
    )
    INVALID_REPORTS = (
        Malformed.INVALID_REPORTS,
        HTTPStatus.BAD_REQUEST,
        f"An upload must contain a list of 1 to {MAX_REPORTS} reports.",
    )
    INVALID_METRIC = (
        Malformed.INVALID_METRIC,
        HTTPStatus.BAD_REQUEST,
        "A report's metric must be the name of a metric.",
    )
    INVALID_EDITION = (
        Malformed.INVALID_EDITION,
        HTTPStatus.BAD_REQUEST,
        "A report's edition must be 12 lowercase hex digits.",
    )
    INVALID_WINDOW = (
        Malformed.INVALID_WINDOW,
        HTTPStatus.BAD_REQUEST,
        "A report's window must be a UTC day, an ISO week or a month.",
    )
    INVALID_SYMBOL = (
        Malformed.INVALID_SYMBOL,
        HTTPStatus.BAD_REQUEST,
        "A report's symbol must be an integer from 0 to 2^53 - 1.",
    )
    BODY_INCOMPLETE = "body_incomplete", HTTPStatus.BAD_REQUEST, "The body is shorter than its Content-Length."
    INVALID_QUERY = "invalid_query", HTTPStatus.BAD_REQUEST, "The query has an unknown parameter or value."
    BAD_REQUEST = "bad_request", HTTPStatus.BAD_REQUEST, "The request is not valid HTTP."
    UNAUTHORIZED = (
        "unauthorized",
        HTTPStatus.UNAUTHORIZED,
        "Send the header 'Authorization: Bearer TOKEN' with a token that allows this operation.",
        "WWW-Authenticate",
    )
    FORBIDDEN = "forbidden", HTTPStatus.FORBIDDEN, "The key does not allow this operation."
    PRELIMINARY_FORBIDDEN = (
        "preliminary_forbidden",
        HTTPStatus.FORBIDDEN,
        "The key may read closed windows only: omit preliminary=1.",
    )
    NOT_FOUND = "not_found", HTTPStatus.NOT_FOUND, "Nothing is served at this path."
    METHOD_NOT_ALLOWED = (
        "method_not_allowed",
        HTTPStatus.METHOD_NOT_ALLOWED,
        "This path does not support the method.",
        "Allow",
    )
    LENGTH_REQUIRED = (
        "length_required",
        HTTPStatus.LENGTH_REQUIRED,
        "Send the body with its Content-Length, not in chunks.",
    )
    BODY_TOO_LARGE = (
        "body_too_large",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The body is larger than the limit: split it.",
    )
    TOO_MANY_UPLOADS = (
        "too_many_uploads",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The batch has too many uploads: send the rest in another batch.",
    )
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The media type of the body is not accepted here.",
    )
    UNSUPPORTED_ENCODING = (
        "unsupported_encoding",
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The body must be sent without a content encoding.",
    )
    QUOTA_EXCEEDED = (
        "quota_exceeded",
        HTTPStatus.TOO_MANY_REQUESTS,
        (
            "The upload exceeds what is left of the key's daily quota. Nothing was counted: send the same upload "
            "again later."
        ),
        "Retry-After",
    )
    TOO_MANY_REQUESTS = (
        "too_many_requests",
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many requests from this address: send the same upload again later.",
        "Retry-After",
    )
    INTERNAL_ERROR = (
        "internal_error",
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The collector failed: send the same upload again later.",
    )
    STORE_UNAVAILABLE = (
        "store_unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The store does not answer. No upload is counted in part: send the same upload again later.",
        "Retry-After",
    )
    STORE_FULL = (
        "store_full",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The store's memory is full. Nothing was counted, and nothing is lost: send the same upload again later.",
        "Retry-After",
    )
    BODY_TOO_SLOW = (
        "body_too_slow",
        HTTPStatus.REQUEST_TIMEOUT,
        "The body arrived too slowly: send the same upload again.",
    )
    RELAY_FULL = (
        "relay_full",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The relay is full: send the same upload again later.",
        "Retry-After",
    )
    COLLECTOR_UNAVAILABLE = (
        "collector_unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        (
            "The relay or proxy got no answer from the collector. Send the same upload again later: it is counted "
            "only once."
        ),
        "Retry-After",
    )

    def __init__(self, code: str, status: HTTPStatus, sentence: str, *headers: str) -> None:
        """Store the status, the sentence, and the names of the headers."""
        self.code = str(code)
        self.status = status
        self.sentence = sentence
        self.headers = headers


BY_CODE = {problem.code: problem for problem in Problem}


class ProblemError(Exception):
    """An error for which the client receives a problem document.

    Attributes:
        detail: the problem and the remedy, for people. The default is the problem's sentence.
        headers: the values of the problem's headers, by the header's name.
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
