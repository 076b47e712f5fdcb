from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from client_sdk.protocol import GRACE_S, Registry, Window
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from collector import app, create_app
from collector.access import Access
from collector.config import HOUR_S
from collector.errors import StoreUnavailableError
from collector.live_config import Served
from collector.store.store_protocol import StoredTally
from tests.support.services.collecting import NOON, REGISTRY, REGISTRY_TEXT, TODAY, report, tallies_of, upload
from tests.support.services.conforming import conforming_client
from tests.support.services.memory_store import MemoryStore

TOKEN = "let-me-read"  # noqa: S105 a test's own
SERVED = Served(REGISTRY, Access.of_token(TOKEN))
READ = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json"}
PAGE = "https://app.example.com"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def client(store: MemoryStore) -> FlaskClient:
    app = create_app(lambda: SERVED, store, cors_origins=(PAGE,), clock=lambda: NOON)
    return conforming_client(app)


STOPPED_REGISTRY = Registry.parse(f'stopped = ["os:0123456789ab", "gone:ba9876543210"]\n{REGISTRY_TEXT}')
LISTED = "os:0123456789ab,gone:ba9876543210"
UPLOADS = [
    upload().encode(),
    upload(report("os", 3)).encode(),
    upload(report("os", 3, edition="0123456789ab")).encode(),
    upload(report("os", 99)).encode(),
    b"no upload",
]


@pytest.mark.parametrize("body", UPLOADS, ids=["another", "its metric", "the stopped one", "refused", "malformed"])
def test_every_upload_from_every_sender_gets_the_same_list_of_stopped_metrics(store: MemoryStore, body: bytes) -> None:
    served = Served(STOPPED_REGISTRY, Access.of_token(TOKEN))
    client = conforming_client(create_app(lambda: served, store, clock=lambda: NOON))
    for sender in ({}, {"X-Forwarded-For": "192.0.2.7", "User-Agent": "odd", "Cookie": "a=b"}, READ):
        assert client.post("/v1/reports", data=body, headers=JSON | sender).headers["Hearsay-Stopped"] == LISTED


def test_a_stop_reaches_every_answer_as_soon_as_the_registry_is_read_again_and_counts_go_on(store: MemoryStore) -> None:
    served = [SERVED]
    client = conforming_client(create_app(lambda: served[0], store, clock=lambda: NOON))
    plain = client.post("/v1/reports", data=upload().encode(), headers=JSON)
    assert "Hearsay-Stopped" not in plain.headers
    edition = REGISTRY.metric("dark_mode").edition
    served[0] = Served(Registry.parse(f'stopped = ["dark_mode:{edition}"]\n{REGISTRY_TEXT}'), SERVED.access)
    answer = client.post("/v1/reports", data=upload().encode(), headers=JSON)
    assert answer.headers["Hearsay-Stopped"] == f"dark_mode:{edition}"
    assert answer.json == plain.json == {"accepted": 1, "refused": []}
    close_today(store)
    assert tallies_of(client.get("/v1/tallies", headers=READ).text.splitlines()) == {("dark_mode", TODAY): [0, 2]}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        *(("POST", "/v1/reports", body) for body in UPLOADS),
        ("GET", "/v1/reports", b""),
        ("OPTIONS", "/v1/reports", b""),
        ("HEAD", "/", b""),
        ("GET", "/v1/tallies", b""),
        ("GET", "/v1/registry", b""),
        ("GET", "/nowhere", b""),
    ],
)
def test_the_application_answers_as_one_with_hooks_and_sessions_would(
    method: str, path: str, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered() -> tuple[int, list[tuple[str, str]], bytes]:
        client = create_app(lambda: SERVED, MemoryStore(), clock=lambda: NOON).test_client()
        answer = client.open(path, method=method, data=body, headers=JSON | READ | {"Cookie": "session=x"})
        return answer.status_code, sorted(answer.headers), answer.data

    ours = answered()
    monkeypatch.setattr(app, "Application", Flask)
    assert ours == answered()


def close_today(store: MemoryStore) -> None:
    store.close(Window.parse(TODAY))


def test_tallies_are_lines_with_metric_edition_window_reports_and_counts(
    client: FlaskClient, store: MemoryStore
) -> None:
    for symbol in (0, 1, 1):
        client.post("/v1/reports", data=upload(report(symbol=symbol)).encode(), headers=JSON)
    close_today(store)
    answer = client.get("/v1/tallies", headers=READ)
    assert answer.mimetype == "application/x-ndjson"
    assert json.loads(answer.text) == {
        "metric": "dark_mode",
        "edition": REGISTRY.metric("dark_mode").edition,
        "window": TODAY,
        "closed": True,
        "reports": 3,
        "counts": [1, 2],
    }


def test_open_windows_are_shown_only_as_a_preliminary_snapshot(client: FlaskClient) -> None:
    client.post("/v1/reports", data=upload().encode(), headers=JSON)
    assert client.get("/v1/tallies", headers=READ).text == ""
    answer = client.get("/v1/tallies?preliminary=1", headers=READ)
    line = json.loads(answer.text)
    assert (line["closed"], line["counts"]) == (False, [0, 1])
    assert answer.headers["Hearsay-Snapshot"] == "2026-11-20T12:00:00Z"
    assert "Hearsay-Snapshot" not in client.get("/v1/tallies", headers=READ).headers


@pytest.mark.parametrize(("before_close_s", "is_shown"), [(HOUR_S + 1, True), (HOUR_S, False), (1, False)])
def test_a_window_is_not_looked_at_so_late_that_its_closed_tally_would_show_what_came_after(
    store: MemoryStore, before_close_s: int, *, is_shown: bool
) -> None:
    now_s = Window.parse(TODAY).ends_at + GRACE_S - before_close_s
    client = create_app(lambda: SERVED, store, clock=lambda: now_s).test_client()
    client.post("/v1/reports", data=upload().encode(), headers=JSON)
    shown = client.get("/v1/tallies?preliminary=1", headers=READ).text
    assert bool(shown) is is_shown


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ([0] * 1023 + [5], {"symbols": [1023], "counts": [5]}),
        ([2, 0, 1] + [0] * 1021, {"symbols": [0, 2], "counts": [2, 1]}),
        ([0] * 1022 + [5], {"counts": [0] * 1022 + [5]}),
        ([0, 1] * 600, {"counts": [0, 1] * 600}),
        ([0] * 1024, {"counts": [0] * 1024}),
    ],
    ids=["one", "two", "a smaller alphabet", "half of all", "none"],
)
def test_of_a_large_alphabet_only_reported_symbols_are_listed(
    client: FlaskClient,
    store: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    counts: list[int],
    shown: dict[str, list[int]],
) -> None:
    tally = StoredTally("dark_mode", REGISTRY.metrics["dark_mode"].edition, TODAY, closed=True, counts=tuple(counts))
    monkeypatch.setattr(store, "closed_tallies", lambda _: iter([tally]))
    line = json.loads(client.get("/v1/tallies", headers=READ).text)
    assert {name: line[name] for name in ("symbols", "counts") if name in line} == shown
    assert line["reports"] == sum(counts)


def test_a_window_whose_grace_is_over_is_closed_before_tallies_are_read(store: MemoryStore) -> None:
    now = [NOON]
    client = create_app(lambda: SERVED, store, clock=lambda: now[0]).test_client()
    client.post("/v1/reports", data=upload().encode(), headers=JSON)
    now[0] += 10 * 86_400
    assert json.loads(client.get("/v1/tallies", headers=READ).text)["closed"] is True


MALFORMED = [
    (b"", "invalid_json"),
    (b"{", "invalid_json"),
    (b"[]", "invalid_type"),
    (b"{}", "missing_field"),
    (b'{"upload":"00000000000000000000000000000000","reports":[],"x":1}', "unknown_field"),
    (b'{"upload":"00000000000000000000000000000000","reports":[]}', "invalid_reports"),
    (b'{"upload":"SECRETVALUE","reports":[{}]}', "invalid_upload_id"),
]


@pytest.mark.parametrize(("body", "code"), MALFORMED)
def test_a_malformed_body_gets_a_problem_with_a_code_and_no_echo(client: FlaskClient, body: bytes, code: str) -> None:
    answer = client.post("/v1/reports", data=body, headers=JSON)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.mimetype == "application/problem+json"
    document: dict[str, Any] = json.loads(answer.text)
    assert document["code"] == code
    assert set(document) == {"type", "title", "status", "code", "detail"}
    assert "SECRETVALUE" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/jsonx"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_another_media_type_or_encoding_is_refused(client: FlaskClient, headers: dict[str, str]) -> None:
    answer = client.post("/v1/reports", data=upload().encode(), headers=headers)
    assert answer.status_code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    assert json.loads(answer.text)["code"].startswith("unsupported_")


def test_a_media_type_may_name_its_charset(client: FlaskClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert client.post("/v1/reports", data=upload().encode(), headers=headers).status_code == HTTPStatus.OK


def test_a_body_over_the_limit_is_refused(client: FlaskClient) -> None:
    answer = client.post("/v1/reports", data=b" " * (MAX_UPLOAD_BYTES + 1), headers=JSON)
    assert answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert json.loads(answer.text)["code"] == "body_too_large"


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", "Bearer \u00e9", f"Bearer {TOKEN}x"])
def test_tallies_need_the_read_token(client: FlaskClient, token: str) -> None:
    answer = client.get("/v1/tallies", headers={"Authorization": token} if token else {})
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert TOKEN not in answer.text


@pytest.mark.parametrize("query", ["preliminary=2", "preliminary=", "other=1", "preliminary=1&x=1"])
def test_an_unknown_query_is_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/v1/tallies?{query}", headers=READ).status_code == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/reports", HTTPStatus.METHOD_NOT_ALLOWED),
        ("DELETE", "/v1/tallies", HTTPStatus.METHOD_NOT_ALLOWED),
        ("GET", "/v2/reports", HTTPStatus.NOT_FOUND),
    ],
)
def test_a_wrong_method_or_path_gets_a_problem(client: FlaskClient, method: str, path: str, status: HTTPStatus) -> None:
    answer = client.open(path, method=method)
    assert answer.status_code == status
    assert json.loads(answer.text)["status"] == status
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        assert answer.headers["Allow"]


def test_slashes_are_not_merged_by_a_redirect_that_echoes_the_host(client: FlaskClient) -> None:
    answer = client.get("/v1//registry", headers={"Host": "canary.example.com"})
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert answer.mimetype == "application/problem+json"


def test_what_is_served_is_not_sniffed(client: FlaskClient) -> None:
    assert client.get("/v1/registry").headers["X-Content-Type-Options"] == "nosniff"


def test_a_store_that_dies_while_tallies_are_read_gives_an_error_and_not_a_shorter_answer(
    client: FlaskClient, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks_off(_: frozenset[str]) -> Iterator[StoredTally]:
        yield StoredTally("os", "0" * 12, TODAY, closed=True, counts=(1, 2, 3, 4))
        raise StoreUnavailableError("killed")

    monkeypatch.setattr(store, "closed_tallies", breaks_off)
    assert client.get("/v1/tallies", headers=READ).status_code == HTTPStatus.SERVICE_UNAVAILABLE


def test_the_registry_is_served_to_anyone_with_a_tag(client: FlaskClient) -> None:
    answer = client.get("/v1/registry")
    metrics = json.loads(answer.text)["metrics"]
    assert [metric["metric"] for metric in metrics] == list(REGISTRY.metrics)
    assert [metric["symbols"] for metric in metrics] == [2, 4, 2, 2]
    assert [metric["edition"] for metric in metrics] == [metric.edition for metric in REGISTRY.metrics.values()]
    unchanged = client.get("/v1/registry", headers={"If-None-Match": answer.headers["ETag"]})
    assert (unchanged.status_code, unchanged.text) == (HTTPStatus.NOT_MODIFIED, "")


def test_a_store_that_is_down_gets_503_with_retry_after_and_health_still_answers(
    client: FlaskClient, store: MemoryStore
) -> None:
    store.is_down = True
    for answer in (
        client.post("/v1/reports", data=upload().encode(), headers=JSON),
        client.get("/v1/tallies", headers=READ),
        client.get("/readyz"),
    ):
        assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert int(answer.headers["Retry-After"]) > 0
        assert json.loads(answer.text)["code"] == "store_unavailable"
    assert client.get("/healthz").status_code == HTTPStatus.OK
    store.is_down = False
    assert client.get("/readyz").status_code == HTTPStatus.OK


def test_the_root_greets_and_leads_to_the_description(client: FlaskClient) -> None:
    answer = client.get("/")
    assert (answer.status_code, answer.mimetype, answer.text.count("\n")) == (HTTPStatus.OK, "text/plain", 1)
    assert answer.text.startswith("This is a Hearsay collector")
    (path,) = (word for word in answer.text.split() if word.startswith("/"))
    assert client.get(path).json["openapi"] == "3.1.0"  # type: ignore[index] # a JSON object


def test_a_store_that_is_full_gets_503_for_uploads_alone(client: FlaskClient, store: MemoryStore) -> None:
    store.is_full = True
    for answer in (client.post("/v1/reports", data=upload().encode(), headers=JSON), client.get("/readyz")):
        assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert int(answer.headers["Retry-After"]) > 0
        assert json.loads(answer.text)["code"] == "store_full"
    assert client.get("/v1/tallies", headers=READ).status_code == HTTPStatus.OK


def test_caches_may_keep_only_the_registry_and_must_revalidate_it(client: FlaskClient) -> None:
    assert client.get("/v1/registry").headers["Cache-Control"] == "no-cache"
    for path in ("/healthz", "/readyz", "/v1/tallies", "/nothing"):
        assert client.get(path).headers["Cache-Control"] == "no-store"
    assert client.post("/v1/reports", data=upload().encode(), headers=JSON).headers["Cache-Control"] == "no-store"


def test_a_page_of_a_configured_origin_may_report(client: FlaskClient) -> None:
    preflight = client.options("/v1/reports", headers={"Origin": PAGE, "Access-Control-Request-Method": "POST"})
    assert preflight.headers["Access-Control-Allow-Origin"] == PAGE
    assert preflight.headers["Access-Control-Allow-Headers"] == "Authorization, Content-Type"
    answer = client.post("/v1/reports", data=upload().encode(), headers=JSON | {"Origin": PAGE})
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    assert answer.headers["Access-Control-Expose-Headers"] == "Retry-After"  # else a page could not wait as asked
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert int(preflight.headers["Access-Control-Max-Age"]) >= 3600
    assert "Origin" in answer.headers["Vary"]


@pytest.mark.parametrize("origin", ["https://evil.example.com", f"{PAGE}.evil.example.com", "null"])
def test_a_page_of_another_origin_may_not(client: FlaskClient, origin: str) -> None:
    answer = client.options("/v1/reports", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_bug_gets_a_problem_and_no_trace_of_the_request(
    client: FlaskClient, store: MemoryStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(store, "require_writable", fail)
    answer = client.post(
        "/v1/reports", data=upload(report("os", 3)).encode(), headers=JSON | {"User-Agent": "canary-agent"}
    )
    assert answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR
    assert json.loads(answer.text)["code"] == "internal_error"
    assert "ZeroDivisionError" in caplog.text
    assert "canary-agent" not in caplog.text
    assert "127.0.0.1" not in caplog.text
