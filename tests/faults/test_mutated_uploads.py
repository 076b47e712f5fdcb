"""Thousands of mutated uploads on a real store: each is answered, and the counts are exact.

The oracle counts independently, from the bytes that were sent and the answers: what was accepted is
valid, and the tallies are exactly what was accepted. Twenty rounds (`make faults`) are a hundred
thousand uploads.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
import redis
from flask.testing import FlaskClient

from client_sdk.protocol import Refusal, Window, window
from client_sdk.protocol.wire import reading
from collector import create_app
from collector.access import parse_access
from collector.api.messages import JSON, NDJSON
from collector.api.problem import BY_CODE
from collector.counters import ACCEPTED, PROBLEMS, REPORTS, Totals, WorkerCounters, new_shared_counters
from collector.live_config import Served
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import LONG_S, NOON, OPEN, REGISTRY, key_entry
from tests.support.services.conforming import conforming_client
from tests.support.services.mutations import CLOSED, FORMER, mutated, sound_upload

UPLOADS_A_ROUND = 5000
TRACED = 1000
"""How many further uploads are watched for the memory that they take; the oracle, which remembers,
does not see them.
"""

IN_A_BATCH = 10

RELAY_SECRET = "relay-key-of-the-mutations-0000000"  # noqa: S105 a test's own
ONCE = frozenset({f"dark_mode:{FORMER}"})
ACCESS = parse_access(OPEN + key_entry("relay", "relay", RELAY_SECRET))
RELAY = {"Content-Type": NDJSON, "Authorization": f"Bearer {RELAY_SECRET}"}


class Oracle:
    """What the tallies and the counters must be.

    Attributes:
        tallies: counts by metric, edition, window and symbol.
        uploads: how many uploads were counted, and how many were duplicates.

    """

    def __init__(self) -> None:
        self.tallies: Counter[tuple[str, str, str, int]] = Counter()
        self.uploads: Counter[str] = Counter()
        self._counted: dict[tuple[str, int], tuple[int, list[int]]] = {}

    def note(self, body: bytes, answer: dict[str, Any]) -> None:
        """Take an upload that was answered with a verdict."""
        document = json.loads(body, object_pairs_hook=members_once)
        reports = document["reports"]
        refused = [refusal["index"] for refusal in answer["refused"]]
        said = answer["accepted"], refused
        # An upload is known by its id, under the latest end of a window that was counted.
        ends = {Window.parse(each["window"]).ends_at for each in reports}
        known = next(
            (place for end in sorted(ends, reverse=True) if (place := (document["upload"], end)) in self._counted), None
        )
        if known is not None:
            assert said == self._counted[known]
            return
        accepted = [each for place, each in enumerate(reports) if place not in refused]
        assert len(accepted) == answer["accepted"]
        for each in accepted:
            require_sound(each)
            self.tallies[each["metric"], each["edition"], each["window"], each["symbol"]] += 1
        if accepted:
            latest_end = max(Window.parse(each["window"]).ends_at for each in accepted)
            self._counted[document["upload"], latest_end] = said


def members_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; fail if it has a member twice."""
    assert len(dict(members)) == len(members), "it was accepted with a member twice"
    return dict(members)


def require_sound(report: dict[str, Any]) -> None:
    """Fail if an accepted report should have been refused."""
    metric = REGISTRY.metric(report["metric"])
    assert set(report) == {"metric", "edition", "window", "symbol"}
    assert report["edition"] == metric.edition
    assert type(report["symbol"]) is int
    assert 0 <= report["symbol"] < metric.channel.symbols
    assert Window.parse(report["window"]).starts_at <= NOON
    assert report["window"] != CLOSED


class Sender:
    """Sends mutated uploads, alone and in batches, and checks each answer."""

    def __init__(self, client: FlaskClient, seeded: Random, note: Callable[[bytes, dict[str, Any]], None]) -> None:
        self.statuses: Counter[int] = Counter()
        self.problems: Counter[str] = Counter()
        self._client = client
        self._seeded = seeded
        self._note = note

    def send(self, uploads: int) -> int:
        """Send this many uploads and return the number of their bytes."""
        sent = 0
        while uploads > 0:
            size = IN_A_BATCH if self._seeded.randrange(20) == 0 else 1
            sent += self._send_batch(size) if size > 1 else self._send_single()
            uploads -= size
        return sent

    def _send_single(self) -> int:
        body = mutated(sound_upload(self._seeded), self._seeded)
        for _ in range(self._seeded.choice((1, 1, 1, 2))):
            answer = self._client.post("/v1/reports", data=body, headers={"Content-Type": JSON})
            self.statuses[answer.status_code] += 1
            assert answer.status_code < 500, body
            assert answer.json is not None
            if answer.status_code == 200:
                self._note(body, answer.json)
            else:
                self.problems[answer.json["code"]] += 1
        return len(body)

    def _send_batch(self, uploads: int) -> int:
        lines = (mutated(sound_upload(self._seeded), self._seeded) for _ in range(uploads))
        body = mutated(b"\n".join(lines), self._seeded)
        answer = self._client.post("/v1/uploads", data=body, headers=RELAY)
        self.statuses[answer.status_code] += 1
        assert answer.status_code < 500, body
        if answer.status_code == 200:
            said = [json.loads(line) for line in answer.text.splitlines()]
            for line, verdict in zip(body.removesuffix(b"\n").split(b"\n") if body else [], said, strict=True):
                assert verdict.get("status", 200) < 500, line
                if "upload" in verdict:
                    self._note(line, verdict)
                else:
                    self.problems[verdict["code"]] += 1
        else:
            assert answer.json is not None
            self.problems[answer.json["code"]] += 1
        return len(body)


def kept_bytes() -> int:
    """Return the memory that was allocated and not freed, except that of this test and of the
    bounded caches.
    """
    reading._check_known_names.cache_clear()
    Window.parse.cache_clear()
    window._window.cache_clear()
    gc.collect()
    snapshot = tracemalloc.take_snapshot().filter_traces((tracemalloc.Filter(False, "*/tests/*"),))  # noqa: FBT003 exclude
    return sum(statistic.size for statistic in snapshot.statistics("filename"))


@pytest.fixture
def store(embedded_url: str) -> Iterator[RedisStore]:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    store = RedisStore(embedded_url)
    store.prepare()
    yield store
    store.disconnect()


@pytest.mark.long
def test_no_mutated_upload_gets_a_5xx_or_changes_a_tally_unless_it_was_accepted(
    store: RedisStore, round_number: int
) -> None:
    shared_counters = new_shared_counters()
    app = create_app(
        lambda: Served(REGISTRY, ACCESS, ONCE),
        store,
        clock=lambda: NOON,
        grace_s=LONG_S,
        counters=WorkerCounters(shared_counters),
    )
    store.close(Window.parse(CLOSED))
    oracle, seeded = Oracle(), Random(round_number)  # noqa: S311 hostile bodies are no secret
    sender = Sender(conforming_client(app), seeded, oracle.note)
    sender.send(UPLOADS_A_ROUND)
    assert set(sender.statuses) == {200, 400, 413}
    tallies = store.open_snapshot(1, frozenset(), NOON)
    counted = Counter(
        {
            (tally.metric, tally.edition, tally.window, symbol): count
            for tally in tallies
            for symbol, count in enumerate(tally.counts)
            if count
        }
    )
    assert counted == oracle.tallies
    totals = Totals(shared_counters)
    assert all(totals.total(REPORTS, refusal) for refusal in Refusal)
    assert sender.problems == Counter(
        {code: totals.total(PROBLEMS, code) for code in BY_CODE if totals.total(PROBLEMS, code)}
    )
    assert totals.total(REPORTS, ACCEPTED) == counted.total() > UPLOADS_A_ROUND // 5

    unseen = Sender(conforming_client(app), seeded, lambda *_: None)
    tracemalloc.start()
    sent = unseen.send(TRACED)
    kept = kept_bytes()
    tracemalloc.stop()
    assert kept < sent / 100, "more than a hundredth of what was sent is still there"
