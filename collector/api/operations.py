"""Every operation over HTTP: the source of the OpenAPI document.

To add one, add it here and a handler of the same name to `collector.http.routes`. A test compares
the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from client_sdk.protocol.wire.malformed import MALFORMED_REPLIES, Malformed
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from client_sdk.protocol.wire.stopped import STOPPED
from collector.api.batch import MAX_BULK_BYTES
from collector.api.headers import SNAPSHOT_TAKEN
from collector.api.problem import BY_CODE, Problem

JSON = "application/json"
NDJSON = "application/x-ndjson"
TEXT = "text/plain"


class Caller(Enum):
    """Who may call an operation: the name of the required token, and who has it."""

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
        """What everybody else gets."""
        return (Problem.UNAUTHORIZED, Problem.FORBIDDEN) if self.token else ()


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body of a request.

    Attributes:
        media_type: the only accepted one.
        schema: name of the schema of the body; for NDJSON, of each line.
        max_bytes: the limit; a longer body is refused.

    """

    media_type: str
    schema: str
    max_bytes: int


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of the query.

    Attributes:
        name: before the equals sign.
        values: all allowed values.
        description: what it does.

    """

    name: str
    values: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Success:
    """A response that is not a problem.

    Attributes:
        description: when it is sent, and what it means.
        media_type: of its body; None if it has no body.
        schema: name of the schema of the body, for NDJSON of each line. None for plain text and for
            JSON of another standard.
        status: the HTTP status.
        headers: its headers besides those of every response.

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
        caller: who may call it.
        body: the request's body, or None.
        queries: the parameters that the query may have.
        successes: the responses if all is well.
        problems: its other responses. The problems of every operation and of a missing key are not
            repeated here.

    """

    name: str
    method: str
    path: str
    summary: str
    caller: Caller = Caller.ANYONE
    body: RequestBody | None = None
    queries: tuple[QueryParameter, ...] = ()
    successes: tuple[Success, ...]
    problems: tuple[Problem, ...] = ()


PROBLEMS_OF_ALL = (
    Problem.BAD_REQUEST,
    Problem.INTERNAL_ERROR,
    Problem.TOO_MANY_REQUESTS,
    Problem.COLLECTOR_UNAVAILABLE,
)
"""Problems of any operation. The last two come from a proxy in front of the collector."""

PROBLEMS_OF_NONE = (Problem.NOT_FOUND, Problem.METHOD_NOT_ALLOWED)
"""Problems of requests that match no operation."""

_PROBLEMS_OF_A_BODY = (
    Problem.BODY_INCOMPLETE,
    Problem.LENGTH_REQUIRED,
    Problem.BODY_TOO_LARGE,
    Problem.UNSUPPORTED_MEDIA_TYPE,
    Problem.UNSUPPORTED_ENCODING,
)

_PROBLEMS_OF_AN_UPLOAD = tuple(BY_CODE[code] for code in Malformed if code not in MALFORMED_REPLIES)

_PROBLEMS_OF_A_RELAY = (Problem.BODY_TOO_SLOW, Problem.RELAY_FULL)
"""Further problems of a relay in a collector's place: devices cannot tell the two apart."""

OPERATIONS = (
    Operation(
        name="get_root",
        method="GET",
        path="/",
        summary="Say what this is, and where its operations are described.",
        successes=(Success("A line for people.", TEXT),),
    ),
    Operation(
        name="post_reports",
        method="POST",
        path="/v1/reports",
        summary="Count an upload exactly once and say what became of its reports.",
        caller=Caller.UPLOADER,
        body=RequestBody(JSON, "Upload", MAX_UPLOAD_BYTES),
        successes=(
            Success(
                "The verdict. If any report of an upload was counted, the upload may be sent again any number of "
                "times: the same reports are accepted, and counted once; a refusal has the code that applies now. An "
                "upload of which nothing was counted is judged again. Where questions are stopped, every response "
                f"lists them in {STOPPED}.",
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
        summary="Count a batch of uploads, one per line, and say what became of each, in the same order.",
        caller=Caller.RELAY,
        body=RequestBody(NDJSON, "Upload", MAX_BULK_BYTES),
        successes=(Success("The batch was read: what became of each upload, one per line.", NDJSON, "LineAnswer"),),
        problems=(*_PROBLEMS_OF_A_BODY, Problem.TOO_MANY_UPLOADS),
    ),
    Operation(
        name="get_registry",
        method="GET",
        path="/v1/registry",
        summary="Show the definitions, and which questions are stopped.",
        successes=(
            Success("The definitions.", JSON, "Registry", headers=("ETag",)),
            Success("They are still those of the ETag in If-None-Match.", None, status=HTTPStatus.NOT_MODIFIED),
        ),
    ),
    Operation(
        name="get_tallies",
        method="GET",
        path="/v1/tallies",
        summary="Show the tallies of closed windows, one per line.",
        caller=Caller.READER,
        queries=(
            QueryParameter(
                "preliminary",
                ("0", "1"),
                f"1: add the last look at open windows; {SNAPSHOT_TAKEN} says when it was taken.",
            ),
        ),
        successes=(Success("The tallies, one per line.", NDJSON, "Tally"),),
        problems=(Problem.PRELIMINARY_FORBIDDEN, Problem.INVALID_QUERY, Problem.STORE_UNAVAILABLE),
    ),
    Operation(
        name="get_openapi",
        method="GET",
        path="/v1/openapi.json",
        summary="Show this document.",
        successes=(
            Success("This document.", JSON, headers=("ETag",)),
            Success("It is still the one of the ETag in If-None-Match.", None, status=HTTPStatus.NOT_MODIFIED),
        ),
    ),
    Operation(
        name="get_healthz",
        method="GET",
        path="/healthz",
        summary="Say that the service lives.",
        successes=(Success("It lives.", TEXT),),
    ),
    Operation(
        name="get_readyz",
        method="GET",
        path="/readyz",
        summary="Say whether the store takes uploads.",
        successes=(Success("It does.", TEXT),),
        problems=(Problem.STORE_UNAVAILABLE, Problem.STORE_FULL),
    ),
)
