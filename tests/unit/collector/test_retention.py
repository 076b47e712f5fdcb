"""What is retired when: by retention or an operator's command; open windows never."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest
import redis
from click.testing import CliRunner

from client_sdk.protocol import GRACE_S, Refusal, Registry, Verdict, Window
from collector.commands.cli import cli
from collector.config import DAY_S, HOUR_S
from collector.errors import StoreUnavailableError
from collector.redis_servers.router import Answered
from collector.retention import RETRY_INTERVAL_S, RedisRetirement, Retention, TallyName, before, expired
from collector.store import keys
from collector.store.facts import SCHEMA
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import REGISTRY, REGISTRY_TEXT, TODAY, judged, report, upload

RETAINED = Registry.parse(
    REGISTRY_TEXT.replace('kind = "boolean"\nepsilon = "ln 3"', 'kind = "boolean"\nepsilon = "ln 3"\nretention = 2')
)

GOES_AT_S = Window.parse(TODAY).ends_at + GRACE_S + 2 * DAY_S

KEPT_TWO_DAYS = TallyName("dark_mode", "an edition", TODAY)
ANOTHER_EDITION = TallyName("dark_mode", "an older one", TODAY)
KEPT_FOR_GOOD = TallyName("os", "an edition", TODAY)
NOBODY_KNOWS_IT = TallyName("who", "an edition", TODAY)
STILL_OPEN = TallyName("dark_mode", "an edition", "2026-11-19")


class Shelf:
    """Tallies, all closed except STILL_OPEN."""

    def __init__(self) -> None:
        self.names = {KEPT_TWO_DAYS, ANOTHER_EDITION, KEPT_FOR_GOOD, NOBODY_KNOWS_IT, STILL_OPEN}
        self.looks = 0
        self.finished: list[int] = []

    def closed_windows(self) -> frozenset[str]:
        self.looks += 1
        return frozenset({TODAY, "2026-11-01"})

    def tally_names(self) -> frozenset[TallyName]:
        return frozenset(self.names)

    def retire(self, names: Collection[TallyName]) -> None:
        self.names -= set(names)
        self.finished.append(len(names))


def test_tallies_are_kept_for_their_retention_after_the_clock_closed_their_window() -> None:
    assert expired(Shelf(), RETAINED, now_s=GOES_AT_S - 1, grace_s=GRACE_S) == []
    gone = expired(Shelf(), RETAINED, now_s=GOES_AT_S, grace_s=GRACE_S)
    assert gone == sorted([KEPT_TWO_DAYS, ANOTHER_EDITION])


def test_without_a_retention_nothing_is_removed_or_checked() -> None:
    shelf = Shelf()
    assert expired(shelf, Registry.parse(REGISTRY_TEXT), now_s=10 * GOES_AT_S, grace_s=GRACE_S) == []
    assert shelf.looks == 0


def test_before_a_window_goes_what_is_closed_and_ended_by_its_beginning() -> None:
    shelf = Shelf()
    assert before(shelf, Window.parse(TODAY)) == []
    assert before(shelf, Window.parse("2026-11-21")) == sorted(shelf.names - {STILL_OPEN})
    assert before(shelf, Window.parse("2026-12")) == sorted(shelf.names - {STILL_OPEN})


def test_a_month_goes_only_before_what_begins_after_it() -> None:
    shelf = Shelf()
    shelf.names = {TallyName("os", "an edition", "2026-11-01")}
    assert before(shelf, Window.parse("2026-11")) == []
    assert before(shelf, Window.parse("2026-11-02")) == [TallyName("os", "an edition", "2026-11-01")]


def test_the_chore_is_done_at_the_start_and_hourly() -> None:
    shelf, now = Shelf(), [GOES_AT_S - 1.0]
    retention = Retention(shelf, lambda: RETAINED, grace_s=GRACE_S, clock=lambda: now[0])
    retention()
    now[0] += HOUR_S - 1
    retention()
    assert shelf.looks == 1
    assert KEPT_TWO_DAYS in shelf.names
    now[0] += 1
    retention()
    assert shelf.looks == 2
    assert shelf.names == {KEPT_FOR_GOOD, NOBODY_KNOWS_IT, STILL_OPEN}


def test_the_chore_finishes_what_broke_off_also_when_nothing_is_due() -> None:
    shelf = Shelf()
    for registry in (RETAINED, Registry.parse(REGISTRY_TEXT)):
        Retention(shelf, lambda: registry, grace_s=GRACE_S, clock=lambda: float(GOES_AT_S - 1))()  # noqa: B023 called at once
    assert shelf.finished == [0]


def test_the_chore_is_tried_again_soon_and_holds_up_no_other(caplog: pytest.LogCaptureFixture) -> None:
    class Away(Shelf):
        def closed_windows(self) -> frozenset[str]:
            if not self.looks:
                self.looks += 1
                raise StoreUnavailableError("away for the test")
            return super().closed_windows()

    shelf, now = Away(), [GOES_AT_S + 0.0]
    retention = Retention(shelf, lambda: RETAINED, grace_s=GRACE_S, clock=lambda: now[0])
    retention()
    assert "could not be retired yet: away for the test" in caplog.text
    now[0] += RETRY_INTERVAL_S
    retention()
    assert KEPT_TWO_DAYS not in shelf.names


def test_a_clock_that_was_years_ahead_does_not_end_the_chore() -> None:
    shelf, now = Shelf(), [GOES_AT_S + 3650 * DAY_S]
    retention = Retention(shelf, lambda: RETAINED, grace_s=GRACE_S, clock=lambda: now[0])
    retention()
    now[0] = GOES_AT_S
    retention()
    now[0] += HOUR_S - 1
    retention()
    assert shelf.looks == 2


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
    return list(store.run(0, "KEYS", f"*{part}*"))


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


class Breaking(RedisStore):
    """A store that stops answering before the counts of the third shard go."""

    def run(self, shard: int, *command: bytes | str | int) -> object:
        if command[0] == "UNLINK" and shard == 2:
            raise StoreUnavailableError("for the test")
        return super().run(shard, *command)


def test_a_retirement_that_breaks_off_shows_no_part_and_is_finished_by_the_next(
    store: RedisStore, embedded_url: str
) -> None:
    breaking = Breaking(embedded_url, layout=store.layout)
    with pytest.raises(StoreUnavailableError):
        RedisRetirement(breaking).retire([OS])
    breaking.disconnect()
    assert keys_with(store, ":tally:os:")
    assert closed_metrics(store) == {"dark_mode": 16}
    RedisRetirement(store).retire([])
    assert keys_with(store, ":tally:os:") == []


class Stopping(RedisStore):
    """A store that stops answering before the names of the third shard go."""

    def run(self, shard: int, *command: bytes | str | int) -> object:
        if command[0] == "EVAL" and shard == 2:
            raise StoreUnavailableError("for the test")
        return super().run(shard, *command)


def test_a_dry_run_lists_what_a_retirement_that_broke_off_left(store: RedisStore, embedded_url: str) -> None:
    breaking = Stopping(embedded_url, layout=store.layout)
    with pytest.raises(StoreUnavailableError):
        RedisRetirement(breaking).retire([OS])
    breaking.disconnect()
    assert closed_metrics(store) == {"dark_mode": 16}
    words = ["store", "retire", "--redis", embedded_url, "--before", "2026-01-01"]
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
    breaking = Stopping(url, layout=store.layout)
    with pytest.raises(StoreUnavailableError):
        RedisRetirement(breaking).retire([OS, STRATUM])
    breaking.disconnect()


@pytest.mark.parametrize("meanwhile", [False, True], ids=["before the reading", "during the reading"])
def test_no_reading_shows_others_without_a_stratum_that_is_being_retired(
    store: RedisStore, embedded_url: str, monkeypatch: pytest.MonkeyPatch, *, meanwhile: bool
) -> None:
    store.run(0, "HSET", keys.of_shard(0, keys.TALLIES), ":".join(STRATUM), 4)
    store.run(0, "SET", keys.tally(0, ":".join(STRATUM)), bytes(31) + b"\x03")
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
