"""Bodies on the real server: the limit holds in both framings, and half a body is none."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from client_sdk.spec import MAX_UPLOAD_BYTES
from collector.config import DEFAULT_THREADS
from tests.support.collecting import REGISTRY_TEXT, upload
from tests.support.processes import RunningCollector, running_collector
from tests.support.wire import chunked, raw_answer, with_length


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCollector]:
    folder = tmp_path_factory.mktemp("bodies")
    registry = folder / "metrics.toml"
    registry.write_text(REGISTRY_TEXT, encoding="utf-8")
    with running_collector(registry, folder / "data") as running:
        yield running


def padded(size: int) -> bytes:
    """Return a sound upload of exactly so many bytes: JSON may be followed by white space."""
    return upload().encode().ljust(size)


@pytest.mark.parametrize("framing", [with_length, chunked])
@pytest.mark.parametrize(("beyond", "status"), [(-1, 200), (0, 200), (1, 413), (200_000, 413)])
def test_the_limit_holds_in_both_framings(
    collector: RunningCollector, framing: Callable[[bytes], bytes], beyond: int, status: int
) -> None:
    answered, body = raw_answer(collector.url, framing(padded(MAX_UPLOAD_BYTES + beyond)))
    assert answered == status
    if status == 413:
        assert json.loads(body)["code"] == "body_too_large"


@pytest.mark.parametrize("framing", [with_length, chunked])
def test_a_body_that_would_be_whole_if_it_were_cut_at_the_limit_is_refused(
    collector: RunningCollector, framing: Callable[[bytes], bytes]
) -> None:
    sound = padded(MAX_UPLOAD_BYTES)
    assert raw_answer(collector.url, framing(sound + b'{"more": 1}'))[0] == 413


def test_a_body_shorter_than_announced_is_not_taken_for_whole(collector: RunningCollector) -> None:
    whole = upload().encode()
    status, _ = raw_answer(collector.url, with_length(whole, announced=len(whole) + 10), half_close=True)
    assert status in (0, 400)


def test_chunks_that_break_off_are_not_taken_for_whole(collector: RunningCollector) -> None:
    status, _ = raw_answer(collector.url, chunked(upload().encode()[:-20], ended=False), half_close=True)
    assert status in (0, 400)


def test_small_chunks_make_one_body(collector: RunningCollector) -> None:
    assert raw_answer(collector.url, chunked(upload().encode(), chunk=7))[0] == 200


def test_slow_bodies_leave_a_thread_for_others(collector: RunningCollector) -> None:
    where = urlsplit(collector.url)
    with contextlib.ExitStack() as slow:
        for _ in range(DEFAULT_THREADS - 1):
            connection = slow.enter_context(socket.create_connection((where.hostname, where.port)))
            connection.sendall(with_length(upload().encode())[:-10])
        assert raw_answer(collector.url, with_length(upload().encode()))[0] == 200
