from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import pytest
from flask.testing import FlaskClient

from client_sdk.protocol import Window
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from collector import create_app
from collector.access import Access, AccessKey, Role, digest_of
from collector.api.batch import MAX_BULK_BYTES, MAX_BULK_UPLOADS
from collector.live_config import Served
from tests.support.services.collecting import NOON, REGISTRY, TODAY, report, tallies_of, upload
from tests.support.services.conforming import conforming_client
from tests.support.services.memory_store import MemoryStore
from tests.support.services.relaying import encode_batch

KEY = "let-me-hand-on"
READ = {"Authorization": "Bearer read"}
BULK = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/x-ndjson"}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def client(store: MemoryStore) -> FlaskClient:
    keys = (AccessKey("reader", Role.READ, digest_of("read")), AccessKey("relay", Role.RELAY, digest_of(KEY), quota=4))
    return conforming_client(create_app(lambda: Served(REGISTRY, Access(keys)), store, clock=lambda: NOON))


def answers(client: FlaskClient, body: bytes) -> list[dict[str, Any]]:
    answer = client.post("/v1/uploads", data=body, headers=BULK)
    assert (answer.status_code, answer.mimetype) == (HTTPStatus.OK, "application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def counted(client: FlaskClient, store: MemoryStore) -> dict[tuple[str, str], list[int]]:
    store.close(Window.parse(TODAY))
    return tallies_of(client.get("/v1/tallies", headers=READ).text.splitlines())


def test_a_malformed_line_gets_a_code_and_no_echo_and_the_others_are_counted(
    client: FlaskClient, store: MemoryStore
) -> None:
    sent = upload()
    body = b"\n".join((b"", b'{"CANARY":1}', sent.encode(), b"\xff", sent.encode().ljust(MAX_UPLOAD_BYTES + 1)))
    answer = client.post("/v1/uploads", data=body, headers=BULK)
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert "CANARY" not in answer.text
    assert lines.pop(2) == {"upload": sent.id, "accepted": 1, "refused": []}
    assert [(line["line"], line["status"], line["code"]) for line in lines] == [
        (1, 400, "invalid_json"),
        (2, 400, "unknown_field"),
        (4, 400, "invalid_json"),
        (5, 413, "body_too_large"),
    ]
    assert counted(client, store) == {("dark_mode", TODAY): [0, 1]}


def test_of_one_id_with_two_bodies_the_first_is_counted_and_both_get_its_verdict(
    client: FlaskClient, store: MemoryStore
) -> None:
    first, second = upload(report(), upload_id="1" * 32), upload(report("os"), report("os"), upload_id="1" * 32)
    verdict = {"upload": "1" * 32, "accepted": 1, "refused": []}
    assert answers(client, encode_batch([first, second])) == [verdict, verdict]
    assert answers(client, encode_batch([second])) == [verdict]
    assert counted(client, store) == {("dark_mode", TODAY): [0, 1]}


def test_while_the_store_is_down_every_sound_line_may_be_sent_again(client: FlaskClient, store: MemoryStore) -> None:
    store.is_down = True
    lines = answers(client, upload().encode() + b"\nnot JSON\n" + upload().encode())
    assert [(line["line"], line["status"], line["code"]) for line in lines] == [
        (1, 503, "store_unavailable"),
        (2, 400, "invalid_json"),
        (3, 503, "store_unavailable"),
    ]


def test_while_the_store_is_full_every_sound_line_may_be_sent_again(client: FlaskClient, store: MemoryStore) -> None:
    store.is_full = True
    lines = answers(client, encode_batch([upload(), upload(report("os", 9))]))
    assert [line.get("code") for line in lines] == ["store_full", None]
    assert (lines[0]["status"], lines[1]["accepted"]) == (503, 0)


def test_a_batch_of_none_is_answered_with_nothing(client: FlaskClient) -> None:
    assert answers(client, b"") == []


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"\n" * (MAX_BULK_UPLOADS + 1), "too_many_uploads"), (b" " * (MAX_BULK_BYTES + 1), "body_too_large")],
)
def test_a_batch_over_a_limit_is_refused_whole(client: FlaskClient, body: bytes, code: str) -> None:
    answer = client.post("/v1/uploads", data=body, headers=BULK)
    assert answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert json.loads(answer.text)["code"] == code


@pytest.mark.parametrize("media_type", ["application/json", "text/plain", ""])
def test_a_batch_of_another_media_type_is_refused(client: FlaskClient, media_type: str) -> None:
    answer = client.post("/v1/uploads", data=encode_batch([upload()]), headers=BULK | {"Content-Type": media_type})
    assert answer.status_code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE


@pytest.mark.parametrize(
    ("header", "status"),
    [
        *((header, HTTPStatus.UNAUTHORIZED) for header in ("", "Bearer", "Bearer wrong", f"Basic {KEY}")),
        ("Bearer read", HTTPStatus.FORBIDDEN),
    ],
)
def test_handing_on_needs_a_relay_key(client: FlaskClient, header: str, status: HTTPStatus) -> None:
    answer = client.post("/v1/uploads", data=encode_batch([upload()]), headers=BULK | {"Authorization": header})
    assert answer.status_code == status
    assert KEY not in answer.text


def test_without_a_relay_key_nobody_relays(store: MemoryStore) -> None:
    client = conforming_client(create_app(lambda: Served(REGISTRY, Access.of_token("read")), store))
    answer = client.post("/v1/uploads", data=encode_batch([upload()]), headers=BULK)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED


def test_what_exceeds_the_keys_quota_may_be_sent_again_later(client: FlaskClient, store: MemoryStore) -> None:
    large, small = upload(*[report("os")] * 5), upload()
    refused, taken = answers(client, encode_batch([large, small]))
    assert (refused["line"], refused["status"], refused["code"]) == (1, 429, "quota_exceeded")
    assert taken["accepted"] == 1
    assert counted(client, store) == {("dark_mode", TODAY): [0, 1]}
