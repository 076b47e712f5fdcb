"""The collector behind the real nginx, with the shipped configuration."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from threading import Thread

import pytest

from client_sdk import Recorded, Registry, Telemetry
from client_sdk.protocol import Upload, Window, WindowKind
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from client_sdk.sending.responses import Reply, Transient, judge
from collector.api.messages import NOT_CACHED
from collector.api.problem import Problem, ProblemError
from tests.support.services.collecting import REGISTRY_TEXT, report, upload
from tests.support.services.living_files import bytes_below
from tests.support.services.processes import RunningCollector, running_collector, wait_until
from tests.support.services.proxy import Answer, Proxy, another_address, running_proxy
from tests.support.services.tls import Certificates
from tests.support.services.wire import chunked, raw_answer, tallies, with_length

pytestmark = pytest.mark.system

SLOW_SENDERS = 100
QUICK_SENDERS = 20
TAKEN = 64
"""Concurrent requests to one collector, by `max_conns`."""

CANARY_ADDRESS = "127.203.113.77"
CANARY_AGENT = "canary-of-an-agent"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def registry_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("registry") / "metrics.toml"
    path.write_text(REGISTRY_TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def collector(registry_file: Path) -> Iterator[RunningCollector]:
    with running_collector(registry_file, registry_file.parent / "data") as running:
        yield running


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.issued_in(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def proxy(collector: RunningCollector, certificates: Certificates) -> Iterator[Proxy]:
    with running_proxy([collector.url], certificates) as running:
        yield running


def small_upload(metric: str = "os", symbol: int = 1) -> Upload:
    return upload(report(metric, symbol, Window.at(WindowKind.DAY, time.time()).text))


def first_refusal(answers: Iterator[Answer]) -> Answer:
    return next(answer for answer in islice(answers, 900) if answer[0] == HTTPStatus.TOO_MANY_REQUESTS)


def test_a_real_device_reports_through_tls_and_to_nobody_whose_certificate_it_cannot_check(
    proxy: Proxy, registry_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry.load(registry_file)
    with Telemetry(registry, collector=proxy.url, data_dir=tmp_path / "app", consent=True) as telemetry:
        assert telemetry.record("dark_mode", value=True) is Recorded.QUEUED
        assert not telemetry.flush(timeout_s=1)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(proxy.authority))
        assert telemetry.flush(timeout_s=30)


def test_a_hundred_slow_senders_block_nobody_and_truncated_uploads_are_not_counted(
    registry_file: Path, tmp_path: Path, certificates: Certificates
) -> None:
    with (
        running_collector(registry_file, tmp_path / "data") as collector,
        running_proxy([collector.url], certificates) as proxy,
        contextlib.ExitStack() as slow_ones,
    ):
        whole = with_length(small_upload().encode())
        for number in range(SLOW_SENDERS):
            slow = slow_ones.enter_context(proxy.connection(another_address()))
            # half of them drip their heads, the others their bodies
            slow.sendall(whole[:20] if number % 2 else whole[:-20])
        last = small_upload()
        with proxy.connection(another_address()) as gone:  # before it is answered: it sends again
            gone.sendall(with_length(last.encode()))
        for sent in (last, *(small_upload() for _ in range(QUICK_SENDERS))):
            assert proxy.post("", sent) == (200, {"accepted": 1, "refused": []})
        slow_ones.close()
        assert [sum(tally["counts"]) for tally in tallies(collector.url, "?preliminary=1")] == [1 + QUICK_SENDERS]


def test_more_than_a_collector_can_take_gets_503_at_once_and_the_others_are_answered(
    registry_file: Path, tmp_path: Path, certificates: Certificates
) -> None:
    with (
        running_collector(registry_file, tmp_path / "data") as collector,
        running_proxy([collector.url], certificates) as proxy,
    ):
        worker, answers = collector.worker_pids()[0], Counter[int]()
        devices = [
            Thread(target=lambda: answers.update([proxy.post("", small_upload())[0]])) for _ in range(TAKEN + 10)
        ]
        os.kill(worker, signal.SIGSTOP)
        try:
            for device in devices:
                device.start()
            wait_until(lambda: answers == {503: 10}, what="refusals")
        finally:
            os.kill(worker, signal.SIGCONT)
        for device in devices:
            device.join()
        assert answers == {200: TAKEN, 503: 10}


def test_what_is_refused_at_the_edge_is_understood_by_the_sdk(proxy: Proxy) -> None:
    status, headers, body = proxy.ask(
        "POST", "/v1/reports", bytes(MAX_UPLOAD_BYTES + 1), address=another_address(), headers=JSON
    )
    assert (status, headers["Content-Type"], json.loads(body)["code"]) == (
        413,
        "application/problem+json",
        "body_too_large",
    )
    answers = proxy.answers("POST", "/v1/reports", small_upload().encode(), address=another_address(), headers=JSON)
    assert next(answers)[0] == HTTPStatus.OK
    status, headers, body = first_refusal(answers)
    assert json.loads(body)["code"] == "too_many_requests"
    assert judge(Reply(status, headers["Retry-After"], body), 1, time.time()) == Transient(10.0)


def test_without_a_collector_there_is_a_503_that_says_when_to_come_again(certificates: Certificates) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with running_proxy([f"http://127.0.0.1:{nobody.getsockname()[1]}"], certificates) as proxy:
            status, headers, body = proxy.ask("POST", "/v1/reports", b"{}", address=another_address(), headers=JSON)
    assert (status, json.loads(body)["code"]) == (503, "collector_unavailable")
    assert judge(Reply(status, headers["Retry-After"], body), 1, time.time()) == Transient(5.0)


NO_HTTP = (
    b"NONSENSE\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n" % (b"a" * 9_000),
    b"GET / HTTP/1.1\r\nHost: a\r\nCookie: %s\r\n\r\n" % (b"a" * 9_000),
    b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Length: ten\r\n\r\n",
    b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: strange\r\n\r\n",
)


@contextlib.contextmanager
def plain_to_tls(proxy: Proxy, address: str) -> Iterator[Answer]:
    """Yield the answer to a request without TLS at the port of TLS."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        yield answer.status, dict(answer.headers), answer.read()


@contextlib.contextmanager
def unanswering(*, silent: bool) -> Iterator[str]:
    """Yield the address of a server that takes connections and says nothing, or of none."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if silent:
            listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_what_nginx_answers_by_itself_is_as_the_collector_would_say_it_and_any_page_may_read_it(
    proxy: Proxy, certificates: Certificates
) -> None:
    asking = JSON | {"Origin": "https://app.example.com"}
    large = bytes(MAX_UPLOAD_BYTES + 1)
    answers = [
        (Problem.NOT_FOUND, proxy.ask("GET", "/nothing", address=another_address(), headers=asking)),
        (Problem.BODY_TOO_LARGE, proxy.ask("POST", "/v1/reports", large, address=another_address(), headers=asking)),
        (
            Problem.TOO_MANY_REQUESTS,
            first_refusal(proxy.answers("GET", "/healthz", address=another_address(), headers=asking)),
        ),
        *((Problem.BAD_REQUEST, proxy.raw_answer(request, address=another_address())) for request in NO_HTTP),
    ]
    with plain_to_tls(proxy, another_address()) as answer:
        answers.append((Problem.BAD_REQUEST, answer))
    for silent in (False, True):  # what nginx calls 502 and 504
        with unanswering(silent=silent) as url, running_proxy([url], certificates, read_timeout="1s") as alone:
            answer = alone.ask("POST", "/v1/reports", b"{}", address=another_address(), headers=asking)
            answers.append((Problem.COLLECTOR_UNAVAILABLE, answer))
    for problem, (status, headers, body) in answers:
        expected = ProblemError(problem).response()
        assert (status, json.loads(body)) == (expected.status_code, expected.json)
        assert {name: headers[name] for name, _ in NOT_CACHED if name != "Server"} == {
            name: value for name, value in NOT_CACHED if name != "Server"
        }
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert headers["Access-Control-Expose-Headers"] == "Retry-After"
        assert ("Retry-After" in headers) is ("Retry-After" in problem.headers)
    _, headers, _ = proxy.ask("GET", "/healthz", address=another_address(), headers=asking)
    passed_on = {name.lower(): value for name, value in headers.items()}
    assert all(passed_on[name.lower()] == value for name, value in NOT_CACHED if name != "Server")
    assert "access-control-allow-origin" not in passed_on


def test_chunks_count_through_the_proxy_once_the_last_one_has_come_and_not_before(
    proxy: Proxy, collector: RunningCollector
) -> None:
    def status(request: bytes) -> int:
        with proxy.connection(another_address()) as connection:
            connection.sendall(request)
            if not request.endswith(b"0\r\n\r\n"):
                socket.socket.shutdown(connection, socket.SHUT_WR)  # no more comes
            answer = http.client.HTTPResponse(connection)
            try:
                answer.begin()
            except (http.client.HTTPException, OSError):
                return 0
            return answer.status

    whole = chunked(small_upload().encode())
    assert raw_answer(collector.url, whole)[0] == 411
    assert status(whole) == 200  # the head continues with its length
    for missing in (b"0\r\n\r\n", b"\r\n"):
        assert status(whole.removesuffix(missing)) in (0, 400)


def test_only_what_devices_and_jobs_need_is_served(proxy: Proxy) -> None:
    def status(path: str) -> int:
        return proxy.ask("GET", path, address=another_address())[0]

    assert [status(path) for path in ("/healthz", "/readyz", "/v1/registry", "/v1/openapi.json")] == [200] * 4
    assert [status(path) for path in ("/metrics", "/", "/v1/nothing")] == [404] * 3
    assert status("/v1/tallies") == 401


def test_neither_proxy_nor_collector_keeps_an_address_or_an_agent(proxy: Proxy, collector: RunningCollector) -> None:
    for body in (small_upload().encode(), b"{", bytes(MAX_UPLOAD_BYTES + 1)):
        headers = JSON | {"User-Agent": CANARY_AGENT, "X-Forwarded-For": CANARY_AGENT, "Cookie": CANARY_AGENT}
        proxy.ask("POST", "/v1/reports", body, address=CANARY_ADDRESS, headers=headers)
    first_refusal(proxy.answers("GET", "/healthz", address=CANARY_ADDRESS, headers={"User-Agent": CANARY_AGENT}))
    with socket.create_connection(("127.0.0.1", proxy.port), 30.0, (CANARY_ADDRESS, 0)) as no_tls:
        no_tls.sendall(b"\x16\x03\x01\x00\x05hello")
        no_tls.recv(100)
    with (
        pytest.raises(ssl.SSLError),
        ssl.create_default_context().wrap_socket(
            socket.create_connection(("127.0.0.1", proxy.port), 30.0, (CANARY_ADDRESS, 0)), server_hostname="127.0.0.1"
        ),
    ):
        pass
    kept = (bytes_below(proxy.folder), bytes_below(collector.data_dir), collector.output.read_bytes())
    for canary in (CANARY_ADDRESS, CANARY_AGENT):
        assert not any(canary.encode() in part for part in kept), canary
    assert proxy.said == ""
