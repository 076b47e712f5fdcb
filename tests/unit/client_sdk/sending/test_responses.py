"""Decisions after an attempt: permanent or transient, and how long the collector asks to wait."""

from __future__ import annotations

import json

import pytest

from client_sdk.protocol import Refusal, Verdict
from client_sdk.sending.responses import (
    PERMANENT_STATUSES,
    Acknowledged,
    Rejected,
    Reply,
    Transient,
    explain,
    judge,
    retry_after_s,
)
from client_sdk.sending.timing import RETRY_AFTER_CEILING_S
from tests.support.core.tables import for_each
from tests.support.devices.clients import NOON

VERDICT = Verdict(2, ((1, Refusal.UNKNOWN_METRIC),))


def test_a_verdict_is_an_acknowledgement() -> None:
    assert judge(Reply(200, None, VERDICT.encode()), 2, NOON) == Acknowledged(VERDICT)


@for_each(
    "body", [b"", b"<html>please log in</html>", b"{}", b'{"accepted":2}', VERDICT.encode() + b"x", Verdict(3).encode()]
)
def test_200_without_exactly_a_verdict_comes_from_somebody_else(body: bytes) -> None:
    assert judge(Reply(200, None, body), 2, NOON) == Transient()


@for_each(
    "reply, cause",
    [
        (Reply(401, None, b"", has_key=False), "it requires a key (status 401); use a key"),
        (Reply(401, None, b""), "it does not know the key (status 401); use a key"),
        (Reply(403, None, b""), "the key has another role (status 403); use a key"),
    ],
)
def test_a_missing_key_an_unknown_key_and_a_key_of_another_role_have_a_sentence_each(reply: Reply, cause: str) -> None:
    sentence = explain(reply, judge(reply, 1, NOON))
    assert str(sentence).startswith(f"reports wait: the collector cannot be used: {cause}")


def test_no_reply_is_transient() -> None:
    assert judge(None, 2, NOON) == Transient()


def problem(**changes: object) -> bytes:
    document = {"type": "about:blank", "title": "Bad", "status": 400, "code": "invalid_json", "detail": "It is bad."}
    return json.dumps(document | changes).encode()


def test_only_what_the_collector_says_of_this_body_is_permanent() -> None:
    permanent = {
        code
        for code in range(100, 600)
        if isinstance(judge(Reply(code, None, problem(status=code)), 2, NOON), Rejected)
    }
    assert permanent == PERMANENT_STATUSES == {400, 413, 415, 422}


@for_each("code", sorted(PERMANENT_STATUSES))
@for_each(
    "body",
    [
        *(b"", b"<html><h1>413 Request Entity Too Large</h1><center>nginx</center></html>", b"\xff", b"[" * 100_000),
        *(b"null", b"[]", b"{}", b'{"message":"Bad Request"}', b'{"code":"bad_request"}', problem(status=402)),
        *(problem(status=None), problem(code=7), problem(code=None)),
    ],
)
def test_an_error_that_is_no_problem_document_comes_from_somebody_else(code: int, body: bytes) -> None:
    assert judge(Reply(code, "7", body), 2, NOON) == Transient(7.0)


@for_each("code", [201, 204, 301, 302, 307, 401, 403, 404, 405, 408, 425, 429, 500, 502, 503, 504])
def test_every_other_status_passes_and_may_name_a_wait(code: int) -> None:
    assert judge(Reply(code, "7", VERDICT.encode()), 2, NOON) == Transient(7.0)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        *((None, 0.0), ("", 0.0), ("0", 0.0), ("120", 120.0), (" 120 ", 120.0), ("3600", 3600.0)),
        *(("3601", RETRY_AFTER_CEILING_S), ("9" * 5000, RETRY_AFTER_CEILING_S), ("-5", 0.0), ("1.5", 0.0)),
        *(("soon", 0.0), ("nan", 0.0), ("٣", 0.0), ("Fri, 20 Nov 2026 12:01:30 GMT", 90.0)),
        *(("Fri, 20 Nov 2026 11:00:00 GMT", 0.0), ("Sat, 20 Nov 2027 12:00:00 GMT", RETRY_AFTER_CEILING_S)),
        ("Fri, 99 Nov 2026 12:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_date_and_clamped(header: str | None, expected: float) -> None:
    assert retry_after_s(header, NOON) == expected
