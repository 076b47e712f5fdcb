"""Checks the registry, the access file and the store before a deployment.

A check changes no file, and leaves the store as it was: a test key that a check writes is removed.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import GRACE_S
from collector.access import Access, Role, load_access
from collector.embedded.directory import require_trusted, require_writable
from collector.errors import ConfigError, StoreUnavailableError, in_units, plural
from collector.redis_servers.clocks import APART_S, clock_ahead_s, describe, farthest
from collector.redis_servers.connection import Connection
from collector.redis_servers.memory import FULL, NEARLY_FULL, Memory
from collector.redis_servers.server import info, memory_of, setting
from collector.required_settings import Durability, Promise
from collector.store import keys
from collector.store.facts import (
    APP_FIELD,
    NAMED_FIELD,
    SCHEMA_FIELD,
    SHARDS_FIELD,
    require_facts,
    require_usable,
    shards_to_name,
)
from collector.store.preparation import require_app
from collector.store.redis_store import RedisStore, require_grace
from collector.store.shards import Shards
from collector.store.strata import lost_editions, lost_words, own_editions
from collector.store.tally_memory import TallyMemory, free_bytes

LEAST_FREE_BYTES = 10**9
"""The required free disk space, in bytes, in addition to twice the size of the store's files.

A rewrite of the append-only file needs space for a new file next to the old one.
"""

LEFT_BEHIND_S = 60
"""Seconds after which the test key of a check expires, in case the check does not remove it."""

FORGETFUL = {
    "slowlog-log-slower-than": ("-1", "its slow log records whole uploads and their arrival times"),
    "aof-timestamp-enabled": ("no", "its append-only file records the arrival times of uploads"),
}
"""Settings that keep a server from recording when uploads arrive.

Each setting is mapped to its required value and to the consequence of any other value.
"""


class Level(StrEnum):
    """The severity of a result."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class CheckResult(NamedTuple):
    """The result of one check.

    Attributes:
        subject: a word that names what was checked.
        text: the result and, after a problem, the remedy.
    """

    level: Level
    subject: str
    text: str


ok, warning, failed = (partial(CheckResult, level) for level in Level)


def check_access(path: Path, registry: Registry | None) -> Iterator[CheckResult]:
    """Yield the results for an access file.

    If ``registry`` is given, check that it defines the metrics in the access file.
    """
    try:
        access = load_access(path)
    except ConfigError as error:
        yield from (failed("keys", problem) for problem in str(error).splitlines())
        return
    roles = Counter(key.role for key in access.keys)
    yield ok("keys", ", ".join(f"{roles[role]} {role}" for role in Role))
    if access.uploads_are_open:
        yield ok("keys", 'anyone may report: uploads = "open"')
    elif not roles[Role.UPLOAD]:
        text = 'only relays may report: uploads = "keys", and there is no upload key'
        yield (ok if roles[Role.RELAY] else warning)("keys", text)
    if not roles[Role.READ]:
        yield warning("keys", "no key may read tallies: create one with hearsay-collector key NAME --role read")
    if registry is not None:
        yield from _unknown_metrics(access, registry)


def _unknown_metrics(access: Access, registry: Registry) -> Iterator[CheckResult]:
    for key in access.keys:
        for metric in sorted((key.metrics or frozenset()) - registry.metrics.keys()):
            text = f"{key.name} may read {metric}, which the registry does not define: correct or remove this metric"
            yield warning("keys", text)


MEANING: Mapping[Durability | None, str] = {
    Durability.FSYNC: "on the store's disk",
    Durability.REPLICATED: "on the disks of the store and of its replicas",
}


def check_registry(path: Path, today: date) -> tuple[Registry | None, list[CheckResult]]:
    """Return the registry (None if it is invalid) and the results of its checks."""
    try:
        registry = history.read(path)
    except RegistryError as error:
        return None, [failed("registry", problem) for problem in str(error).splitlines()]
    largest = max(metric.channel.symbols for metric in registry.metrics.values())
    results = [
        ok("registry", f"{plural(len(registry.metrics), 'question')} of {registry.app}"),
        ok("channels", f"all probabilities can be computed; the largest tally has {largest:,} symbols"),
    ]
    results += [
        warning("registry", sentence)
        for sentence in (*registry.objections(today), *registry.neglected(today), *history.unknown_stops(registry))
    ]
    return registry, results


def check_store(
    store: RedisStore, promise: Promise, registry: Registry | None, grace_s: int = GRACE_S
) -> Iterator[CheckResult]:
    """Yield the results for a store. If a check fails, the checks that depend on it are skipped.

    `preparation.prepare` need not have been called for the store.
    """
    try:
        store.require_promise()
        yield ok("store", _server_summary(store.ask_servers(_server)))
        yield ok("promise", f"an acknowledged upload is {MEANING[promise.durability]}")
        yield _written(store)
        yield from map(_memory, store.ask_servers(memory_of))
        yield _clocks(farthest(store.ask_servers(clock_ahead_s)))
        if registry is not None:
            yield check_tally_memory(_tally_memory(store, registry), store.ask_servers(free_bytes))
        for name in sorted(set[str]().union(*store.ask_servers(_not_forgetful))):
            value, consequence = FORGETFUL[name]
            yield warning("privacy", f"set {name} {value} on the server: {consequence}")
        if store.logs().log_rewrite_failed():
            text = "the last rewrite of an append-only file failed: check the disk's free space and the server's log"
            yield warning("log", text)
        yield from _content(store, registry, grace_s)
    except ConfigError as error:
        yield failed("promise", str(error))
    except StoreUnavailableError as error:
        yield failed("store", str(error))


def _written(store: Shards) -> CheckResult:
    """Check that every shard accepts a test key, and remove the key again."""
    numbers = range(store.number_of_new)
    store.ask(numbers, lambda shard: ("SET", keys.of_shard(shard, keys.CHECK), "", "EX", LEFT_BEHIND_S))
    store.ask(numbers, lambda shard: ("UNLINK", keys.of_shard(shard, keys.CHECK)))
    return ok("write", "the store accepted a write")


def check_data_dir(data_dir: Path) -> CheckResult:
    """Check whether the directory of an embedded store can be used or created."""
    try:
        if data_dir.is_dir():
            require_trusted(data_dir)
        require_writable(data_dir)
    except ConfigError as error:
        return failed("data", str(error))
    return ok("data", f"{data_dir} is writable for this user, and not for everyone")


def check_disk(data_dir: Path) -> CheckResult:
    """Check whether the disk of an embedded store has enough free space."""
    nearest = next(folder for folder in (data_dir, *data_dir.absolute().parents) if folder.is_dir())
    used_bytes = sum(path.stat().st_size for path in data_dir.rglob("*") if path.is_file())
    free_bytes = shutil.disk_usage(nearest).free
    has_room = free_bytes >= 2 * used_bytes + LEAST_FREE_BYTES
    text = f"{in_units(free_bytes)} are free on the disk of {data_dir}; the store uses {in_units(used_bytes)}"
    if has_room:
        return ok("disk", text)
    return warning("disk", f"{text}: free twice the store's size plus {in_units(LEAST_FREE_BYTES)}")


def _server(connection: Connection) -> tuple[str, str]:
    facts = info(connection, "server")
    name = facts.get("server_name", "redis")
    return f"{name} {facts.get(f'{name}_version', facts['redis_version'])}", info(connection, "replication")["role"]


def _server_summary(servers: list[tuple[str, str]]) -> str:
    versions = ", ".join(sorted({version for version, _ in servers}))
    masters = sum(role == "master" for _, role in servers)
    return f"it answers: {versions}; servers: {masters}, replicas: {len(servers) - masters}"


def _not_forgetful(connection: Connection) -> set[str]:
    """Return the names of the settings in FORGETFUL that have a wrong value on the server."""
    return {name for name, (value, _) in FORGETFUL.items() if setting(connection, name) not in (value, None)}


def _memory(used: Memory) -> CheckResult:
    if used.part >= FULL:
        return failed("memory", f"{used}; uploads will fail soon: give the server more memory, or retire tallies")
    if used.part >= NEARLY_FULL:
        return warning("memory", f"{used}: give the server more memory before it is full")
    return ok("memory", str(used))


def _clocks(ahead_s: float) -> CheckResult:
    """Check whether the servers' clocks agree with this machine's clock.

    ``ahead_s`` is the largest difference in seconds. It is negative if a server's clock is behind.
    """
    if abs(ahead_s) >= APART_S:
        return warning("clocks", describe(ahead_s))
    return ok("clocks", "the clocks of the store's servers and of this machine differ by less than a minute")


def check_tally_memory(needed: TallyMemory, free: Sequence[int]) -> CheckResult:
    """Check whether the servers have enough free memory for one more window of every metric.

    ``free`` contains the free memory of each server, in bytes.
    """
    if needed.needed_bytes > sum(free):
        return failed("room", needed.lack(sum(free), "are free"))
    return ok("room", str(needed))


def _tally_memory(store: Shards, registry: Registry) -> TallyMemory:
    """Return the memory that the tallies of all metrics need for one window.

    If there is no store yet, assume the number of shards of a new store.
    """
    shards = store.facts().get(SHARDS_FIELD)
    if shards is None:
        return TallyMemory.from_registry(registry, store.number_of_new, is_new=True)
    return TallyMemory.from_registry(registry, int(shards))


def _content(store: RedisStore, registry: Registry | None, grace_s: int) -> Iterator[CheckResult]:
    named = store.names(store.number_of_new)
    facts = store.facts()
    try:
        require_facts(facts, named)
        if SHARDS_FIELD not in facts:
            # the schema is written first, and the first start may have been interrupted after that
            yield ok("schema", "the store is new")
            return
        require_usable(facts)
        store.adopt(facts)
        shards_to_name(facts, store.names(store.layout.shards))
    except ConfigError as error:
        yield failed("schema", str(error))
        return
    yield ok("schema", f"the store has schema {facts[SCHEMA_FIELD]} and {plural(store.layout.shards, 'shard')}")
    if NAMED_FIELD not in facts:
        text = (
            "the loss of a shard would go unnoticed until a collector starts and writes the store's name to the shards"
        )
        yield warning("shards", text)
    try:
        require_grace(store, facts, grace_s)
    except ConfigError as error:
        yield failed("grace", str(error))
    if registry is not None:
        try:
            require_app(facts.get(APP_FIELD), registry.app)
        except ConfigError as error:
            yield failed("app", str(error))
        yield from _editions(store, registry, grace_s)


def _editions(store: RedisStore, registry: Registry, grace_s: int) -> Iterator[CheckResult]:
    known = own_editions(registry).keys()
    counted = {name.rpartition(":")[0] for name in store.index()}
    lost = lost_editions(store, registry, now_s=time.time(), grace_s=grace_s)
    if lost:
        yield failed("editions", f"{lost_words(lost)}; no collector starts on this store")
    for metric, edition in (name.split(":") for name in sorted(counted - known - set(lost))):
        text = (
            f"the store has closed tallies of {metric} in edition {edition}, which is in neither the registry "
            "nor its history: to read them, use a registry or history that contains this edition"
        )
        yield warning("editions", text)
    if counted <= known:
        tallied = f"the store has tallies of {plural(len(counted), 'question edition')}"
        yield ok("editions", f"{tallied}; the registry or its history contains each of them")
