"""What an acknowledgement and a tally mean while parts of a deployment cannot see one another.

A cluster of three masters and three replicas, and two collectors on it, one that promises
`replicated` and one that promises `fsync`; each of the eight on a host of its own. All faults come
one after the other, in the order of the round's seed, while devices upload to both collectors,
readers read both, and windows are closed.
"""

from __future__ import annotations

import contextlib
import logging
import random
import re
import time
import urllib.error
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from client_sdk.protocol import Verdict, Window, WindowKind
from collector.config import DAY_S
from collector.errors import StoreUnavailableError
from collector.judge import Judgement, judge
from collector.redis_servers import server
from collector.required_settings import ON_DISK, Durability, Promise
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.store_protocol import CountedUpload
from tests.support.services.accounting import REGISTRY_TEXT, Account, Cell, cells_of
from tests.support.services.cluster import Node, flags_by_name
from tests.support.services.collecting import REGISTRY, TODAY, judged, of_shard
from tests.support.services.packets import AS_IT_SHOULD_BE
from tests.support.services.partitions import (
    BY_DEGREES,
    COLLECTORS,
    FAULTS,
    NODES,
    Deployment,
    Fault,
    deployed,
    others,
    stepped_clocks,
    wait_for_failover,
)
from tests.support.services.processes import wait_until
from tests.support.services.wire import tallies

pytestmark = pytest.mark.system

SENDERS_EACH = 4

UPLOADS_BETWEEN = 20
"""After each fault: the deployment is well again."""

ANSWERS_DURING, ANSWERS_WHILE_ALL_ARE_SEEN = (0, 0, 8), 40
"""At least, of each fault.

Where somebody is cut off, coins say whether it is over as soon as another took over, or goes on
until collectors give up waiting.
"""

COPIES_WAITS_MS = (4, 8, 16)
"""Of tests that know that no copy will come."""

LOOKS_EVERY_S = 1

CLOSED_DURING = {4: (0, 2), 7: (1, 1)}
"""By the place of a fault in its round: on which collector's host which window is closed meanwhile.

One stays open.
"""

REPLICATED = Promise(Durability.REPLICATED, 1)

_log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("deployment")) as running:
        yield running


@pytest.fixture
def at(deployment: Deployment, round_number: int) -> Iterator[Deployment]:
    """The deployment, empty, whatever was done to it before."""
    deployment.mend()
    deployment.cluster.empty()
    deployment.coins = random.Random(round_number)  # noqa: S311 faults, no secrets
    yield deployment
    deployment.mend()


@contextlib.contextmanager
def stores(at: Deployment, *promises: Promise) -> Iterator[list[RedisStore]]:
    """Yield the store as it is seen by promises."""
    with contextlib.ExitStack() as opened:
        seen = [RedisStore(at.cluster.url, promise, is_cluster=True) for promise in promises]
        for store in seen:
            opened.callback(store.disconnect)
            store.prepare()
        yield seen


def counted(store: RedisStore) -> int:
    """Return how many reports there are."""
    return sum(sum(tally.counts) for tally in store.open_tallies(frozenset()))


def counted_in_closed_windows(store: RedisStore) -> int:
    """Return how many reports there are of windows that are closed."""
    return sum(sum(tally.counts) for tally in store.closed_tallies(store.closed_windows()))


def test_what_only_a_master_apart_from_its_replica_has_is_not_read_and_no_window_is_closed_there_alone(
    at: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, first, second = Window.parse(TODAY), judged(of_shard(7)), judged(of_shard(7))
    with at.network.hosts[COLLECTORS[0]].entered(), stores(at, REPLICATED, ON_DISK) as (replicated, fsync):
        assert replicated.count(first).verdict == Verdict(1)
        assert counted(replicated) == counted(fsync) == 1
    master = at.cluster.holder_of_shard(7)
    (replica,) = at.cluster.replicas_of(master)
    with at.network.hosts[COLLECTORS[0]].entered(), stores(at, REPLICATED, ON_DISK) as (replicated, fsync):
        at.network.part([at.host_of(master)], [at.host_of(replica)])
        assert fsync.count(second) == CountedUpload(Verdict(1), is_duplicate=False)
        with monkeypatch.context() as impatient:
            impatient.setattr(server, "COPIES_WAITS_MS", COPIES_WAITS_MS)
            for store in (replicated, fsync):
                for _ in range(2):  # the second time the master has nothing to write
                    with pytest.raises(StoreUnavailableError, match="replica"):
                        store.close(window)
                for read in (counted, counted_in_closed_windows):
                    with pytest.raises(StoreUnavailableError, match="replica"):
                        read(store)
    at.network.part([at.host_of(master)], NODES)
    wait_for_failover(replica)
    at.mend()
    with at.network.hosts[COLLECTORS[0]].entered(), stores(at, REPLICATED, ON_DISK) as (replicated, fsync):
        for store in (replicated, fsync):
            assert (counted(store), counted_in_closed_windows(store), store.closed_windows()) == (1, 0, frozenset())
        assert replicated.count(second) == CountedUpload(Verdict(1), is_duplicate=False)
        fsync.close(window)
        for store in (replicated, fsync):
            assert counted_in_closed_windows(store) == 2


def test_what_is_there_while_a_replica_is_held_for_failed_is_not_read_for_that_one_may_yet_take_over(
    at: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, first, second = Window.parse(TODAY), judged(of_shard(7)), judged(of_shard(7))
    master = at.cluster.holder_of_shard(7)
    (replica,) = at.cluster.replicas_of(master)
    names, rest = [at.host_of(replica)], others(at.host_of(master), at.host_of(replica))
    with at.network.hosts[COLLECTORS[0]].entered(), stores(at, ON_DISK) as (fsync,):
        assert fsync.count(first).verdict == Verdict(1)
        assert counted(fsync) == 1
        at.network.part(names, NODES)
        wait_until(lambda: has_failed(replica, by=master), what="a replica to be held for failed")
        assert fsync.count(second) == CountedUpload(Verdict(1), is_duplicate=False)
        with monkeypatch.context() as impatient:
            impatient.setattr(server, "COPIES_WAITS_MS", COPIES_WAITS_MS)
            for read in (counted, counted_in_closed_windows, lambda store: store.close(window)):
                wait_until(partial(is_refused_for, replica, fsync, read), what="a read that waits for that replica")
    at.network.part([at.host_of(master)], NODES)
    for sources, targets in ((names, rest), (rest, names)):
        at.network.set(AS_IT_SHOULD_BE, sources, targets)
    wait_for_failover(replica)
    wait_until(lambda: has_failed(master, by=replica), what="a master to be held for failed")
    with at.network.hosts[COLLECTORS[0]].entered():
        assert first_reading(at) == (1, frozenset())  # the second is lost, and was never shown


def first_reading(at: Deployment) -> tuple[int, frozenset[str]]:
    """Return what is there and what is closed for a new collector, as soon as it is answered.

    Some nodes learn of a failover later than others, and may refuse or name the old master, which
    must not be read.
    """
    answers: list[tuple[int, frozenset[str]]] = []

    def is_answered() -> bool:
        with contextlib.suppress(StoreUnavailableError), stores(at, ON_DISK) as (fsync,):
            answers.append((counted(fsync), fsync.closed_windows()))
        return bool(answers)

    wait_until(is_answered, what="an answer to a reading")
    return answers[0]


def is_refused_for(replica: Node, store: RedisStore, read: Callable[[RedisStore], object]) -> bool:
    """Whether a read is refused by the name of a replica.

    On a busy machine the copies of others may be late first.
    """
    with pytest.raises(StoreUnavailableError, match="replica") as refused:
        read(store)
    return re.search(f"{replica.id()}.*CLUSTER FORGET", str(refused.value)) is not None


def has_failed(node: Node, *, by: Node) -> bool:
    """Whether a node believes, as the majority of masters does, that another has failed."""
    return "fail" in flags_by_name(by).get(node.id(), ())


def test_a_master_that_was_a_replica_meanwhile_confirms_nothing_from_before(
    at: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "COPIES_WAITS_MS", (4000,))
    first, second, third = (judged(of_shard(7)) for _ in range(3))
    host = at.network.hosts[COLLECTORS[0]]

    def count(store: RedisStore, sent: Judgement) -> CountedUpload:
        with host.entered():
            return store.count(sent)

    with (
        at.cluster.failing_over_on_command(),
        host.entered(),
        stores(at, REPLICATED, ON_DISK) as (replicated, fsync),
        ThreadPoolExecutor(1) as uploading,
    ):
        assert uploading.submit(count, replicated, first).result().verdict == Verdict(1)
        master = at.cluster.holder_of_shard(7)
        (replica,) = at.cluster.replicas_of(master)
        at.network.part([at.host_of(master)], [at.host_of(replica)])
        assert fsync.count(second) == CountedUpload(Verdict(1), is_duplicate=False)
        reading = fsync.open_tallies(frozenset())
        assert sum(next(reading).counts) == 2
        waiting = uploading.submit(count, replicated, third)
        wait_until(lambda: master.client.info("clients")["blocked_clients"], what="an upload that waits for copies")
        replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
        wait_until(lambda: not master.is_master(), what="a master that knows who took over")
        at.network.heal()
        for _ in range(UPLOADS_BETWEEN):  # so the new history gets further than the one that ended
            assert fsync.count(judged(of_shard(7))) == CountedUpload(Verdict(1), is_duplicate=False)
        at.cluster.wait_until(lambda: is_in_step(master, master=replica), what="a copy")
        master.ask("CLUSTER", "FAILOVER")
        at.cluster.wait_until(lambda: is_in_step(replica, master=master), what="the master of before")
        with pytest.raises(StoreUnavailableError, match="was a replica for a while"):
            list(reading)
        acknowledged = [first] if waiting.exception() else [first, third]
        assert counted(fsync) == len(acknowledged) + UPLOADS_BETWEEN


def is_in_step(node: Node, *, master: Node) -> bool:
    """Whether a node is a replica of another and has its data."""
    return node.replicates(master) and node.client.info("replication")["master_link_status"] == "up"


def test_an_upload_that_comes_again_at_the_last_moment_is_known_by_a_clock_that_stepped_nearly_a_day(
    at: Deployment,
) -> None:
    now_s = time.time()
    yesterday = Window.at(WindowKind.DAY, now_s - DAY_S)
    grace_s = int(now_s - yesterday.ends_at) + 1  # it closes within a second, and its ids are remembered for a day more
    sent = judge(of_shard(7, yesterday.text), REGISTRY, now_s=now_s, grace_s=grace_s)
    assert len(sent.additions) == 1
    master = at.cluster.holder_of_shard(7)
    nodes = (master, *at.cluster.replicas_of(master))

    outcomes: list[CountedUpload] = []

    def count() -> bool:
        with (
            contextlib.suppress(StoreUnavailableError),  # a node whose clock steps takes the others for dead, at first
            at.network.hosts[COLLECTORS[0]].entered(),
            stores(at, ON_DISK) as (fsync,),
        ):
            outcomes.append(fsync.count(sent))
            return True
        return False

    assert count()
    with stepped_clocks(at, [(node, 23) for node in nodes]):
        wait_until(count, what="the store, by other clocks")
    wait_until(count, what="the store, by its own clocks again")
    assert outcomes == [CountedUpload(Verdict(1), is_duplicate) for is_duplicate in (False, True, True)]


@pytest.fixture
def registry_file(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY_TEXT, encoding="utf-8")
    return path


class Injected(NamedTuple):
    """A fault of a round.

    Attributes:
        name: of the fault.
        began_s: when, by the monotonic clock.
        broken_s: when the first link was changed, of those faults that change any.
        ended_s: when all was well again.

    """

    name: str
    began_s: float
    broken_s: float
    ended_s: float


def injected(at: Deployment, fault: Fault, account: Account) -> Injected:
    """Inject a fault under load, take it back, and wait until uploads are acknowledged again."""
    began_s = time.monotonic()
    answers = ANSWERS_WHILE_ALL_ARE_SEEN if fault in BY_DEGREES else at.coins.choice(ANSWERS_DURING)
    with fault(at):
        account.wait_for_answers(answers)
    at.cluster.wait_until_healthy()
    remove_look(at)
    ended_s = time.monotonic()
    account.wait_for_more(UPLOADS_BETWEEN)
    return Injected(fault.__name__, began_s, max(began_s, at.network.broken_at_s), ended_s)


def remove_look(at: Deployment) -> None:
    """Have the next look at open windows be taken anew.

    The last one, if by a clock that was ahead, lives on for hours.
    """
    at.cluster.holder_of_shard(0).ask("DEL", keys.SNAPSHOT)


def counts_in_the_end(at: Deployment, url: str) -> Counter[Cell]:
    """Return what is counted, by a look at open windows that is taken now that all is over."""
    remove_look(at)
    counts = Counter[Cell]()

    def read() -> bool:
        counts.clear()
        with contextlib.suppress(urllib.error.HTTPError):
            for line in tallies(url, "?preliminary=1"):
                counts.update(dict(cells_of(line)))
            return True
        return False

    wait_until(read, what="the last tallies")
    return counts


def test_faults_in_any_order_lose_nothing_that_replicas_acknowledged_count_nothing_twice_and_take_no_tally_back(
    at: Deployment, registry_file: Path, round_number: int
) -> None:
    looks = "--snapshot-interval", str(LOOKS_EVERY_S)
    with (
        stores(at, REPLICATED, ON_DISK) as closing,
        at.collecting(registry_file, ["--durability", "replicated", *looks], looks) as (replicated, fsync),
    ):
        account = Account([replicated.url, fsync.url], SENDERS_EACH, round_number)
        course = []
        try:
            account.wait_for_more(UPLOADS_BETWEEN)
            for number, fault in enumerate(at.coins.sample(FAULTS, len(FAULTS))):
                if number in CLOSED_DURING:
                    place, window = CLOSED_DURING[number]
                    with at.network.hosts[COLLECTORS[place]].entered():
                        account.close(window, closing[place].close)
                course.append(injected(at, fault, account))
        finally:
            account.end()
        ended_s = time.monotonic()
        counts = counts_in_the_end(at, replicated.url)
    lost = account.lost(counts, fsync.url)
    for name, began_s, broken_s, mended_s in course:
        spans_s = [asked_s - broken_s for asked_s in lost.values() if began_s <= asked_s <= mended_s]
        last_s = max(spans_s, default=0)
        _log.info("%s: %.1f s, fsync lost %s, the last after %.2f s", name, mended_s - began_s, len(spans_s), last_s)
    _log.info("%s acknowledged, %s lost under fsync, closed %s", len(account.acknowledged), len(lost), account.closed)
    _log.info("%s given up, %s refused, read %s", len(account.abandoned), len(account.refused), account.reads.total())
    breaches: dict[str, Any] = {
        "lost": account.lost(counts, replicated.url),
        "twice": account.twice(counts),
        "shrunk": account.shrunk(counts),
        "changed": account.changed(counts),
    }
    _log.info("breaches: %s", {name: len(cells) for name, cells in breaches.items()})
    assert not any(breaches.values()), (breaches, course, ended_s, account.closed)
