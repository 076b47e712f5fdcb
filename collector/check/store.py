"""Looks at everything before a deployment: registry, store, promise. Each finding says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from client_sdk.protocol import Registry, RegistryError
from collector.durability import Durability, Promise
from collector.embedded.lock import require_trusted, require_writable
from collector.errors import ConfigError, StoreUnavailableError
from collector.servers.connection import Connection
from collector.servers.memory import FULL, GIB, NEARLY_FULL, Memory
from collector.servers.server import info, memory_of, setting
from collector.store.app_name import require_app
from collector.store.redis_store import RedisStore
from collector.store.schema import APP_FIELD, NAMED_FIELD, SCHEMA_FIELD, SHARDS_FIELD, require_usable
from collector.store.shard_identity import require_facts, shards_to_name
from collector.text import plural

LEAST_FREE_BYTES = GIB
"""What a disk must have free besides twice the store's file, which is written anew beside the old one."""

FORGETFUL = {
    "slowlog-log-slower-than": ("-1", "it keeps a slow upload whole, with the time at which it came"),
    "aof-timestamp-enabled": ("no", "its file holds the times at which uploads came"),
}
"""Settings of a server that keeps less than it could: to what each is to be set, and why."""

MEANT = {
    Durability.MEMORY: "in the store's memory: a crash of the store loses what was acknowledged last",
    Durability.FSYNC: "on the store's disk",
    Durability.REPLICATED: "on the disks of the store and of its replicas",
}


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Finding(NamedTuple):
    """What one check found.

    Attributes:
        level: how bad it is.
        what: what was looked at, in a word.
        text: what was found, and what to do if it is not well.

    """

    level: Level
    what: str
    text: str


def check_registry(path: Path, today: date) -> tuple[Registry | None, list[Finding]]:
    """Return the registry, if it can be used, and what there is to say of it."""
    try:
        registry = Registry.load(path)
    except RegistryError as error:
        return None, [Finding(Level.FAILED, "registry", problem) for problem in str(error).splitlines()]
    largest = max(metric.channel.symbols for metric in registry.metrics.values())
    found = [
        Finding(Level.OK, "registry", f"{plural(len(registry.metrics), 'metric')} of {registry.app}"),
        Finding(Level.OK, "channels", f"every one can be derived; the largest tally has {largest:,} symbols"),
    ]
    for name, metric in registry.metrics.items():
        if metric.expires is not None and metric.expires < today:
            text = f"metric.{name} expired on {metric.expires}: remove it, or set a later day"
            found.append(Finding(Level.WARNING, "registry", text))
        if not metric.owner:
            text = f"metric.{name} has no owner: name one in it, or in [app]"
            found.append(Finding(Level.WARNING, "registry", text))
    return registry, found


def check_store(store: RedisStore, promise: Promise, registry: Registry | None) -> Iterator[Finding]:
    """Yield what there is to say of a store; nothing in it is changed. What follows from a failure is left out."""
    try:
        store.require_promise()
        yield Finding(Level.OK, "store", _described(store.ask_servers(_server)))
        yield Finding(Level.OK, "promise", f"acknowledged means {MEANT[promise.durability]}")
        yield from map(_memory, store.ask_servers(memory_of))
        for name in sorted(set[str]().union(*store.ask_servers(_not_forgetful))):
            value, why = FORGETFUL[name]
            yield Finding(Level.WARNING, "privacy", f"a server has not {name} {value}: {why}; set it so")
        if store.logs().log_rewrite_failed():
            text = "the last rewrite of an append-only file failed: see that the disk has room, and the server's log"
            yield Finding(Level.WARNING, "log", text)
        yield from _content(store, registry)
    except ConfigError as error:
        yield Finding(Level.FAILED, "promise", str(error))
    except StoreUnavailableError as error:
        yield Finding(Level.FAILED, "store", str(error))


def check_data_dir(data_dir: Path) -> Finding:
    """Return whether the directory of an embedded store can be used, or made."""
    try:
        if data_dir.is_dir():
            require_trusted(data_dir)
        require_writable(data_dir)
    except ConfigError as error:
        return Finding(Level.FAILED, "data", str(error))
    return Finding(Level.OK, "data", f"{data_dir} can be written, by nobody that should not")


def check_disk(data_dir: Path) -> Finding:
    """Return whether the disk of an embedded store has room."""
    nearest = next(folder for folder in (data_dir, *data_dir.absolute().parents) if folder.is_dir())
    used = sum(path.stat().st_size for path in data_dir.rglob("*") if path.is_file())
    free = shutil.disk_usage(nearest).free
    enough = free >= 2 * used + LEAST_FREE_BYTES
    text = f"{free / GIB:.1f} GiB are free on the disk of {data_dir}, and the store takes {used / GIB:.1f} GiB"
    if enough:
        return Finding(Level.OK, "disk", text)
    return Finding(Level.WARNING, "disk", f"{text}: make room for twice that and {LEAST_FREE_BYTES // GIB} GiB more")


def _server(connection: Connection) -> tuple[str, str]:
    facts = info(connection, "server")
    name = facts.get("server_name", "redis")
    return f"{name} {facts.get(f'{name}_version', facts['redis_version'])}", info(connection, "replication")["role"]


def _described(servers: list[tuple[str, str]]) -> str:
    versions = ", ".join(sorted({version for version, _ in servers}))
    masters = sum(role == "master" for _, role in servers)
    return f"it answers: {versions}; servers: {masters}, replicas: {len(servers) - masters}"


def _not_forgetful(connection: Connection) -> set[str]:
    """Return the settings by which a server keeps more than it should; one that it does not have keeps nothing."""
    return {name for name, (value, _) in FORGETFUL.items() if setting(connection, name) not in (value, None)}


def _memory(used: Memory) -> Finding:
    """Return whether a server has memory left: of its limit, or of its machine where it has none."""
    if used.part >= FULL:
        return Finding(Level.FAILED, "memory", f"{used}: uploads will fail soon: give it more, or retire tallies")
    if used.part >= NEARLY_FULL:
        return Finding(Level.WARNING, "memory", f"{used}: give it more before it is full")
    return Finding(Level.OK, "memory", str(used))


def _content(store: RedisStore, registry: Registry | None) -> Iterator[Finding]:
    borne = store.shard_names(store.shards_of_new)
    facts = store.facts()
    try:
        require_facts(facts, borne)
        if SHARDS_FIELD not in facts:  # the schema comes first: a first start may have been broken off after it
            yield Finding(Level.OK, "schema", "the store is new")
            return
        require_usable(facts)
        store.adopt(facts)
        shards_to_name(facts, store.shard_names(store.shards))
    except ConfigError as error:
        yield Finding(Level.FAILED, "schema", str(error))
        return
    yield Finding(Level.OK, "schema", f"the store has schema {facts[SCHEMA_FIELD]} and {store.shards} shards")
    if NAMED_FIELD not in facts:
        text = "a shard that is lost would not be noticed yet: the store's shards get its name when a collector starts"
        yield Finding(Level.WARNING, "shards", text)
    if registry is not None:
        try:
            require_app(facts.get(APP_FIELD), registry.app)
        except ConfigError as error:
            yield Finding(Level.FAILED, "app", str(error))
        yield from _editions(store, registry)


def _editions(store: RedisStore, registry: Registry) -> Iterator[Finding]:
    known = {(name, metric.edition) for name, metric in registry.metrics.items()}
    counted = {(metric, edition) for metric, edition, _ in (name.split(":") for name in store.index())}
    for metric, edition in sorted(counted - known):
        yield Finding(
            Level.WARNING,
            "editions",
            f"the store has tallies of {metric} in the edition {edition}, which the registry does not hold: "
            "its reports are refused, and its tallies can be read with the registry that asked only",
        )
    if counted <= known:
        yield Finding(Level.OK, "editions", f"the registry holds all {len(counted)} that have tallies")
