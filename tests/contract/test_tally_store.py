"""One contract for every store: uploads count exactly once and in one step, and closed windows stay
closed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

import pytest
import redis

from client_sdk.protocol import GRACE_S, Refusal, Verdict, Window
from collector.errors import QuotaExceededError
from collector.judge import CLOCKS_APART_S, IDS_OUTLIVE_S, Allowance
from collector.required_settings import ON_DISK, Durability, Promise
from collector.store import keys
from collector.store.count_script import COUNTABLE_NOW
from collector.store.facts import SCHEMA
from collector.store.redis_store import RedisStore
from collector.store.store_protocol import CountedUpload, TallyStore
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import NOON, REGISTRY, TODAY, judged, report, upload
from tests.support.services.memory_store import MemoryStore
from tests.support.services.processes import wait_until

STORES = (
    "memory",
    "embedded",
    "embedded with 4 shards",
    "cluster",
    "cluster with copies",
    *filter(shutil.which, ("redis-server",)),
)
"""redis-server where it is installed; the embedded store is Valkey."""


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running redis-server."""
    folder = tmp_path_factory.mktemp("redis")
    socket = folder / "redis.sock"
    settings = ("--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--save", "", "--appendonly", "yes")
    with subprocess.Popen(
        ["redis-server", *settings, "--appendfsync", "always"],  # noqa: S607 wherever it is installed
        stdout=subprocess.DEVNULL,
    ) as server:
        wait_until(socket.is_socket, what="redis-server")
        yield f"unix://{socket}"
        server.terminate()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[TallyStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    if "cluster" in request.param:
        cluster: Cluster = request.getfixturevalue("cluster")
        cluster.empty()
        promise = Promise(Durability.REPLICATED, 1) if "copies" in request.param else ON_DISK
        yield from prepared(RedisStore(cluster.url, promise, is_cluster=True))
        return
    url: str = request.getfixturevalue("embedded_url" if "embedded" in request.param else "redis_url")
    with redis.Redis.from_url(url) as client:
        client.flushall()
        if "shards" in request.param:
            client.hset(keys.STORE, mapping={"schema": str(SCHEMA), "shards": "4"})
    yield from prepared(RedisStore(url))


def prepared(store: RedisStore) -> Iterator[RedisStore]:
    store.prepare()
    yield store
    store.disconnect()


def counts(store: TallyStore) -> dict[tuple[str, str], tuple[int, ...]]:
    store.close(Window.parse(TODAY))
    return {(tally.metric, tally.window): tally.counts for tally in store.closed_tallies(store.closed_windows())}


def test_there_are_stores_to_hold_to_the_contract() -> None:
    assert len(STORES) >= 3


def test_every_report_of_an_upload_is_counted(store: TallyStore) -> None:
    sent = upload(report(symbol=1), report("os", 3), report("os", 3), report(symbol=0), report("os", 1))
    assert store.count(judged(sent)).verdict == Verdict(5)
    assert counts(store) == {("dark_mode", TODAY): (1, 1), ("os", TODAY): (0, 1, 0, 2)}


def test_an_upload_that_comes_again_is_answered_as_the_first_time_and_counted_once(store: TallyStore) -> None:
    sent = upload(report(), report("os", 9))
    first = store.count(judged(sent)).verdict
    assert first == Verdict(2, ((1, Refusal.SYMBOL_OUT_OF_RANGE),))
    assert store.count(judged(sent)).verdict == first
    assert counts(store) == {("dark_mode", TODAY): (0, 1)}


def test_an_upload_that_comes_again_after_its_window_closed_is_answered_as_the_first_time(store: TallyStore) -> None:
    sent = upload()
    store.count(judged(sent))
    store.close(Window.parse(TODAY))
    assert store.count(judged(sent)).verdict == Verdict(1)
    forgotten_s = Window.parse(TODAY).ends_at + GRACE_S + IDS_OUTLIVE_S
    assert store.count(judged(sent, now_s=forgotten_s - 1)).verdict == Verdict(1)
    assert counts(store) == {("dark_mode", TODAY): (0, 1)}


def test_an_upload_with_a_future_window_is_counted_once_when_that_window_has_begun(
    store: TallyStore,
) -> None:
    sent = upload(report(), report(window="2026-11-22"))
    first = store.count(judged(sent)).verdict
    assert first == Verdict(2, ((1, Refusal.WINDOW_IN_FUTURE),))
    assert store.count(judged(sent, now_s=NOON + 2 * 86_400)).verdict == Verdict(2, ((1, COUNTABLE_NOW),))
    assert store.count(judged(sent, now_s=NOON + 9 * 86_400)).verdict == Verdict(2, ((1, Refusal.WINDOW_CLOSED),))
    assert counts(store) == {("dark_mode", TODAY): (0, 1)}


OLDER = replace(REGISTRY, metrics={name: metric for name, metric in REGISTRY.metrics.items() if name != "os"})
"""A registry from before a metric was added."""


def test_an_upload_without_a_counted_report_is_judged_again(store: TallyStore) -> None:
    sent = upload(report("os", 2), report("os", 3))
    for _ in range(2):
        early = store.count(judged(sent, registry=OLDER))
        assert early.verdict == Verdict(2, ((0, Refusal.UNKNOWN_METRIC), (1, Refusal.UNKNOWN_METRIC)))
        assert not early.is_duplicate
    assert [store.count(judged(sent)) for _ in range(2)] == [
        CountedUpload(Verdict(2), is_duplicate) for is_duplicate in (False, True)
    ]
    assert store.count(judged(sent, registry=OLDER)) == CountedUpload(Verdict(2), is_duplicate=True)
    assert counts(store) == {("os", TODAY): (0, 0, 1, 1)}


def test_what_was_refused_of_an_upload_is_refused_for_what_holds_now_and_never_counted_under_its_id(
    store: TallyStore,
) -> None:
    sent = upload(report("os", 2), report(), report("os", 9))
    first = store.count(judged(sent, registry=OLDER)).verdict
    assert first == Verdict(3, ((0, Refusal.UNKNOWN_METRIC), (2, Refusal.UNKNOWN_METRIC)))
    second = store.count(judged(sent))
    assert second == CountedUpload(
        Verdict(3, ((0, COUNTABLE_NOW), (2, Refusal.SYMBOL_OUT_OF_RANGE))), is_duplicate=True
    )
    assert COUNTABLE_NOW.retryable
    assert counts(store) == {("dark_mode", TODAY): (0, 1)}


WINDOWS = ("2026-11-18", "2026-11-19", TODAY, "2026-11-21", "2026-W47", "2026-W48")

ATTEMPTS = 6


@pytest.mark.parametrize("seed", range(4))
def test_whatever_clocks_and_registries_judge_its_attempts_each_report_of_an_upload_is_counted_once_at_most(
    store: TallyStore, seed: int
) -> None:
    """Even if clocks go back a week, registries differ and windows end, the first verdict
    stands.
    """
    seeded = Random(seed)  # noqa: S311 clocks are no secret
    expected: Counter[tuple[str, str]] = Counter()
    for _ in range(40):
        windows = seeded.choices(WINDOWS, k=seeded.randint(1, 5))
        sent = upload(
            *(report("plan" if "W" in name else seeded.choice(("os", "dark_mode")), 1, name) for name in windows)
        )
        answers = [
            store.count(
                judged(
                    sent, NOON + seeded.randint(-3, 11) * CLOCKS_APART_S / 14, registry=seeded.choice((REGISTRY, OLDER))
                )
            )
            for _ in range(ATTEMPTS)
        ]
        accepted = [{*range(len(windows))} - {index for index, _ in answer.verdict.refused} for answer in answers]
        counted = next(filter(None, accepted), set())
        before = accepted.index(counted)
        assert accepted == [set()] * before + [counted] * (ATTEMPTS - before)
        assert [answer.is_duplicate for answer in answers] == [
            place > before and bool(counted) for place in range(ATTEMPTS)
        ]
        expected.update((sent.reports[index].metric, sent.reports[index].window) for index in counted)
    for name in WINDOWS:
        store.close(Window.parse(name))
    tallies = store.closed_tallies(store.closed_windows())
    assert {(tally.metric, tally.window): sum(tally.counts) for tally in tallies} == expected


def test_windows_that_were_closed_early_are_refused_in_many_uploads_at_once(store: TallyStore) -> None:
    sent = [judged(upload(report(), report("plan", 0, "2026-W47"), report("os", 9))) for _ in range(3)]
    store.count(sent[0])
    store.close(Window.parse(TODAY))
    store.close(Window.parse("2026-W46"))
    late = Verdict(3, ((0, Refusal.WINDOW_CLOSED), (2, Refusal.SYMBOL_OUT_OF_RANGE)))
    first = Verdict(3, ((2, Refusal.SYMBOL_OUT_OF_RANGE),))
    assert store.count_all(sent) == [
        CountedUpload(first, is_duplicate=True),
        *[CountedUpload(late, is_duplicate=False)] * 2,
    ]
    store.close(Window.parse("2026-W47"))
    assert [counted.verdict for counted in store.count_all(sent)] == [first, late, late]  # type: ignore[union-attr]
    assert counts(store) == {("dark_mode", TODAY): (0, 1), ("plan", "2026-W47"): (3, 0)}


def test_sixteen_threads_with_the_same_upload_count_it_once(store: TallyStore) -> None:
    sent = [upload(report(symbol=1), report("os", 2)) for _ in range(20)]
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(store.count, [judged(each) for each in sent for _ in range(16)]))
    assert {counted.verdict for counted in outcomes} == {Verdict(2)}
    assert sum(not counted.is_duplicate for counted in outcomes) == len(sent)
    assert counts(store) == {("dark_mode", TODAY): (0, 20), ("os", TODAY): (0, 0, 20, 0)}


def test_a_closed_window_takes_no_report_and_does_not_take_the_others_with_it(store: TallyStore) -> None:
    store.count(judged(upload()))
    store.close(Window.parse(TODAY))
    late = upload(report(), report("plan", 0, "2026-W47"), report("os", 8), report("os", 2), report())
    first = store.count(judged(late)).verdict
    closed = dict.fromkeys((0, 3, 4), Refusal.WINDOW_CLOSED)
    assert first == Verdict(5, tuple(sorted({**closed, 2: Refusal.SYMBOL_OUT_OF_RANGE}.items())))
    assert store.count(judged(late)).verdict == first
    store.close(Window.parse("2026-W47"))
    assert counts(store) == {("dark_mode", TODAY): (0, 1), ("plan", "2026-W47"): (1, 0)}


def test_open_windows_are_not_among_the_closed_tallies(store: TallyStore) -> None:
    store.count(judged(upload()))
    assert list(store.closed_tallies(store.closed_windows())) == []
    assert store.tallied_windows() == {TODAY}
    assert store.closed_windows() == frozenset()


def test_a_second_look_at_open_windows_shows_what_the_first_one_did(store: TallyStore) -> None:
    store.count(judged(upload()))
    first = store.open_snapshot(3600, store.closed_windows(), NOON)
    store.count(judged(upload()))
    assert first.taken_s == NOON
    assert [(tally.metric, tally.closed, tally.counts) for tally in first] == [("dark_mode", False, (0, 1))]
    assert store.open_snapshot(3600, store.closed_windows(), NOON + 60) == first


def test_without_an_interval_every_look_shows_the_present(store: TallyStore) -> None:
    looks = []
    for _ in range(2):
        store.count(judged(upload()))
        looks += [tally.counts for tally in store.open_snapshot(0, store.closed_windows(), NOON)]
    assert looks == [(0, 1), (0, 2)]


def test_a_window_that_closes_after_the_look_is_no_longer_shown_as_open(store: TallyStore) -> None:
    store.count(judged(upload()))
    assert len(list(store.open_snapshot(3600, store.closed_windows(), NOON))) == 1
    store.close(Window.parse(TODAY))
    assert list(store.open_snapshot(3600, store.closed_windows(), NOON)) == []


@pytest.mark.parametrize("reports", [1, 256])
def test_an_upload_may_be_as_small_and_as_large_as_the_wire_allows(store: TallyStore, reports: int) -> None:
    sent = upload(*[report("os", index % 4) for index in range(reports)])
    assert store.count(judged(sent)).verdict == Verdict(reports)
    assert sum(counts(store)["os", TODAY]) == reports


def test_every_report_may_be_refused_and_the_answer_stays_the_same(store: TallyStore) -> None:
    sent = upload(*[report("os", 4 + index) for index in range(256)])
    verdict = store.count(judged(sent)).verdict
    assert verdict.accepted == 0
    assert verdict.refused == tuple((index, Refusal.SYMBOL_OUT_OF_RANGE) for index in range(256))
    assert store.count(judged(sent)).verdict == verdict


def test_uploads_that_come_again_are_found_again_wherever_they_were_counted(store: TallyStore) -> None:
    sent = [judged(upload(report("os", 2))) for _ in range(64)]
    for judgement in sent * 2:
        assert store.count(judgement).verdict == Verdict(1)
    assert counts(store) == {("os", TODAY): (0, 0, 64, 0)}


def test_a_window_is_closed_for_every_upload(store: TallyStore) -> None:
    store.close(Window.parse(TODAY))
    assert store.closed_windows() == {TODAY}
    for _ in range(64):
        assert store.count(judged(upload())).verdict.accepted == 0
    assert store.tallied_windows() == frozenset()


def test_a_repeated_upload_is_distinguished_from_the_first(store: TallyStore) -> None:
    sent = judged(upload())
    assert [store.count(sent).is_duplicate for _ in range(3)] == [False, True, True]


def test_many_uploads_have_their_outcomes_in_order(store: TallyStore) -> None:
    uploads = [judged(upload(*[report("os", 2)] * (1 + index % 5))) for index in range(100)]
    assert store.count_all(uploads) == [
        CountedUpload(Verdict(1 + index % 5), is_duplicate=False) for index in range(100)
    ]
    assert store.count_all(uploads[::-1]) == [
        CountedUpload(Verdict(1 + index % 5), is_duplicate=True) for index in reversed(range(100))
    ]
    assert store.count_all([]) == []
    assert counts(store) == {("os", TODAY): (0, 0, 300, 0)}


def test_an_upload_that_comes_twice_at_once_is_counted_once(store: TallyStore) -> None:
    sent = judged(upload())
    assert store.count_all([sent, sent]) == [
        CountedUpload(Verdict(1), is_duplicate=is_second) for is_second in (False, True)
    ]
    assert counts(store) == {("dark_mode", TODAY): (0, 1)}


LATER = 4_000_000_000
"""A time in Unix seconds, far from now: a store forgets expired allowances by its own clock."""


def test_an_allowance_is_used_up_by_the_reports_that_count(store: TallyStore) -> None:
    # even on 64 shards, each shard allows four of these uploads
    own = Allowance("app", 256 * 64, LATER)
    full = upload(*[report()] * 64, *[report("os", 9)] * 5)
    sent = [judged(full._replace(id=f"{index:032x}"))._replace(allowance=own) for index in range(512)]
    outcomes = store.count_all(sent)
    assert [type(outcome) for outcome in outcomes] == [CountedUpload] * 256 + [QuotaExceededError] * 256
    assert counts(store) == {("dark_mode", TODAY): (0, own.limit)}


def test_an_upload_over_its_allowance_is_not_remembered_and_one_that_comes_again_is_not_charged(
    store: TallyStore,
) -> None:
    own, tomorrow, other = Allowance("app", 1, LATER), Allowance("app", 1, LATER + 86_400), Allowance("b", 1, LATER)
    first, second, third = [judged(upload(upload_id=f"{index:032x}")) for index in (0, 64, 128)]
    assert store.count(first._replace(allowance=own)) == CountedUpload(Verdict(1), is_duplicate=False)
    assert store.count(first._replace(allowance=own)) == CountedUpload(Verdict(1), is_duplicate=True)
    with pytest.raises(QuotaExceededError):
        store.count(second._replace(allowance=own))
    assert store.count(second._replace(allowance=tomorrow)) == CountedUpload(Verdict(1), is_duplicate=False)
    assert store.count(third._replace(allowance=other)) == CountedUpload(Verdict(1), is_duplicate=False)
    assert counts(store) == {("dark_mode", TODAY): (0, 3)}


def test_an_upload_without_a_counted_report_is_charged_to_no_allowance(store: TallyStore) -> None:
    own = Allowance("app", 1, LATER)
    assert store.count(judged(upload())._replace(allowance=own)).verdict.accepted == 1
    assert store.count(judged(upload(report("os", 9)))._replace(allowance=own)).verdict.accepted == 0


def test_editions_are_remembered_for_good_however_many(store: TallyStore) -> None:
    old = {"os:0123456789ab": "3fb1c02a77d9"}
    new = {f"os:{number:012x}": f"{number:012x}" for number in range(2001)}
    assert store.own_editions() == {}
    for editions in (old, new, old):
        store.remember_editions(editions)
    assert store.own_editions() == {**old, **new}
