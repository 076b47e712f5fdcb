"""Retired tallies on a real store: readers see them complete or not at all; they never return."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from click.testing import CliRunner

from client_sdk.protocol import Refusal, Verdict, Window
from collector.commands.cli import cli
from collector.errors import StoreUnavailableError
from collector.redis_servers.router import Answered
from collector.store import keys
from collector.store.facts import SCHEMA
from collector.store.redis_store import RedisStore
from collector.store.shards import Shards
from collector.upkeep.retention import RedisRetirement, TallyName
from tests.support.services.collecting import REGISTRY, TODAY, judged, report, upload

OS = TallyName("os", REGISTRY.metric("os").edition, TODAY)
DARK_MODE = TallyName("dark_mode", REGISTRY.metric("dark_mode").edition, TODAY)
PLAN = TallyName("plan", REGISTRY.metric("plan").edition, "2026-W47")


@pytest.fixture
def store(embedded_url: str) -> Iterator[RedisStore]:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
        client.hset(keys.STORE, mapping={"schema": str(SCHEMA), "shards": "4"})
    used = RedisStore(embedded_url)
    used.prepare()
    for number in range(16):  # in each shard: a shard without reports has nothing to retire
        reports = (report(), report("os", 3), report("plan", 0, "2026-W47"))
        used.count(judged(upload(*reports, upload_id=f"{number:032x}")))
    used.close(Window.parse(TODAY))
    yield used
    used.disconnect()


def closed_metrics(store: RedisStore) -> dict[str, int]:
    return {tally.metric: sum(tally.counts) for tally in store.closed_tallies(store.closed_windows())}


def keys_with(store: RedisStore, part: str) -> list[bytes]:
    return list(store.shards.run(0, "KEYS", f"*{part}*"))


def test_a_retired_tally_is_gone_from_every_shard_and_the_others_are_whole(store: RedisStore) -> None:
    assert closed_metrics(store) == {"dark_mode": 16, "os": 16}
    retirement = RedisRetirement(store)
    assert retirement.tally_names() == {OS, DARK_MODE, PLAN}
    retirement.retire([OS])
    assert retirement.tally_names() == {DARK_MODE, PLAN}
    assert closed_metrics(store) == {"dark_mode": 16}
    assert keys_with(store, ":tally:os:") == keys_with(store, "going") == []


def test_an_open_window_is_never_retired(store: RedisStore) -> None:
    RedisRetirement(store).retire([PLAN])
    store.close(Window.parse("2026-W47"))
    assert closed_metrics(store)["plan"] == 16


def test_a_retired_window_stays_closed_and_is_tallied_no_more(store: RedisStore) -> None:
    RedisRetirement(store).retire([OS, DARK_MODE])
    assert store.tallied_windows() == {"2026-W47"}
    late = Verdict(1, ((0, Refusal.WINDOW_CLOSED),))
    assert {store.count(judged(upload(report("os", 2)))).verdict for _ in range(16)} == {late}
    assert closed_metrics(store) == {}


class Breaking(Shards):
    """The shards of a store that stops answering before the counts of the third shard go."""

    def run(self, shard: int, *command: bytes | str | int) -> object:
        if command[0] == "UNLINK" and shard == 2:
            raise StoreUnavailableError("for the test")
        return super().run(shard, *command)


def test_a_retirement_that_breaks_off_shows_no_part_and_is_finished_by_the_next(
    store: RedisStore, embedded_url: str
) -> None:
    breaking = RedisStore(embedded_url)
    breaking.shards = Breaking(embedded_url, layout=store.layout)
    with pytest.raises(StoreUnavailableError):
        RedisRetirement(breaking).retire([OS])
    breaking.disconnect()
    assert keys_with(store, ":tally:os:")
    assert closed_metrics(store) == {"dark_mode": 16}
    RedisRetirement(store).retire([])
    assert keys_with(store, ":tally:os:") == []


class Stopping(Shards):
    """The shards of a store that stops answering before the names of the third shard go."""

    def run(self, shard: int, *command: bytes | str | int) -> object:
        if command[0] == "EVAL" and shard == 2:
            raise StoreUnavailableError("for the test")
        return super().run(shard, *command)


def test_a_dry_run_lists_what_a_retirement_that_broke_off_left(store: RedisStore, embedded_url: str) -> None:
    breaking = RedisStore(embedded_url)
    breaking.shards = Stopping(embedded_url, layout=store.layout)
    with pytest.raises(StoreUnavailableError):
        RedisRetirement(breaking).retire([OS])
    breaking.disconnect()
    assert closed_metrics(store) == {"dark_mode": 16}
    words = ["retire", "--redis", embedded_url, "--before", "2026-01-01"]
    dry = CliRunner().invoke(cli, [*words, "--dry-run"])
    assert dry.stdout == f"{TODAY}: 1 tally\nwould remove 1 tally of 1 closed window\n"
    assert RedisRetirement(store).begun() == {OS}
    assert CliRunner().invoke(cli, words).stdout == dry.stdout.replace("would remove", "removed")
    assert closed_metrics(store) == {"dark_mode": 16}
    assert RedisRetirement(store).begun() == frozenset()


def test_a_reader_that_came_in_between_skips_what_it_may_have_seen_in_part(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = store._counts

    def retired_meanwhile(name: str, symbols: int, answered: Answered) -> tuple[int, ...]:
        RedisRetirement(store).retire([OS])
        return whole(name, symbols, answered)

    monkeypatch.setattr(store, "_counts", retired_meanwhile)
    assert closed_metrics(store) == {"dark_mode": 16}


STRATUM = TallyName("os", "0123456789ab", TODAY)


def retire_in_part(store: RedisStore, url: str) -> None:
    """Retire a question with a stratum that only the first shard counted, up to the third shard."""
    breaking = RedisStore(url)
    breaking.shards = Stopping(url, layout=store.layout)
    with pytest.raises(StoreUnavailableError):
        RedisRetirement(breaking).retire([OS, STRATUM])
    breaking.disconnect()


@pytest.mark.parametrize("meanwhile", [False, True], ids=["before the reading", "during the reading"])
def test_no_reading_shows_others_without_a_stratum_that_is_being_retired(
    store: RedisStore, embedded_url: str, monkeypatch: pytest.MonkeyPatch, *, meanwhile: bool
) -> None:
    store.shards.run(0, "HSET", keys.of_shard(0, keys.TALLIES), ":".join(STRATUM), 4)
    store.shards.run(0, "SET", keys.tally(0, ":".join(STRATUM)), bytes(31) + b"\x03")
    assert [sum(tally.counts) for tally in store.closed_tallies(frozenset([TODAY])) if tally.metric == "os"] == [3, 16]
    if meanwhile:
        whole, retire = store._counts, iter([retire_in_part])

        def retired_meanwhile(name: str, symbols: int, answered: Answered) -> tuple[int, ...]:
            for begin in retire:
                begin(store, embedded_url)
            return whole(name, symbols, answered)

        monkeypatch.setattr(store, "_counts", retired_meanwhile)
    else:
        retire_in_part(store, embedded_url)
    assert closed_metrics(store) == {"dark_mode": 16}
    assert RedisRetirement(store).begun() == {OS, STRATUM}
