from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

import pytest

from client_sdk.protocol import Upload, Verdict
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from client_sdk.protocol.wire.verdict import MetricEdition
from collector import create_app
from collector.access import Access
from collector.api.batch import LineProblem, UploadVerdict, decode_batch, encode_answers
from collector.live_config import Served
from collector.relay.app import Arrivals, RelayApp, Room
from collector.relay.forward import CollectorUnavailableError
from collector.relay.mixer import Mixer
from tests.support.services.collecting import NOON, REGISTRY, report, upload
from tests.support.services.memory_store import MemoryStore

JSON = {"content-type": "application/json"}


class RelayResponse(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Collector:
    """Counts everything by default, and records what it was sent."""

    def __init__(self, answer: Callable[[Upload], UploadVerdict | LineProblem] | None = None) -> None:
        self.sent: list[bytes] = []
        self._answer = answer or (lambda sent: UploadVerdict(sent.id, Verdict(len(sent.reports))))

    def post(self, body: bytes) -> bytes:
        self.sent.append(body)
        lines = [self._answer(line) for line in decode_batch(body) if isinstance(line, Upload)]
        return encode_answers(lines)


ANNOUNCED = JSON | {"content-length": str(MAX_UPLOAD_BYTES)}


def relay(
    collector: Collector,
    room: Room | None = None,
    arrivals: Arrivals | None = None,
    stopped: Callable[[], tuple[MetricEdition, ...]] = tuple,
) -> RelayApp:
    mixer = Mixer(collector.post, gather_s=0.001, uniform=lambda low, _: low, permute=lambda n: list(range(n)))
    return RelayApp(mixer, room or Room(10), arrivals, stopped)


async def ask(
    app: RelayApp,
    body: bytes | list[dict[str, Any]] = b"",
    headers: dict[str, str] | None = None,
    method: str = "POST",
    path: str = "/v1/reports",
) -> RelayResponse:
    """Send a request and return the answer. The body may be a list of server events."""
    events = [{"type": "http.request", "body": body}] if isinstance(body, bytes) else list(body)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not events:
            await asyncio.Event().wait()
        return events.pop(0)

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    named = [(name.encode(), value.encode()) for name, value in (JSON if headers is None else headers).items()]
    await app({"method": method, "path": path, "headers": named}, receive, send)
    start, content = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return RelayResponse(start["status"], headers, content["body"])


def answer_of(app: RelayApp, *arguments: Any, **options: Any) -> RelayResponse:
    return asyncio.run(ask(app, *arguments, **options))


def test_every_answer_lists_the_stops_that_the_relay_has_now_whatever_was_asked() -> None:
    stops: list[tuple[MetricEdition, ...]] = [()]
    app = relay(Collector(), stopped=lambda: stops[0])
    assert "hearsay-stopped" not in answer_of(app, upload().encode()).headers
    stops[0] = (("os", "0123456789ab"), ("dark_mode", "ba9876543210"))
    listed = "os:0123456789ab,dark_mode:ba9876543210"
    assert answer_of(app, upload().encode()).headers["hearsay-stopped"] == listed
    assert answer_of(app, b"no upload").headers["hearsay-stopped"] == listed
    assert answer_of(app, method="GET", path="/healthz").headers["hearsay-stopped"] == listed


def test_only_the_upload_is_sent_on_as_if_all_devices_wrote_alike() -> None:
    sent = upload(report("os", 3))
    document = json.loads(sent.encode())
    odd = json.dumps(dict(reversed(document.items())), indent=3).replace('"os"', '"\\u006fs"').encode() + b" \n\t"
    canaries = {"user-agent": "CANARY", "x-forwarded-for": "CANARY", "authorization": "CANARY", "cookie": "CANARY"}
    collector = Collector()
    assert answer_of(relay(collector), odd, JSON | canaries).status == HTTPStatus.OK
    assert collector.sent == [sent.encode() + b"\n"]


BODIES = [
    *(b"", b"{", b"[]", b"{}", b"\xff", b"null", b"[" * 50_000),
    b'{"upload":"00000000000000000000000000000000","reports":[],"x":1}',
    b'{"upload":"00000000000000000000000000000000","reports":[]}',
    b'{"upload":"SECRETVALUE","reports":[{}]}',
    upload(report(), report(window="2026-W99")).encode(),
    b" " * (MAX_UPLOAD_BYTES + 1),
    upload(report()).encode(),
    upload(report()).encode().ljust(MAX_UPLOAD_BYTES),
]
HEADERS = [
    JSON,
    {},
    {"content-type": "text/plain"},
    {"content-type": "Application/JSON; charset=utf-8"},
    JSON | {"content-encoding": "gzip"},
]


@pytest.mark.parametrize("headers", HEADERS)
def test_a_device_is_answered_as_by_the_collector_whatever_it_sends(headers: dict[str, str]) -> None:
    client = create_app(
        lambda: Served(REGISTRY, Access.of_token("read")), MemoryStore(), clock=lambda: NOON
    ).test_client()
    for body in BODIES:
        direct = client.post("/v1/reports", data=body, headers=headers)
        through = answer_of(relay(Collector()), body, headers)
        assert (through.status, through.headers["content-type"]) == (direct.status_code, direct.content_type)
        assert through.body == direct.get_data()
        assert b"SECRETVALUE" not in through.body


def test_a_body_may_come_in_pieces() -> None:
    body = upload().encode()
    pieces = [{"type": "http.request", "body": body[at : at + 7], "more_body": True} for at in range(0, len(body), 7)]
    end = {"type": "http.request"}
    assert (
        answer_of(relay(Collector()), [*pieces, end], JSON | {"content-length": str(len(body))}).status == HTTPStatus.OK
    )


BEGUN = {"type": "http.request", "body": upload().encode(), "more_body": True}
"""Requests that look like a complete upload, but are not announced as one."""


@pytest.mark.parametrize(
    ("events", "length"),
    [
        ([BEGUN, {"type": "http.disconnect"}], {}),
        ([BEGUN, {"type": "http.disconnect"}], {"content-length": "5000"}),
        ([BEGUN | {"more_body": False}], {"content-length": "5000"}),
    ],
)
def test_half_a_body_is_none(events: list[dict[str, Any]], length: dict[str, str]) -> None:
    collector = Collector()
    answer = answer_of(relay(collector), events, JSON | length)
    assert json.loads(answer.body)["code"] == "body_incomplete"
    assert collector.sent == []


def test_a_body_that_is_announced_too_large_is_not_read() -> None:
    answer = answer_of(relay(Collector()), [], JSON | {"content-length": str(MAX_UPLOAD_BYTES + 1)})
    assert (answer.status, json.loads(answer.body)["code"]) == (413, "body_too_large")


def test_a_body_that_does_not_come_is_waited_for_only_so_long() -> None:
    answer = answer_of(relay(Collector(), arrivals=Arrivals(deadline_s=0.01)), [])
    assert (answer.status, json.loads(answer.body)["code"]) == (408, "body_too_slow")


def test_what_is_only_announced_takes_no_room_and_of_too_many_the_slowest_is_waited_for_no_longer() -> None:
    app = relay(Collector(), Room(1, len(upload().encode())), Arrivals(max_bodies=3))

    async def senders() -> list[RelayResponse]:
        idle = [asyncio.create_task(ask(app, [], ANNOUNCED)) for _ in range(5)]
        await asyncio.sleep(0)  # until all of them wait
        honest = [await ask(app, upload().encode()) for _ in range(10)]
        evicted = [task for task in idle if task.done()]
        assert idle[: len(evicted)] == evicted
        for task in idle[len(evicted) :]:
            task.cancel()
        return [*honest, *(task.result() for task in evicted)]

    assert [answer.status for answer in asyncio.run(senders())] == [200] * 10 + [408] * 3


def test_many_devices_that_come_at_once_are_all_answered() -> None:
    """Their bodies arrive a few turns of the loop after their heads.

    So it is where the server has a thread of its own.
    """
    arrivals = Arrivals(max_bodies=3)

    async def arrive() -> None:
        async with arrivals.receiving():
            for _ in range(5):
                await asyncio.sleep(0)

    async def senders() -> None:
        await asyncio.gather(*(arrive() for _ in range(50)))

    asyncio.run(senders())


def test_a_whole_upload_takes_the_room_of_what_is_sent_on_and_not_of_how_it_was_written() -> None:
    sent = upload()
    app = relay(Collector(), Room(1, len(sent.encode())))
    assert answer_of(app, sent.encode().ljust(MAX_UPLOAD_BYTES)).status == HTTPStatus.OK


@pytest.mark.parametrize("room", [Room(2), Room(10, 2 * len(upload().encode()))])
def test_beyond_its_room_the_relay_asks_to_come_again_and_has_room_when_the_others_are_answered(room: Room) -> None:
    app = relay(Collector(), room)

    async def senders() -> list[RelayResponse]:
        asking = (ask(app, upload().encode()) for _ in range(3))
        return await asyncio.gather(*asking)

    *taken, refused = asyncio.run(senders())
    assert [answer.status for answer in taken] == [HTTPStatus.OK] * 2
    assert (refused.status, json.loads(refused.body)["code"]) == (503, "relay_full")
    assert int(refused.headers["retry-after"]) > 0
    assert answer_of(app, b"{").status == HTTPStatus.BAD_REQUEST
    assert [answer.status for answer in asyncio.run(senders())] == [200, 200, 503]


def test_while_the_relay_is_full_it_is_not_ready_but_lives() -> None:
    app = relay(Collector(), Room(0))
    assert answer_of(app, method="GET", path="/readyz").status == HTTPStatus.SERVICE_UNAVAILABLE
    assert answer_of(app, method="GET", path="/healthz").status == HTTPStatus.OK
    assert answer_of(relay(Collector()), method="GET", path="/readyz").status == HTTPStatus.OK


def unavailable(_: Upload) -> UploadVerdict:
    raise CollectorUnavailableError("down for the test")


def test_while_the_collector_is_down_devices_are_asked_to_retry() -> None:
    answer = answer_of(relay(Collector(unavailable)), upload().encode())
    assert (answer.status, json.loads(answer.body)["code"]) == (503, "collector_unavailable")
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("status", "code", "waits"),
    [(503, "store_unavailable", True), (429, "quota_exceeded", True), (400, "code_of_another_version", False)],
)
def test_what_the_collector_says_of_one_upload_is_said_to_its_device(status: int, code: str, *, waits: bool) -> None:
    answer = answer_of(
        relay(Collector(lambda _: LineProblem(1, HTTPStatus(status), code, "what to do"))), upload().encode()
    )
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = json.loads(answer.body)
    assert (document["status"], document["code"], document["detail"]) == (status, code, "what to do")
    assert ("retry-after" in answer.headers) is waits


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/reports", 405),
        ("POST", "/v1/uploads", 404),
        ("GET", "/v1/registry", 404),
        ("GET", "//healthz", 404),
    ],
)
def test_nothing_else_is_served(method: str, path: str, status: int) -> None:
    answer = answer_of(relay(Collector()), method=method, path=path)
    assert (answer.status, json.loads(answer.body)["status"]) == (status, status)
    assert ("allow" in answer.headers) is (status == 405)


def test_a_bug_gets_a_problem_and_no_trace_of_the_request(caplog: pytest.LogCaptureFixture) -> None:
    mixer = Mixer(Collector().post, gather_s=1.0, uniform=lambda low, _: low / 0, permute=lambda n: list(range(n)))
    app = RelayApp(mixer, Room(1))
    answer = answer_of(app, upload().encode(), JSON | {"user-agent": "CANARY"})
    assert json.loads(answer.body)["code"] == "internal_error"
    assert "ZeroDivisionError" in caplog.text
    assert "CANARY" not in caplog.text
