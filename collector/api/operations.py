"""Every operation over HTTP: the one source of the routes and of the OpenAPI document.

To add one: a row here, and a handler of the row's name in `routes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from client_sdk.protocol import MAX_UPLOAD_BYTES, Malformed
from client_sdk.protocol.wire.malformed import MALFORMED_ANSWERS
from collector.api.batch import MAX_BULK_BYTES
from collector.api.headers import SNAPSHOT_TAKEN
from collector.api.problem import BY_CODE, Problem

JSON = "application/json"
NDJSON = "application/x-ndjson"
TEXT = "text/plain"


class Caller(Enum):
    """Who may call an operation: the name of the token that is asked for, and whose it is."""

    ANYONE = "", "Anyone."
    READER = "readKey", "Whoever has a read key, or the collector's read token."
    UPLOADER = "uploadKey", "Whoever has an upload key; anyone, where the collector's uploads are open."
    RELAY = "relayKey", "Whoever has a relay key."

    def __init__(self, token: str, description: str) -> None:
        """Name the parts."""
        self.token = token
        self.description = description

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What somebody else is answered."""
        return (Problem.UNAUTHORIZED, Problem.FORBIDDEN) if self.token else ()


@dataclass(frozen=True, slots=True)
class Body:
    """What a request brings.

    Attributes:
        media_type: the only one that is taken.
        schema: of the body; of NDJSON: of each line.
        most_bytes: the limit; a longer body is refused.

    """

    media_type: str
    schema: str
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Query:
    """One name that the query may have.

    Attributes:
        name: before the equals sign.
        values: all that may stand behind it.
        description: what it is for.

    """

    name: str
    values: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is no problem.

    Attributes:
        description: when, and what it means.
        media_type: of its body; none where it has no body.
        schema: of the body, of NDJSON: of each line; none where it is plain text or JSON of another standard.
        status: the HTTP status.
        headers: those that it has beside the ones of every answer.

    """

    description: str
    media_type: str | None
    schema: str | None = None
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    Attributes:
        name: of the operation and of its handler.
        method: GET or POST.
        path: from the root.
        summary: what it does, in a sentence.
        caller: who may.
        body: what the request brings, if anything.
        queries: what the query may hold.
        answers: what comes back if all is well.
        problems: what else may come back, beside the problems of every operation and of those who may not.

    """

    name: str
    method: str
    path: str
    summary: str
    caller: Caller = Caller.ANYONE
    body: Body | None = None
    queries: tuple[Query, ...] = ()
    answers: tuple[Answer, ...]
    problems: tuple[Problem, ...] = ()


PROBLEMS_OF_ALL = (
    Problem.BAD_REQUEST,
    Problem.INTERNAL_ERROR,
    Problem.TOO_MANY_REQUESTS,
    Problem.COLLECTOR_UNAVAILABLE,
)
"""What any operation may answer; the last two by the proxy that stands before a collector."""

PROBLEMS_OF_NONE = (Problem.NOT_FOUND, Problem.METHOD_NOT_ALLOWED)
"""What is answered where there is no such operation."""

_PROBLEMS_OF_A_BODY = (
    Problem.BODY_INCOMPLETE,
    Problem.LENGTH_REQUIRED,
    Problem.BODY_TOO_LARGE,
    Problem.UNSUPPORTED_MEDIA_TYPE,
    Problem.UNSUPPORTED_ENCODING,
)

_PROBLEMS_OF_AN_UPLOAD = tuple(BY_CODE[code] for code in Malformed if code not in MALFORMED_ANSWERS)

_PROBLEMS_OF_A_RELAY = (Problem.BODY_TOO_SLOW, Problem.RELAY_FULL)
"""What a relay answers too that stands in a collector's place: devices cannot tell them apart."""

OPERATIONS = (
    Operation(
        name="post_reports",
        method="POST",
        path="/v1/reports",
        summary="Count an upload exactly once and say what became of its reports.",
        caller=Caller.UPLOADER,
        body=Body(JSON, "Upload", MAX_UPLOAD_BYTES),
        answers=(
            Answer(
                "The verdict. However often an upload is sent of which something was counted, the same reports are "
                "accepted, and counted once; a refusal has the code of what holds by then. An upload of which nothing "
                "was counted is judged anew.",
                JSON,
                "Verdict",
            ),
        ),
        problems=(
            *_PROBLEMS_OF_A_BODY,
            *_PROBLEMS_OF_AN_UPLOAD,
            *_PROBLEMS_OF_A_RELAY,
            Problem.QUOTA_EXCEEDED,
            Problem.STORE_UNAVAILABLE,
            Problem.STORE_FULL,
        ),
    ),
    Operation(
        name="post_uploads",
        method="POST",
        path="/v1/uploads",
        summary="Count a batch of uploads, a line each, and say of each what became of it, in the same order.",
        caller=Caller.RELAY,
        body=Body(NDJSON, "Upload", MAX_BULK_BYTES),
        answers=(Answer("The batch was read: what became of each upload, a line each.", NDJSON, "LineAnswer"),),
        problems=(*_PROBLEMS_OF_A_BODY, Problem.TOO_MANY_UPLOADS),
    ),
    Operation(
        name="get_registry",
        method="GET",
        path="/v1/registry",
        summary="Show the definitions.",
        answers=(
            Answer("The definitions.", JSON, "Registry", headers=("ETag",)),
            Answer("They are still those of the tag in If-None-Match.", None, status=HTTPStatus.NOT_MODIFIED),
        ),
    ),
    Operation(
        name="get_tallies",
        method="GET",
        path="/v1/tallies",
        summary="Show the tallies of closed windows, a line each.",
        caller=Caller.READER,
        queries=(
            Query(
                "preliminary",
                ("0", "1"),
                f"1: add the last look at windows that are open; {SNAPSHOT_TAKEN} says when it was taken.",
            ),
        ),
        answers=(Answer("The tallies, a line each.", NDJSON, "Tally"),),
        problems=(Problem.PRELIMINARY_FORBIDDEN, Problem.INVALID_QUERY, Problem.STORE_UNAVAILABLE),
    ),
    Operation(
        name="get_openapi",
        method="GET",
        path="/v1/openapi.json",
        summary="Show this document.",
        answers=(
            Answer("This document.", JSON, headers=("ETag",)),
            Answer("It is still that of the tag in If-None-Match.", None, status=HTTPStatus.NOT_MODIFIED),
        ),
    ),
    Operation(
        name="get_healthz",
        method="GET",
        path="/healthz",
        summary="Say that the service lives.",
        answers=(Answer("It lives.", TEXT),),
    ),
    Operation(
        name="get_readyz",
        method="GET",
        path="/readyz",
        summary="Say whether the store takes uploads.",
        answers=(Answer("It does.", TEXT),),
        problems=(Problem.STORE_UNAVAILABLE, Problem.STORE_FULL),
    ),
)
