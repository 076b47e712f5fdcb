"""The model of the counting script gives the answers and leaves the keys of that on Valkey."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
import redis

from client_sdk.protocol import GRACE_S, Report, Upload
from collector.judge import CLOCKS_APART_S, Allowance, Judgement, judge
from collector.store import keys
from collector.store.count_script import BUCKET_ENTRIES, BUCKET_LEVELS, COUNT_UPLOAD, COUNTED, count_arguments
from tests.support.services.collecting import REGISTRY
from tests.support.simulation.store_script import ScriptError, StoreScript

DAY_S = 86_400
START_S = 2_400_000_000.5
"""In 2046, so that no key expires by the server's own clock. The half second is so that no instant
is the expiry of a key."""

WINDOWS = ("2046-01-18", "2046-01-19", "2046-01-20", "2046-01-21", "2046-W03", "2046-W04")
STORE = "the store's name"
SHARDS = 2
ROUNDS = 40
UPLOADS = 30

Call = tuple[str, list[bytes | str | int]]
"""A shard, and the script's other arguments."""

EXPIRE = """
for _, key in ipairs(redis.call('KEYS', '*')) do
  local expiry = redis.call('EXPIRETIME', key)
  if expiry >= 0 and expiry < tonumber(ARGV[1]) then redis.call('DEL', key) end
end
"""
"""What the server's clock does by itself."""


@dataclass
class Valkey:
    """A server whose clock is an argument.

    Attributes:
        client: a client of the server.
        script: the counting script, which reads the time from a third key.

    """

    client: Any
    script: str

    def count_all(self, calls: Sequence[Call], now_s: float) -> list[bytes | str]:
        """Return the script's answers to several calls, sent together; an error as its words."""
        pipeline = self.client.pipeline(transaction=False)
        for shard, arguments in calls:
            pipeline.eval(self.script, 3, shard, f"{shard}{keys.NAME}", int(now_s), *arguments)
        answers = pipeline.execute(raise_on_error=False)
        return [str(answer).split(":")[0] if isinstance(answer, Exception) else answer for answer in answers]

    def forget_expired(self, now_s: float) -> None:
        self.client.eval(EXPIRE, 0, now_s)

    def content(self) -> dict[str, tuple[Any, int | None]]:
        """Return the value and the expiry of every key, as the model has them."""
        return {
            key.decode(): (self._value(key), None if (expiry := self.client.expiretime(key)) < 0 else expiry)
            for key in self.client.keys("*")
        }

    def _value(self, key: bytes) -> Any:
        match self.client.type(key):
            case b"set":
                return {member.decode() for member in self.client.smembers(key)}
            case b"hash":
                return {name.decode(): int(symbols) for name, symbols in self.client.hgetall(key).items()}
            case b"zset":
                return self.client.zrange(key, 0, -1)
        value = self.client.get(key)
        if b":tally:" in key:
            return [count for (count,) in struct.iter_unpack(">q", value)]
        return value.decode() if key.endswith(b":name") else int(value)


def content(model: StoreScript) -> dict[str, tuple[Any, int | None]]:
    return {key: (value, model.expiries.get(key)) for key, value in model.values.items()}


@pytest.fixture
def client(embedded_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
        yield client
        client.flushall()


def server(client: redis.Redis, entries: int = BUCKET_ENTRIES, levels: int = BUCKET_LEVELS) -> Valkey:
    script = COUNT_UPLOAD
    for right, changed in (
        ("redis.call('TIME')[1]", "KEYS[3]"),
        (f"< {BUCKET_ENTRIES} then", f"< {entries} then"),
        (f"depth == {BUCKET_LEVELS} or", f"depth == {levels} or"),
    ):
        assert script.count(right) == 1
        script = script.replace(right, changed)
    return Valkey(client, script)


def judgement_of(seeded: Random, ids: list[str], now_s: float) -> Judgement:
    """Return the judgement of an upload that may have come before, by a clock that may be wrong."""
    names = seeded.choices(WINDOWS, k=seeded.choice((1, 1, 2, 5)))
    metrics = [("plan" if "W" in name else seeded.choice(("os", "dark_mode", "os"))) for name in names]
    reports = tuple(
        Report(metric, REGISTRY.metric(metric).edition, window, seeded.randrange(4))
        for metric, window in zip(metrics, names, strict=True)
    )
    judged_s = now_s + seeded.choice((0, 0, -1, -1, 1)) * seeded.choice((DAY_S, CLOCKS_APART_S))
    judgement = judge(Upload(seeded.choice(ids), reports), REGISTRY, now_s=judged_s, grace_s=GRACE_S)
    if seeded.random() < 0.5:
        return judgement
    today_s = int(judged_s) // DAY_S * DAY_S + DAY_S
    return judgement._replace(allowance=Allowance("web", seeded.choice((3, 40)), today_s))


def answers_of(model: StoreScript, calls: Sequence[Call], now_s: float) -> list[bytes | str]:
    """Return the model's answers, as `Valkey.count_all` does."""
    answers: list[bytes | str] = []
    for shard, arguments in calls:
        try:
            answers.append(model.count(shard, arguments, now_s))
        except ScriptError as error:
            answers.append(str(error))
    return answers


@pytest.mark.parametrize(("entries", "levels"), [(1, 2), (3, 2), (3, BUCKET_LEVELS), (BUCKET_ENTRIES, BUCKET_LEVELS)])
def test_over_random_histories_the_model_answers_as_the_script_does_and_keeps_the_same_keys(
    client: redis.Redis, entries: int, levels: int
) -> None:
    seeded = Random(f"{entries} {levels}")  # noqa: S311 a history is no secret
    valkey, model = server(client, entries, levels), StoreScript(entries, levels)
    shards = [keys.prefix(number) for number in range(SHARDS)]
    ids = [f"{seeded.randrange(1 << 128):032x}" for _ in range(60)]
    now_s, kinds = START_S, set[int | str]()
    for _ in range(ROUNDS):
        now_s += seeded.choice((3600, 3600, 7 * 3600, DAY_S // 2))
        valkey.forget_expired(now_s)
        model.forget_expired(now_s)
        for shard in shards:  # one of them is lost now and then
            key, name = f"{shard}{keys.NAME}", seeded.choice((*[STORE] * 20, "another store"))
            client.set(key, name)
            model.values[key] = name
        if seeded.randrange(10) == 0:
            key, window = f"{seeded.choice(shards)}{keys.CLOSED}", seeded.choice(WINDOWS)
            client.sadd(key, window)
            model.values.setdefault(key, set()).add(window)
        calls: list[Call] = []
        for _ in range(UPLOADS):
            judgement = judgement_of(seeded, ids, now_s)
            shard = shards[keys.shard_of(judgement.upload, SHARDS)]
            calls.append((shard, count_arguments(judgement, SHARDS, STORE)))
        answers = valkey.count_all(calls, now_s)
        assert answers_of(model, calls, now_s) == answers
        kinds.update(answer[0] if isinstance(answer, bytes) else answer for answer in answers)
    assert len(kinds) == 4 + 2  # every answer, and both errors
    assert content(model) == valkey.content()


def test_the_model_fills_a_tree_of_buckets_as_the_script_does(client: redis.Redis) -> None:
    seeded = Random(0)  # noqa: S311 a history is no secret
    valkey, model = server(client), StoreScript()
    client.set("{0}:name", STORE)
    model.values["{0}:name"] = STORE
    report = Report("os", REGISTRY.metric("os").edition, WINDOWS[1], 1)
    calls: list[Call] = []
    for _ in range(10 * BUCKET_ENTRIES):
        sent = Upload(f"{seeded.randrange(1 << 128):032x}", (report,) * seeded.choice((1, 2, 9)))
        judgement = judge(sent, REGISTRY, now_s=START_S, grace_s=GRACE_S)
        calls.append(("{0}:", count_arguments(judgement, 1, STORE)))
    answers = valkey.count_all(calls, START_S)
    assert set(answers) == {bytes((COUNTED,))}
    assert answers_of(model, calls, START_S) == answers
    assert content(model) == valkey.content()
    assert max(len(key.rpartition(":")[2]) for key in model.expiries) > 1
