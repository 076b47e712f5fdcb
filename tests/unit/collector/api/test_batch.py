from __future__ import annotations

import json
from http import HTTPStatus

import pytest

from client_sdk.protocol import MalformedError, Refusal, Upload, Verdict
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from collector.api.batch import (
    MAX_BULK_UPLOADS,
    LineProblem,
    UploadVerdict,
    decode_answers,
    decode_batch,
    encode_answers,
)
from collector.api.problem import Problem, ProblemError
from tests.support.core.tables import for_each
from tests.support.services.collecting import report, upload
from tests.support.services.relaying import encode_batch

FIRST, SECOND = upload(upload_id="1" * 32), upload(report("os", 3), upload_id="2" * 32)
LINE = FIRST.encode()
VERDICT = UploadVerdict(FIRST.id, Verdict(3, ((1, Refusal.WINDOW_CLOSED),)))
PROBLEM = LineProblem(2, HTTPStatus.SERVICE_UNAVAILABLE, "store_unavailable", "send it again")
IDS = [FIRST.id, SECOND.id]


def test_the_last_line_needs_no_end_and_a_line_may_end_as_on_windows() -> None:
    assert decode_batch(LINE + b"\r\n" + SECOND.encode()) == [FIRST, SECOND]


BAD_LINES = [
    (b"", HTTPStatus.BAD_REQUEST, "invalid_json"),
    (b"  ", HTTPStatus.BAD_REQUEST, "invalid_json"),
    (b'"CANARY\xff"', HTTPStatus.BAD_REQUEST, "invalid_json"),
    (b'{"upload": "CANARY", "reports": [1]}', HTTPStatus.BAD_REQUEST, "invalid_upload_id"),
    (LINE + LINE, HTTPStatus.BAD_REQUEST, "invalid_json"),
    (LINE.ljust(MAX_UPLOAD_BYTES + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large"),
    (b"[" * 50_000, HTTPStatus.BAD_REQUEST, "invalid_json"),
]


@pytest.mark.parametrize(("line", "status", "code"), BAD_LINES, ids=map(str, range(len(BAD_LINES))))
def test_a_bad_line_is_named_by_number_status_and_code_and_leaves_the_others_alone(
    line: bytes, status: HTTPStatus, code: str
) -> None:
    before, bad, after = decode_batch(b"\n".join((LINE, line, SECOND.encode(), b"")))
    assert (before, after) == (FIRST, SECOND)
    assert isinstance(bad, LineProblem)
    assert bad[:3] == (2, status, code)
    assert b"CANARY" not in encode_answers([bad])


def test_the_largest_line_is_read() -> None:
    assert decode_batch(LINE.ljust(MAX_UPLOAD_BYTES)) == [FIRST]


def test_a_thousand_lines_are_a_batch_and_one_more_is_none() -> None:
    assert len(decode_batch(b"\n" * MAX_BULK_UPLOADS)) == MAX_BULK_UPLOADS
    with pytest.raises(ProblemError) as caught:
        decode_batch(b"\n" * (MAX_BULK_UPLOADS + 1))
    assert caught.value.problem is Problem.TOO_MANY_UPLOADS


def test_answers_are_a_line_each_and_read_as_they_were_written() -> None:
    body = encode_answers([VERDICT, PROBLEM])
    assert [json.loads(line) for line in body.splitlines()] == [
        {"upload": FIRST.id, "accepted": 2, "refused": [{"index": 1, "code": "window_closed"}]},
        {"line": 2, "status": 503, "code": "store_unavailable", "detail": "send it again"},
    ]
    assert decode_answers(body, IDS) == [VERDICT, PROBLEM]
    assert decode_answers(b"", []) == []


GOOD = encode_answers([VERDICT])
LATER = encode_answers([PROBLEM])


BAD_ANSWERS = [
    *(b"", GOOD, GOOD + GOOD + LATER, GOOD + LATER[:-1], GOOD + LATER + b"\n", LATER + GOOD, GOOD + GOOD),
    *(GOOD + line + b"\n" for line in (b"", b"[]", b"null", b"{}", b"{", b"\xff", b'"x"', b"[" * 50_000)),
    GOOD + LATER.replace(b'"line":2', b'"line":1'),
    GOOD + LATER.replace(b"503", b"999"),
    GOOD + LATER.replace(b"503", b'"503"'),
    GOOD + LATER.replace(b'"store_unavailable"', b"7"),
    GOOD + LATER.replace(b"}", b',"more":1}'),
    GOOD.replace(b'"accepted":2', b'"accepted":"2"') + LATER,
    GOOD.replace(b'"accepted":2', b'"accepted":true') + LATER,
    GOOD.replace(b'"index":1', b'"index":5') + LATER,
    GOOD.replace(b"window_closed", b"no_such_code") + LATER,
    GOOD.replace(b"}\n", b',"more":1}\n') + LATER,
]


@for_each("body", BAD_ANSWERS)
def test_what_does_not_answer_exactly_what_was_sent_is_an_error(body: bytes) -> None:
    with pytest.raises(MalformedError):
        decode_answers(body, IDS)


def test_a_batch_of_the_largest_uploads_is_read() -> None:
    large = Upload("3" * 32, tuple(report("os", 3) for _ in range(256)))
    assert decode_batch(encode_batch([large] * 40)) == [large] * 40
