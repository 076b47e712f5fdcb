"""Bodies on the real server: the limit holds, and a body that is cut short or has no length is
refused.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from collector.config import DEFAULT_THREADS
from tests.support.services.collecting import REGISTRY_TEXT, upload
from tests.support.services.processes import RunningCollector
from tests.support.services.relaying import RELAY_KEY, collector_with_key
from tests.support.services.wire import chunked, raw_answer, with_length


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCollector]:
    folder = tmp_path_factory.mktemp("bodies")
    registry = folder / "metrics.toml"
    registry.write_text(REGISTRY_TEXT, encoding="utf-8")
    with collector_with_key(registry, folder) as running:
        yield running


def padded(size: int) -> bytes:
    """Return a valid upload of exactly ``size`` bytes: white space may follow JSON."""
    return upload().encode().ljust(size)


@pytest.mark.parametrize(("beyond", "status"), [(-1, 200), (0, 200), (1, 413), (200_000, 413)])
def test_the_limit_holds(collector: RunningCollector, beyond: int, status: int) -> None:
    answered, body = raw_answer(collector.url, with_length(padded(MAX_UPLOAD_BYTES + beyond)))
    assert answered == status
    if status == 413:
        assert json.loads(body)["code"] == "body_too_large"


def test_a_body_that_would_be_whole_if_it_were_cut_at_the_limit_is_refused(collector: RunningCollector) -> None:
    sound = padded(MAX_UPLOAD_BYTES)
    assert raw_answer(collector.url, with_length(sound + b'{"more": 1}'))[0] == 413


def test_a_body_shorter_than_announced_is_not_taken_for_whole(collector: RunningCollector) -> None:
    whole = upload().encode()
    status, _ = raw_answer(collector.url, with_length(whole, announced=len(whole) + 10), half_close=True)
    assert status in (0, 400)


@pytest.mark.parametrize("path", [b"/v1/reports", b"/v1/uploads"])
@pytest.mark.parametrize("end", [b"", b"0\r\n\r\n", b"0\r\n", b"zz\r\n"])
def test_nothing_in_chunks_is_counted_for_the_server_hides_whether_the_last_one_came(
    collector: RunningCollector, path: bytes, end: bytes
) -> None:
    request = chunked(upload().encode(), ended=False).replace(b"/v1/reports", path) + end
    if path == b"/v1/uploads":
        head = f"application/x-ndjson\r\nAuthorization: Bearer {RELAY_KEY}"
        request = request.replace(b"application/json", head.encode())
    # A server that closes while it is sent bytes resets the connection, and the answer may be lost.
    status, body = next(filter(any, (raw_answer(collector.url, request, half_close=True) for _ in range(100))))
    assert (status, json.loads(body)["code"]) == (411, "length_required")


def test_a_length_together_with_chunks_is_not_believed(collector: RunningCollector) -> None:
    body = upload().encode()
    request = chunked(body, ended=False).replace(b"\r\n\r\n", b"\r\nContent-Length: %d\r\n\r\n" % len(body), 1)
    assert raw_answer(collector.url, request, half_close=True)[0] in (0, 400, 411)


def test_slow_bodies_leave_a_thread_for_others(collector: RunningCollector) -> None:
    where = urlsplit(collector.url)
    with contextlib.ExitStack() as slow:
        for _ in range(DEFAULT_THREADS - 1):
            connection = slow.enter_context(socket.create_connection((where.hostname, where.port)))
            connection.sendall(with_length(upload().encode())[:-10])
        assert raw_answer(collector.url, with_length(upload().encode()))[0] == 200
