"""What a relay says of itself to Prometheus: batches and problems, nothing of gathering uploads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from client_sdk.protocol import Upload, Verdict
from collector.api.batch import LineAnswer, LineProblem, UploadVerdict, decode_batch, encode_answers
from collector.api.problem import Problem
from collector.counters import HELD, OLDEST_NS, SharedCounters, WorkerCounters, new_shared_counters
from collector.prometheus import relay_families
from collector.relay.app import RelayApp, Room
from collector.relay.forward import CollectorUnavailableError
from collector.relay.mixer import Mixer
from tests.support.services.collecting import upload

Samples = dict[str, float]

NOW_NS = 10**15


def samples(shared_counters: SharedCounters, clock_ns: Callable[[], int] = lambda: NOW_NS) -> Samples:
    """Return the relay's own samples that are not 0, by name and label."""
    return {
        ":".join((sample.name, *sample.labels.values())): sample.value
        for family in relay_families(shared_counters, clock_ns)
        for sample in family.samples
        if sample.name.startswith("hearsay_relay_") and sample.value
    }


def accept(body: bytes) -> bytes:
    uploads = [line for line in decode_batch(body) if isinstance(line, Upload)]
    return encode_answers([UploadVerdict(sent.id, Verdict(len(sent.reports))) for sent in uploads])


def fail(_: bytes) -> bytes:
    raise CollectorUnavailableError("it cannot be reached")


def mixing(shared_counters: SharedCounters, post: Callable[[bytes], bytes], gather_s: float = 0.001) -> Mixer:
    return Mixer(
        post,
        gather_s=gather_s,
        uniform=lambda low, _: low,
        permute=lambda number: list(range(number)),
        counters=WorkerCounters(shared_counters),
    )


async def deliver(mixer: Mixer, *uploads: Upload) -> list[LineAnswer | BaseException]:
    return await asyncio.gather(*(mixer.deliver(sent.id, sent.encode()) for sent in uploads), return_exceptions=True)


def test_a_batch_whose_devices_are_all_gone_is_counted_as_abandoned() -> None:
    shared_counters = new_shared_counters()

    async def go_away() -> None:
        mixer = mixing(shared_counters, accept, gather_s=600.0)
        leaving = asyncio.create_task(deliver(mixer, upload(), upload()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        mixer._leave()
        await asyncio.gather(*mixer._under_way)

    asyncio.run(go_away())
    assert samples(shared_counters) == {
        "hearsay_relay_batches_total:abandoned": 1,
        "hearsay_relay_uploads_total:unanswered": 2,
    }


def test_a_batch_under_way_is_held_with_its_age_and_what_still_gathers_is_not_shown() -> None:
    shared_counters, before_ns = new_shared_counters(), time.monotonic_ns()
    seen: list[Samples] = []

    async def fill_a_batch() -> None:
        def post(body: bytes) -> bytes:
            seen.append(samples(shared_counters, lambda: time.monotonic_ns() + 60 * 10**9))
            return accept(body)

        mixer = mixing(shared_counters, post, gather_s=600.0)
        waiting = asyncio.create_task(deliver(mixer, upload(), upload(), upload()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert mixer._timer is not None, "uploads gather"
        assert samples(shared_counters) == {}
        mixer._leave()
        await waiting

    asyncio.run(fill_a_batch())
    (during,) = seen
    assert during.pop("hearsay_relay_held_uploads") == 3
    age_s = during.pop("hearsay_relay_oldest_batch_seconds")
    assert 60 <= age_s <= 60 + (time.monotonic_ns() - before_ns) / 1e9
    assert during == {}


def test_a_worker_that_takes_over_forgets_what_the_dead_one_held() -> None:
    shared_counters = new_shared_counters()
    dead = WorkerCounters(shared_counters)
    dead.put(HELD, 12)
    dead.put(OLDEST_NS, NOW_NS - 10**9)
    assert samples(shared_counters) == {"hearsay_relay_held_uploads": 12, "hearsay_relay_oldest_batch_seconds": 1.0}
    Mixer(accept, gather_s=1.0, uniform=lambda low, _: low, permute=lambda _: [], counters=dead)
    assert samples(shared_counters) == {}


async def status(app: RelayApp, body: bytes) -> int:
    """Send an upload to a relay, and return the status of the answer."""
    sent: list[int] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body}

    async def send(event: dict[str, object]) -> None:
        if event["type"] == "http.response.start":
            sent.append(int(str(event["status"])))

    headers = [(b"content-type", b"application/json")]
    await app({"path": "/v1/reports", "method": "POST", "headers": headers}, receive, send)
    return sent[0]


@pytest.mark.parametrize(
    ("post", "room", "body", "expected"),
    [
        (accept, 0, upload().encode(), (503, Problem.RELAY_FULL)),
        (accept, 1, b"{", (400, Problem.INVALID_JSON)),
        (fail, 1, upload().encode(), (503, Problem.COLLECTOR_UNAVAILABLE)),
        (
            lambda _: encode_answers([LineProblem(1, Problem.STORE_FULL.status, "store_full", "later")]),
            1,
            upload().encode(),
            (503, Problem.STORE_FULL),
        ),
        (
            lambda _: encode_answers([LineProblem(1, Problem.STORE_FULL.status, "of_another_version", "later")]),
            1,
            upload().encode(),
            (503, Problem.COLLECTOR_UNAVAILABLE),
        ),
    ],
)
def test_an_answer_with_a_problem_is_counted_by_its_code(
    post: Callable[[bytes], bytes], room: int, body: bytes, expected: tuple[int, Problem]
) -> None:
    shared_counters = new_shared_counters()

    async def send() -> int:
        app = RelayApp(mixing(shared_counters, post), Room(room), counters=WorkerCounters(shared_counters))
        return await status(app, body)

    code, problem = expected
    assert asyncio.run(send()) == code
    problems = {name: value for name, value in samples(shared_counters).items() if "problems" in name}
    assert problems == {f"hearsay_relay_problems_total:{problem.code}": 1}
