"""Batches of uploads that a relay sends to a collector, as NDJSON. This module does no IO.

A request contains one upload per line. The response contains one line per upload, in the same
order. A response line contains either a problem, or a verdict and the upload's id. It repeats no
other part of the upload.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple, TypeAlias

from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES, read_upload
from client_sdk.protocol.wire.report import Upload
from client_sdk.protocol.wire.strict_json import Malformed, MalformedError
from client_sdk.protocol.wire.verdict import Verdict
from collector.api.problem import BY_CODE, Problem, ProblemError

MAX_BULK_BYTES = 1_048_576
"""The maximum size of a batch in bytes.

Either 15 uploads of maximum size or 1,000 uploads of usual size fit into a batch.
"""

MAX_BULK_UPLOADS = 1000
"""The maximum number of uploads in a batch.

A worker counts a batch of this size in a few hundredths of a second.
"""

MAX_ANSWER_BYTES = 12_288 * MAX_BULK_UPLOADS
"""The maximum size, in bytes, of the response to a batch.

An upload has at most 256 reports, and a verdict that refuses all of them takes less than 12 KiB.
"""


class LineProblem(NamedTuple):
    """The reason why a line of a batch has no verdict.

    Attributes:
        line: the number of the line in the batch, counted from 1.
        status: the HTTP status that ``POST /v1/reports`` would have returned. If the status is 503,
            the client may send the same upload again.
        code: a stable code, for programs.
        detail: the problem and the remedy, for people.
    """

    line: int
    status: HTTPStatus
    code: str
    detail: str


class UploadVerdict(NamedTuple):
    """The verdict on one upload of a batch, and the upload's id."""

    upload: str
    verdict: Verdict


LineAnswer: TypeAlias = UploadVerdict | LineProblem
"""The response to one line of a batch."""


def decode_batch(body: bytes) -> list[Upload | LineProblem]:
    """Parse a batch line by line. A malformed line becomes a `LineProblem`.

    Raises:
        ProblemError: 413 if there are too many lines.
    """
    lines = body.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if len(lines) > MAX_BULK_UPLOADS:
        raise ProblemError(
            Problem.TOO_MANY_UPLOADS,
            f"send at most {MAX_BULK_UPLOADS} uploads in a batch, one per line; send the rest in another batch",
        )
    return [_decode_line(number, line) for number, line in enumerate(lines, 1)]


def _decode_line(number: int, line: bytes) -> Upload | LineProblem:
    if len(line) > MAX_UPLOAD_BYTES:
        return _line_problem(number, Problem.BODY_TOO_LARGE, f"an upload may have at most {MAX_UPLOAD_BYTES} bytes")
    try:
        return read_upload(line)
    except MalformedError as error:
        return _line_problem(number, BY_CODE[error.code], str(error))


def _line_problem(number: int, problem: Problem, detail: str) -> LineProblem:
    return LineProblem(number, problem.status, problem.code, detail)


def encode_answers(answers: Sequence[LineAnswer]) -> bytes:
    """Return the body of the response to a batch."""
    return b"".join(map(_encode_answer, answers))


def _encode_answer(answer: LineAnswer) -> bytes:
    if isinstance(answer, LineProblem):
        return json.dumps(answer._asdict(), separators=(",", ":")).encode() + b"\n"
    return _answer_head(answer.upload) + answer.verdict.encode()[1:] + b"\n"


def _answer_head(upload: str) -> bytes:
    return b'{"upload":"%s",' % upload.encode()


def decode_answers(body: bytes, sent: Sequence[str]) -> list[LineAnswer]:
    """Parse the response to a batch. ``sent`` contains the ids of the uploads in the batch.

    Raises:
        MalformedError: if the response does not have exactly one line per upload, in the order of
            ``sent``.
    """
    lines = body.split(b"\n")
    if lines.pop() or len(lines) != len(sent):
        raise MalformedError(Malformed.INVALID_ANSWERS, "body", f"must have {len(sent)} complete lines")
    return [
        _decode_answer(number, line, upload) for number, (line, upload) in enumerate(zip(lines, sent, strict=True), 1)
    ]


def _decode_answer(number: int, line: bytes, upload: str) -> LineAnswer:
    head = _answer_head(upload)
    try:
        if line.startswith(head):
            return UploadVerdict(upload, _decode_verdict(b"{" + line.removeprefix(head)))
        problem = LineProblem(**json.loads(line))
        if (problem.line, type(problem.code), type(problem.detail)) == (number, str, str):
            return problem._replace(status=HTTPStatus(problem.status))
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise MalformedError(
        Malformed.INVALID_ANSWERS, f"line {number}", "must be the answer to the upload on the same line"
    )


def _decode_verdict(body: bytes) -> Verdict:
    """Parse a verdict.

    If the store remembers the upload's id, the verdict is that of an earlier upload with this id.
    The number of reports in that upload may differ, so it is not checked.
    """
    document = json.loads(body)
    return Verdict.decode(body, document["accepted"] + len(document["refused"]))
