"""Keys over HTTP: what they open, and which headers every answer has for browsers."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from flask.testing import FlaskClient

from client_sdk.protocol import Registry, Window
from collector import create_app
from collector.access import Access, parse_access
from collector.live_config import Served
from tests.support.services.collecting import (
    NOON,
    REGISTRY,
    REGISTRY_TEXT,
    TODAY,
    key_entry,
    report,
    tallies_of,
    upload,
)
from tests.support.services.conforming import conforming_client
from tests.support.services.memory_store import MemoryStore

UPLOAD, READ, NARROW, RELAY = "secret-upload", "secret-read", "secret-narrow", "secret-relay"
ACCESS = parse_access(
    key_entry("app", "upload", UPLOAD)
    + key_entry("all", "read", READ, "preliminary = true")
    + key_entry("some", "read", NARROW, 'metrics = ["os"]')
    + key_entry("edge", "relay", RELAY)
)
WITHOUT_OLD = REGISTRY_TEXT.partition("[metric.old]")[0]
JSON = {"Content-Type": "application/json"}


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def states() -> list[Served]:
    return [Served(REGISTRY, ACCESS)]


@pytest.fixture
def client(states: list[Served], store: MemoryStore) -> FlaskClient:
    return conforming_client(create_app(lambda: states[-1], store, clock=lambda: NOON))


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, HTTPStatus.UNAUTHORIZED, "unauthorized"),
        (bearer("wrong"), HTTPStatus.UNAUTHORIZED, "unauthorized"),
        (bearer("\u00e9"), HTTPStatus.UNAUTHORIZED, "unauthorized"),
        ({"Authorization": f"Basic {UPLOAD}"}, HTTPStatus.UNAUTHORIZED, "unauthorized"),
        (bearer(READ), HTTPStatus.FORBIDDEN, "forbidden"),
        (bearer(RELAY), HTTPStatus.FORBIDDEN, "forbidden"),
    ],
)
def test_where_there_is_an_upload_key_reports_need_one(
    client: FlaskClient, store: MemoryStore, headers: dict[str, str], status: HTTPStatus, code: str
) -> None:
    answer = client.post("/v1/reports", data=upload().encode(), headers=JSON | headers)
    assert (answer.status_code, json.loads(answer.text)["code"]) == (status, code)
    assert ("WWW-Authenticate" in answer.headers) is (status == HTTPStatus.UNAUTHORIZED)
    assert not any(secret in answer.text for secret in (UPLOAD, READ, RELAY, "wrong"))
    assert store.tallied_windows() == frozenset()


def test_a_missing_key_a_wrong_key_and_a_key_of_another_role_are_told_apart(client: FlaskClient) -> None:
    def detail(headers: dict[str, str]) -> str:
        said: str = json.loads(client.post("/v1/reports", data=b"", headers=JSON | headers).text)["detail"]
        return said

    needs = "and reporting here requires an upload key: send"
    assert detail({}) == f"no key was sent, {needs} the header 'Authorization: Bearer SECRET'"
    assert detail(bearer("wrong")) == f"the key that was sent is unknown, {needs} the secret of one"
    assert detail(bearer(READ)) == f"the key that was sent has another role, {needs} one"
    answer = client.post("/v1/reports", data=b"", headers=JSON | bearer(UPLOAD))
    assert (answer.status_code, answer.json and answer.json["code"]) == (400, "invalid_json")


def test_a_key_with_a_used_up_quota_gets_the_time_to_retry(store: MemoryStore) -> None:
    now = [Window.parse(TODAY).ends_at - 600.0]
    served = Served(REGISTRY, parse_access(key_entry("app", "upload", UPLOAD, "quota = 3")))
    client = conforming_client(create_app(lambda: served, store, clock=lambda: now[0]))
    first, over = upload(report(), report("os", 9), report("os", 2)), upload(report(), report("os", 2))
    for sent, status in ((first, 200), (first, 200), (over, 429), (upload(), 200), (upload(), 429)):
        answer = client.post("/v1/reports", data=sent.encode(), headers=JSON | bearer(UPLOAD))
        assert answer.status_code == status
    assert (json.loads(answer.text)["code"], answer.headers["Retry-After"]) == ("quota_exceeded", "601")
    now[0] -= 12 * 3600
    answer = client.post("/v1/reports", data=over.encode(), headers=JSON | bearer(UPLOAD))
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "3600")
    now[0] += 12 * 3600 + 601
    answer = client.post("/v1/reports", data=over.encode(), headers=JSON | bearer(UPLOAD))
    assert (answer.status_code, answer.json) == (200, {"accepted": 2, "refused": []})


def test_a_key_for_named_metrics_gets_only_their_tallies(client: FlaskClient, store: MemoryStore) -> None:
    sent = upload(report(), report("os", 2))
    client.post("/v1/reports", data=sent.encode(), headers=JSON | bearer(UPLOAD))
    store.close(Window.parse(TODAY))
    read = {
        secret: tallies_of(client.get("/v1/tallies", headers=bearer(secret)).text.splitlines())
        for secret in (READ, NARROW)
    }
    assert set(read[READ]) == {("dark_mode", TODAY), ("os", TODAY)}
    assert read[NARROW] == {("os", TODAY): [0, 0, 1, 0]}


def test_open_windows_need_a_key_that_may_look_at_them(client: FlaskClient) -> None:
    client.post("/v1/reports", data=upload().encode(), headers=JSON | bearer(UPLOAD))
    refused = client.get("/v1/tallies?preliminary=1", headers=bearer(NARROW))
    assert (refused.status_code, json.loads(refused.text)["code"]) == (HTTPStatus.FORBIDDEN, "preliminary_forbidden")
    assert client.get("/v1/tallies?preliminary=1", headers=bearer(READ)).text != ""
    assert client.get("/v1/tallies", headers=bearer(NARROW)).status_code == HTTPStatus.OK


@pytest.mark.parametrize("secret", [UPLOAD, RELAY])
def test_a_key_for_something_else_reads_nothing(client: FlaskClient, secret: str) -> None:
    assert client.get("/v1/tallies", headers=bearer(secret)).status_code == HTTPStatus.FORBIDDEN


def test_keys_and_definitions_change_from_one_request_to_the_next(client: FlaskClient, states: list[Served]) -> None:
    before = client.get("/v1/registry").headers["ETag"]
    states.append(Served(Registry.parse(WITHOUT_OLD), Access.of_token("another")))
    assert client.get("/v1/tallies", headers=bearer(READ)).status_code == HTTPStatus.UNAUTHORIZED
    assert client.get("/v1/tallies", headers=bearer("another")).status_code == HTTPStatus.OK
    assert client.post("/v1/reports", data=upload().encode(), headers=JSON).status_code == HTTPStatus.OK
    assert client.get("/v1/registry").headers["ETag"] != before


def test_every_answer_of_every_route_says_what_a_browser_may_do_with_it(
    client: FlaskClient, store: MemoryStore
) -> None:
    paths = {rule.rule for rule in client.application.url_map.iter_rules()} | {"/nothing"}
    assert len(paths) > 4
    for down in (False, True):
        store.is_down = down
        for path in paths:
            for method in ("GET", "POST", "OPTIONS", "DELETE"):
                answer = client.open(path, method=method, headers=bearer(READ))
                headers = {name: answer.headers.getlist(name) for name, _ in answer.headers}
                assert headers["X-Content-Type-Options"] == ["nosniff"], path
                assert headers["Content-Security-Policy"] == ["default-src 'none'; frame-ancestors 'none'"], path
                assert headers["Referrer-Policy"] == ["no-referrer"], path
                assert headers["Cross-Origin-Resource-Policy"] == ["same-origin"], path
                assert headers["Server"] == ["hearsay"], path
                assert len(headers["Cache-Control"]) == 1, path
                assert "Set-Cookie" not in headers, path
